package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// cluster makes what belongs to no node: pools, HA, replication, firewall,
// networks, mappings, the log.
func (g *generator) cluster(r *rand.Rand) {
	g.Datacenter = NewConfig("keyboard", "de", "console", "html5", "migration", "type=secure,network=10.10.0.0/16", "email_from", "pve@lab.example", "ha", "shutdown_policy=migrate", "mac_prefix", "BC:24:11")
	g.Pools = []*Pool{
		{ID: "production", Comment: "what earns the money", Storages: []apidoc.Storage{"nfs-data"}},
		{ID: "staging"},
		{ID: "dev", Comment: "for developers, may be stopped at night"},
		{ID: "customers", Comment: "hosting"},
		{ID: "customers/acme", Comment: "ACME GmbH"},
	}
	acme := 0
	for _, x := range g.Guests() {
		if x.Pool == "production" && acme < 4 && chance(r, 20) {
			x.Pool = "customers/acme"
			acme++
		}
	}
	g.ha(r)
	g.replication(r)
	g.Firewall = ClusterFirewall{
		Options: NewConfig("enable", "1", "policy_in", "DROP", "policy_out", "ACCEPT"),
		Rules: []*FirewallRule{
			{Type: "in", Action: "ACCEPT", Enabled: true, Options: NewConfig("macro", "SSH", "source", "+admins", "log", "nolog")},
			{Type: "in", Action: "ACCEPT", Enabled: true, Options: NewConfig("proto", "tcp", "dport", "8006", "source", "+admins", "comment", "web interface")},
			{Type: "in", Action: "ACCEPT", Enabled: false, Options: NewConfig("macro", "Ping")},
		},
		Groups:  []*SecurityGroup{{Name: "webserver", Comment: "web in", Rules: []*FirewallRule{{Type: "in", Action: "ACCEPT", Enabled: true, Options: NewConfig("macro", "HTTPS")}, {Type: "in", Action: "ACCEPT", Enabled: true, Options: NewConfig("macro", "HTTP")}}}},
		IPSets:  []*IPSet{{Name: "admins", Entries: []IPSetEntry{{CIDR: "10.10.0.0/24"}, {CIDR: "10.99.1.7", Comment: "VPN gateway"}}}},
		Aliases: []*Alias{{Name: "office", CIDR: "192.0.2.0/24", Comment: "Zürich"}},
	}
	g.Zones = []*Zone{{ID: "localnetwork", Type: "simple"}, {ID: "tenants", Type: "vlan", Options: NewConfig("bridge", "vmbr0", "ipam", "pve", "mtu", "1500")}}
	g.VNets = []*VNet{{ID: "acme", Zone: "tenants", Alias: "ACME", Tag: 210, Subnets: []string{"10.21.0.0/24"}}, {ID: "lab", Zone: "tenants", Tag: 220}}
	g.Mappings = []*Mapping{{Kind: "pci", ID: "gpu-a30", Description: "compute card", Map: []string{"id=10de:20b7,iommugroup=51,node=pve1,path=0000:81:00.0"}}}
	g.Metrics = []*MetricServer{{ID: "influx", Type: "influxdb", Server: "10.10.0.40", Port: 8089}}
	for i := range 40 {
		n := g.Nodes[r.IntN(len(g.Nodes))]
		g.Log = append(g.Log, LogEntry{Time: g.now - 6*hour + int64(i)*500 + int64(r.IntN(400)), Node: n.Name, User: oneOf(r, "root@pam", "root@pam", "ops@pve"), Tag: "pvedaemon", PID: 1500 + uint32(r.IntN(9000)), Priority: 6,
			Message: oneOf(r, "successful auth for user 'root@pam'", "starting task", "end task")})
	}
}

func (g *generator) ha(r *rand.Rand) {
	if len(g.Nodes) < 3 {
		return
	}
	g.HA.Master = g.Nodes[1].Name
	for _, x := range g.Guests() {
		if len(g.HA.Resources) >= 2+len(g.guests)/40 {
			break
		}
		if x.Template() || !g.onShared(x) || !chance(r, 60) {
			continue
		}
		short := map[apidoc.GuestKind]string{apidoc.QEMU: "vm", apidoc.LXC: "ct"}[x.Kind]
		h := &HAResource{SID: short + ":" + x.ID.String(), Guest: x.ID, State: "started", CRMState: "started", MaxRestart: 1, MaxRelocate: 1, Failback: true}
		if x.State == Stopped {
			h.State, h.CRMState = "stopped", "stopped"
			if len(g.HA.Resources) == 1 {
				h.State, h.CRMState, h.Comment = "started", "error", "fails to start since the last update"
			}
		}
		g.HA.Resources = append(g.HA.Resources, h)
	}
	if len(g.HA.Resources) >= 2 {
		g.HA.Rules = []*HARule{
			{ID: "prefer-pve1", Type: "node-affinity", Resources: []string{g.HA.Resources[0].SID}, Nodes: "pve1:2,pve2:1"},
			{ID: "keep-apart", Type: "resource-affinity", Resources: []string{g.HA.Resources[0].SID, g.HA.Resources[1].SID}, Affinity: "negative", Comment: "both serve the same customers"},
		}
	}
}

// onShared tells whether all disks of a guest are on shared storages.
func (g *generator) onShared(x *Guest) bool {
	for _, d := range x.Disks() {
		st, _, ok := d.Volume.Split()
		if s := g.Storage(st); ok && !d.CDROM && (s == nil || !s.Shared) {
			return false
		}
	}
	return true
}

func (g *generator) replication(r *rand.Rand) {
	var zfs []*Node
	for _, n := range g.Nodes {
		if n.zfs() && n.Online {
			zfs = append(zfs, n)
		}
	}
	if len(zfs) < 2 {
		return
	}
	for _, x := range g.Guests() {
		if len(g.Replications) >= 6 {
			return
		}
		if len(x.Disks()) == 0 || !strings.HasPrefix(x.Config.Get(x.BootDisk()), "local-zfs:") || !chance(r, 30) {
			continue
		}
		target := zfs[r.IntN(len(zfs))]
		if target.Name == x.Node {
			continue
		}
		job := &Replication{ID: x.ID.String() + "-0", Guest: x.ID, Target: target.Name, Source: x.Node, Schedule: "*/15", LastSync: g.now - 600, LastTry: g.now - 600, NextSync: g.now + 300, Duration: 3.2 + r.Float64()*9}
		if len(g.Replications) == 1 {
			job.FailCount, job.Error, job.LastSync, job.LastTry = 7, "command 'zfs snapshot' failed: out of space", g.now-26*hour, g.now-1200
		}
		g.Replications = append(g.Replications, job)
	}
}

// backups makes two jobs and what they have left behind, and leaves some
// guests out as real plans do.
func (g *generator) backups(r *rand.Rand) {
	midnight := g.now - g.now%day
	nightly := &BackupJob{ID: "backup-" + hexOf(r, 8) + "-" + hexOf(r, 4), NextRun: midnight + day + hour,
		Options: NewConfig("type", "vzdump", "enabled", "1", "schedule", "01:00", "storage", "pbs", "mode", "snapshot", "all", "1", "notes-template", "{{guestname}}", "comment", "every night", "notification-mode", "notification-system")}
	weekly := &BackupJob{ID: "backup-" + hexOf(r, 8) + "-" + hexOf(r, 4), NextRun: midnight + 5*day + 3*hour,
		Options: NewConfig("type", "vzdump", "enabled", "1", "schedule", "sat 03:00", "storage", "nfs-data", "mode", "snapshot", "compress", "zstd", "pool", "production", "prune-backups", "keep-last=3,keep-monthly=6")}
	off := &BackupJob{ID: "backup-" + hexOf(r, 8) + "-" + hexOf(r, 4), Options: NewConfig("type", "vzdump", "enabled", "0", "schedule", "sun 05:00", "storage", "archive", "mode", "stop", "vmid", "100,101", "comment", "before the move")}
	g.Jobs = []*BackupJob{nightly, weekly, off}

	var left []string
	pbs, nfs := g.Storage("pbs"), g.Storage("nfs-data")
	for _, x := range g.Guests() {
		if x.Template() {
			left = append(left, x.ID.String())
			continue
		}
		if chance(r, 9) && len(left) < 60 {
			left = append(left, x.ID.String())
			continue
		}
		newest := midnight + hour
		if newest > g.now {
			newest -= day
		}
		for i := range 3 {
			if chance(r, 4) {
				continue // that night it failed
			}
			g.backup(r, x, pbs, newest-day*int64(i)+60*int64(r.IntN(170)))
		}
		if x.Pool == "production" && len(g.guests) <= 6000 {
			g.backup(r, x, nfs, midnight-day*int64(r.IntN(6)+1)+3*hour+60*int64(r.IntN(170)))
		}
	}
	nightly.Options.Set("exclude", strings.Join(left, ","))
	if gone := nfs.Place(""); gone != nil { // a guest that is no more
		vol, format := backupName(nfs, apidoc.QEMU, 8999, g.now-200*day)
		gone.Add(&Volume{ID: vol, Content: "backup", Format: format, Size: 9 * gib, Owner: 8999, Created: g.now - 200*day, Notes: "old-erp\nlast state before it was switched off", Protected: true})
	}
}

func (g *generator) backup(r *rand.Rand, x *Guest, s *Storage, when int64) {
	vol, format := backupName(s, x.Kind, x.ID, when)
	v := &Volume{ID: vol, Content: "backup", Format: format, Owner: x.ID, Created: when, Notes: x.ShownName(), Size: x.MaxDisk()}
	v.Used = v.Size * int64(10+r.IntN(30)) / 100
	if s.Type != "pbs" {
		v.Size, v.Used = v.Used, 0
	} else {
		v.Used /= 8 // deduplicated
		v.Verification = "ok"
		if chance(r, 1) {
			v.Verification = "failed"
		}
	}
	v.Protected = chance(r, 1)
	s.Place("").Add(v)
}

// access makes the users and tokens that people try this with. Their secrets
// are the same in every generated world; see [TokenSecret].
func (g *generator) access(r *rand.Rand) {
	a := g.World.access
	a.Groups["operators"] = &Group{Comment: "on call"}
	a.Users["ops@pve"] = &User{Enabled: true, Password: "operator-1", Groups: []string{"operators"}, Firstname: "Otto", Lastname: "Ops", Email: "ops@lab.example"}
	a.Users["audit@pve"] = &User{Enabled: true, Comment: "reads everything, changes nothing"}
	a.Users["dev@pve"] = &User{Enabled: true, Comment: "pool dev alone"}
	a.Users["former@pve"] = &User{Enabled: false, Comment: "left in spring"}
	a.Tokens["root@pam!full"] = &Token{Secret: TokenSecret}
	a.Tokens["root@pam!sep"] = &Token{Secret: TokenSecret, Privsep: true}
	a.Tokens["audit@pve!read"] = &Token{Secret: TokenSecret, Comment: "for monitoring"}
	a.Tokens["dev@pve!pool"] = &Token{Secret: TokenSecret}
	a.Tokens["ops@pve!auto"] = &Token{Secret: TokenSecret}
	a.Tokens["ops@pve!old"] = &Token{Secret: TokenSecret, Expire: g.now - 30*day}
	a.Grant("/", "@operators", "PVEAdmin")
	a.Grant("/", "audit@pve", "PVEAuditor")
	a.Grant("/pool/dev", "dev@pve", "PVEVMAdmin")
	a.Grant("/pool/dev", "dev@pve", "PVEPoolUser")
	a.Grant("/storage/nfs-data", "dev@pve", "PVEDatastoreUser")
	for i := range 4 {
		id := fmt.Sprintf("user%s@pve", strconv.Itoa(i+1))
		a.Users[id] = &User{Enabled: chance(r, 80), Firstname: oneOf(r, "Ana", "Björn", "Chloé", "Dmitri"), Groups: []string{"operators"}}
	}
}

// TokenSecret is the secret of every token in generated worlds:
// root@pam!full (everything), root@pam!sep (nothing, until an ACL entry says
// more), audit@pve!read (PVEAuditor on /), dev@pve!pool (the pool dev alone),
// ops@pve!auto (PVEAdmin on /) and ops@pve!old (expired).
const TokenSecret = "11111111-2222-3333-4444-555555555555"
