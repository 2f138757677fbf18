package words

// phraseList has a line a term: the word that stands for it, then the ways to
// say it.
const phraseList = `
login: log in, logs in, logged in, logging in, log on, logs on, logged on, sign in, signs in, signing in, log into, sign into
backup: back up, backs up, backed up, backing up
shutdown: shut down, shuts down, shutting down, power down, power off, powers off, powering off, powered off
turnoff: turn off, turns off, switch off, turned off, switched off, turning off
turnon: turn on, turns on, switch on, turned on, switched on, turning on
start: power on, power up, boot up, start up, fire up, bring up, powering on
delete: get rid of, getting rid of
discard: throw away, thrown away, throwing away, throw out
remove: take out, take away, taken out
vm: virtual machine, virtual machines
disk: hard disk, hard disks, hard drive, hard drives, virtual disk, virtual disks, disk drive
gpu: graphics card, graphics cards, graphic card, video card, graphics adapter
2fa: two factor, second factor, second factors, multi factor, two step
totp: one time password, one time passwords, one time code, one time codes, authenticator app
sso: single sign on
openid: open id
ad: active directory
letsencrypt: let encrypt, lets encrypt
cloudinit: cloud init
agent: guest agent, qemu agent, qemu guest agent, guest agents
timezone: time zone, time zones
hostname: host name, host names, computer name
filesystem: file system, file systems
thinpool: thin pool, thin pools
token: api key, api keys, api token, api tokens, access key, access token, access tokens
ha: high availability, highly available
sdn: software defined network, software defined networking, software defined networks
vnet: virtual network, virtual networks
ip: ip address, ip addresses
ipset: ip set, ip sets
mac: mac address, mac addresses
gui: web interface, web ui, web gui, web console
passthrough: pass through, passed through, passing through, passes through
rollback: roll back, rolled back, rolling back, go back, going back, rolls back
mountpoint: mount point, mount points, bind mount, bind mounts
nic: network card, network cards, network adapter, network adapters, network interface, network interfaces
pbs: proxmox backup server, backup server
nightly: every night, each night
daily: every day, each day, once day, once per day
weekly: every week, each week, once week, once per week
hourly: every hour, each hour
autostart: starting at boot, start at boot, starts at boot, start on boot, starts on boot, starting on boot, starts automatically, start automatically, started automatically, starting automatically
now: at once, right now, right away, as soon as possible, straight away
happened: went on, going on, goes on
setup: set up, setting up, sets up
readonly: read only
outdated: out of date
wol: wake on lan
pending: not yet active, not active yet, not applied, not yet applied, waiting for restart
cpu: virtual cpu, virtual cpus
permission: who may, who can
uptime: been up, been running, up since, running since
unfreeze: un freeze
rename: change the name, change name
`

// irregularList has the words whose stem no rule finds, and those that a rule
// would spoil: a line a stem.
const irregularList = `
vm: vms
ct: cts
ip: ips
cpu: cpus
gpu: gpus
vcpu: vcpus
api: apis
iso: isos
pg: pgs
vg: vgs
alias: alias aliases
status: status statuses
setting: setting settings
use: used using uses
die: died dies dying dead
break: broke broken breaks
lose: lost loses losing
freez: froze frozen
run: ran runs
hang: hung hangs
keep: kept
send: sent
go: gone
show: shown
expir: expiry expiration
config: config configs configure configured configuration configurations configuring
notificat: notify notifies notified
health: healthy
progress: going
fail: failure failures
metadata: metadata
cert: certs
license: licence licences license licenses
color: colour colours
child: children
replicat: replica replicas
address: addresses
access: access
larger: larger
small: smaller
`

// synonymList has a line a word: other words that mean the same to someone who
// asks, with a weight in percent where they mean it less than 70.
const synonymList = `
vm: qemu machine guest
machine: vm guest node:30
instance: vm guest
kvm: vm qemu
qemu: vm
container: ct lxc guest:50
ct: container lxc
lxc: container ct
docker: oci container:50
guest: vm:60 container:60 machine:40
server: node:60 host:60
host: node hypervisor:50
hypervisor: node host
box: node:60 vm:60
disk: drive volume:50
drive: disk
harddisk: disk
hdd: disk
ssd: disk:60
volume: disk:60
image: disk:50 template:40 volume:50
partition: disk:50
user: account:60 login:30
account: user
person: user
people: user
colleague: user
employee: user
admin: user:40 administrator
member: group:40
delete: remove destroy drop
remove: delete destroy
destroy: delete remove
erase: wipe delete:60
uninstall: remove
create: add make new
add: create new:50
make: create
new: create:60 add:50
build: create
define: create:60
setup: create:60 configuration:40
change: edit set:40
modify: change edit
edit: change
adjust: change
alter: change
reconfigure: change config
grow: enlarge expand extend increase resize
enlarge: grow
bigger: grow enlarge
larger: grow enlarge
expand: grow
extend: grow
increase: grow
resize: grow
memory: ram
ram: memory
processor: cpu
cores: cpu
core: cpu
vcpu: cpu core
cpu: processor
network: nic:30
net: network
interface: nic
nic: interface:60
login: auth:40 authenticate:60 session:30
authentication: realm:60 login:50
password: passwd credential
passphrase: password
permission: acl privilege right
right: permission privilege
privilege: permission
acl: permission
rbac: role acl permission
allowed: permission permit allow
grant: give permission:50
2fa: tfa totp mfa otp
mfa: tfa 2fa
otp: totp tfa 2fa
totp: tfa 2fa
authenticator: totp tfa 2fa
yubikey: tfa 2fa
certificate: ssl tls
cert: certificate
ssl: tls certificate
tls: ssl certificate
https: tls ssl certificate:50
letsencrypt: acme
acme: letsencrypt
snap: snapshot
snapshot: checkpoint
checkpoint: snapshot
rollback: revert
revert: rollback undo:60 discard:50
undo: revert rollback:60 discard:60
discard: revert throw undo:50
backup: vzdump dump:50
vzdump: backup
restore: recover rollback:30
recover: restore
retention: prune keep
prune: retention keep
cleanup: prune clean remove:40
schedule: job:40 cron periodic recurring automatic
cron: schedule
nightly: schedule daily
daily: schedule nightly
weekly: schedule
hourly: schedule
regularly: schedule regular
automatically: automatic schedule:60
migrate: move migration:90
move: migrate relocate transfer
relocate: migrate move
transfer: move migrate
evacuate: migrateall drain migrate
drain: evacuate migrateall migrate:50
maintenance: migrateall:40 evacuate:40
clone: copy duplicate
copy: clone duplicate
duplicate: clone copy
storage: datastore
datastore: storage
store: storage datastore
nas: nfs cifs
smb: cifs
samba: cifs smb
share: nfs:50 cifs:50
space: free capacity usage:50
capacity: space usage:50
usage: used:50 load:40
consumption: usage
fill: full usage:50
log: journal syslog messages:50
syslog: journal log
journal: log syslog
event: log:50
history: log:40 past:50 rrddata:40
task: job:60
job: task:60
operation: task:60
process: task:40
update: upgrade
upgrade: update
patch: update upgrade
package: apt
software: package apt:50
service: daemon
daemon: service
reboot: restart
restart: reboot
shutdown: poweroff halt stop:60
poweroff: shutdown stop
turnoff: disable shutdown off
turnon: enable start
off: disable:60 shutdown:50
disable: turnoff off deactivate
deactivate: disable
enable: turnon activate
activate: enable apply:50
stop: shutdown:50 cancel:50 abort kill
cancel: abort stop
abort: cancel stop kill
kill: stop abort
terminate: stop abort kill
interrupt: abort stop
end: stop:50
halt: stop shutdown
start: boot run:40 launch
boot: start
launch: start
run: execute:60 start:40
execute: run exec
exec: execute run
pause: suspend
suspend: pause hibernate
hibernate: suspend
sleep: suspend hibernate
wake: resume:60 wakeonlan:60
unpause: resume
continue: resume
hang: stuck frozen unresponsive
stuck: hang frozen
alert: notification
warn: alert:60 warning
mail: email sendmail smtp
email: mail sendmail smtp
notification: alert notify
slack: webhook
teams: webhook
telegram: webhook
discord: webhook
metric: statistics
statistic: metric usage:50
stats: statistics metric
monitoring: metric statistics:60
prometheus: metric
grafana: metric
graph: rrd chart
chart: graph rrd
performance: usage:60 metric:50 statistics:50
load: cpu:40 usage:50
trend: history rrddata:60
gpu: pci graphics vgpu
vgpu: mdev gpu
graphics: gpu
passthrough: pci:50 mapping:50
dongle: usb
console: vnc spice terminal screen
screen: console display vnc
display: screen console:60
monitor: screen:50 monitoring:40
terminal: shell console
big: size
large: size
shrink: reduce less
reduce: less shrink
less: reduce
uptime: up:40
locate: where find
shell: terminal console:60
novnc: vnc
ssh: shell:40 terminal:30
block: deny drop reject ban
deny: block drop reject
ban: block blacklist
blacklist: block ipset
blocklist: block ipset
whitelist: allow ipset
allowlist: allow ipset
allow: permit grant:60
permit: allow
forbid: deny block
open: allow:50
packet: traffic
bridge: vmbr
bonding: bond
lacp: bond
trunk: bond:50 vlan:50
nameserver: dns
resolver: dns
ntp: time clock
clock: time
date: time clock
hour: time:40
timezone: time
cluster: datacenter:50
datacenter: cluster
datacentre: datacenter cluster
quorum: vote quorate
vote: quorum
witness: qdevice
corosync: cluster:50 totem
fence: fencing watchdog ha:50
failover: ha
ha: failover
antiaffinity: affinity apart
affinity: placement
separate: apart
together: affinity
different: apart:50
pin: placement
rbd: ceph
zpool: zfs
raid: zfs
raidz: zfs
mirror: raid zfs:50
vg: lvm
thinpool: lvmthin thin
lvm: vg
subscription: license
license: subscription
nag: subscription
folder: directory
directory: folder
health: status:40 state:40
state: status
status: state
condition: health state
broken: failed defective degraded:50
defective: broken failed
fail: error broken:50
error: fail problem
problem: error warning:50 fail:40
issue: problem error
die: fail broken:60
crash: fail hang:50
fault: fail error
faulty: broken failed
outdated: update upgrade
expire: valid
valid: expire
ip: address
address: ip:50
lease: dhcp ipam
hardware: device pci usb
device: hardware
peripheral: usb device
description: notes comment
notes: description comment
comment: description notes
label: tag
overview: summary everything
inventory: overview everything resources
summary: overview
find: search
id: vmid:60
hostname: name:40
name: hostname:30
file: content:30
iso: image:40
ova: import
vmware: esxi import
esxi: vmware import
replicate: replication:90
sync: replication:50 synchronize
synchronise: sync
import: sync:40 upload:40
fetch: download
download: fetch pull
pull: download fetch
upload: send:40
wol: wakeonlan wake
immediately: now
instantly: now
everything: all
every: all
whole: all:50
bulk: all mass
mass: bulk
several: bulk
lock: locked
unlock: unblock release
locked: lock unlock
gui: web pveproxy
website: gui web
keyboard: key sendkey
key: keys
secret: token:60 password:50
credential: password token
version: release
release: version
expose: open
virus: firewall:20
leak: compromised revoke
stolen: leaked compromised lost
hacked: compromised
tenant: pool
department: pool group
team: group
nested: flags:50
os: osinfo
kernel: os:30
windows: os:30
throw: discard
temperature: smart
wearout: smart wear
smart: health:60
scrub: verify
verify: check:60
force: hard:60 enforce require
mandatory: enforce require
yesterday: history past recent last:50
happened: history log
relocation: migrate
bounce: restart
retire: remove
decommission: remove
terms: tos
repo: repository
repos: repository
repository: apt
db: database
auth: authentication login
logon: login
logout: login
vacant: free
unused: free:60
available: free:40
reachable: ping:60 online
online: up
offline: down
down: offline
refresh: reload:60 update:50
reload: refresh
compose: oci
alarm: alert notification
attacker: block ban
balance: rebalancing:60 affinity:40
bandwidth: traffic limit:40
throughput: traffic io metric:50 rrddata:60
latency: io pressure:60
iops: io metric:50
bottleneck: pressure load:60 usage
utilization: usage load:60
utilisation: usage load:60
saturated: full load:60
board: machine:40
browser: web
cd: cdrom iso
dvd: cdrom iso
floppy: cdrom:50
cache: disk:30
corrupt: error degraded:60 verify:50
damaged: broken failed
layout: tree list:30
topology: tree
driver: hardware:50
virtio: nic:40 disk:40
vga: display
sound: audio
mouse: usb
hookscript: script
hot: temperature
heat: temperature
hugepages: memory
inspect: show
dedup: zfs
firmware: bios uefi
fqdn: hostname name:50
gigabyte: gb
infrastructure: cluster overview
ingress: incoming
egress: outgoing
outgoing: traffic
loop: down:40
hacker: block ban
trash: unused
dangling: unused orphan
orphan: unused
outage: down failover
unreachable: offline down
inactive: disabled:60 active:60
promote: quorum:30
quota: limit:60
rescan: scan:60 unused:40
rescue: recover restore
retry: again restart:50
repair: recover:60 replace:60
scale: grow:60
scsi: disk
slot: hotplug:60
spare: unused free
untagged: vlan
tagged: vlan
vpn: wireguard
wireguard: fabric:60
wifi: nic
multicast: corosync:60
sysctl: config:40
length: size
measure: metric
client: user:40
approve: allow
price: subscription
cost: subscription
region: location:60 nodes:40
audit: log:60
happen: happened:90 log:50
informed: notification
recipient: mail
sender: mail
postfix: mail service:60
chrony: service:60
infected: block
customer: tenant
`

// stopWords say nothing about which method is meant. Some of them still tell
// what kind of answer is wanted: see intent.go.
const stopWords = `a an the of to for in on at by with from into onto as and or but if then than so
 is are was were be been being am do does did done doing have has had having can could may might must shall should will would
 me my mine our ours us we you your it its he she they them their there here this that these those
 im ive whom whose which what when why how please tell want wants need needs like
 get gets got some any just only also too very much many more still already yet ever
 proxmox pve api method call endpoint via through put no isn doesn don didn won way thing things someone somebody something
 possible able one long go goes`

// weakWords do tell something, but match in so many senses that they may only
// decide between methods that the other words found.
const weakWords = `where once list show view see display print read look check find
 create add make new delete remove destroy change set edit update modify use give
 all every not who now out up off again without own existing current given certain
 settings setting options option details information info data
 work works working keep allow`

// clauseWords begin what is said about the matter, rather than the matter: in
// "take a snapshot before the upgrade" it is the snapshot that is wanted.
const clauseWords = `that which who when before after because while if during until for so without since although`

// firewallWords are those that call for a firewall. Since every level has its
// own, a sixth of the API is firewalls, which would fill every list that an
// address or a rule comes up in.
const firewallWords = `firewall rule port alias ipset block unblock allow deny drop reject ban unban permit forbid traffic packet macro
 open expose incoming outgoing inbound outbound security reference whitelist blacklist allowlist blocklist iptables nftables policy spoof spoofing conntrack`
