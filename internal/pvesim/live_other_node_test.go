package pvesim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nodeWorld has two nodes with hardware, of which the first answers.
func nodeWorld(t testing.TB) *World {
	t.Helper()
	w, err := ReadWorld(strings.NewReader(`{"cluster": "c", "nodes": [
		{"name": "n1", "ip": "192.0.2.1", "hosts": "127.0.0.1 localhost\n", "dns": {"search": "lan", "dns1": "192.0.2.53"},
		 "disks": [{"path": "/dev/sda", "kind": "ssd", "size": "100G", "used": "LVM"}, {"path": "/dev/sdb", "kind": "ssd", "size": "100G"}, {"path": "/dev/sdc", "kind": "ssd", "size": "100G"}, {"path": "/dev/sdd", "kind": "hdd", "size": "1T", "gpt": true, "partitions": [{"path": "/dev/sdd1", "kind": "partition", "size": "1T"}]}],
		 "interfaces": [{"name": "eno1", "type": "eth", "options": {"method": "manual"}}, {"name": "vmbr0", "type": "bridge", "autostart": true, "options": {"method": "static", "cidr": "192.0.2.1/24", "address": "192.0.2.1", "netmask": "24", "gateway": "192.0.2.254", "bridge_ports": "eno1"}}]},
		{"name": "n2", "ip": "192.0.2.2", "config": {"wakeonlan": "aa:bb:cc:dd:ee:ff"}}],
	"guests": [{"id": 100, "node": "n2", "state": "running", "config": {"name": "a", "onboot": 1}}, {"id": 101, "node": "n2", "state": "running", "config": {"name": "b"}}]}`), GeneratedEpoch)
	require.NoError(t, err)
	return w
}

func TestServices(t *testing.T) {
	s := quick(t, nodeWorld(t))
	state := func(key string) string {
		return ok(t, s, "GET /nodes/n1/services/cron/state").(map[string]any)[key].(string)
	}
	upid := ok(t, s, "POST /nodes/n1/services/cron/stop").(string)
	assert.Contains(t, upid, ":srvstop:cron:")
	status, _ := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	assert.Equal(t, "dead", state("state"))
	assert.Equal(t, "inactive", state("active-state"))
	status, _ = task(t, s, "POST /nodes/n1/services/cron/reload")
	assert.Equal(t, "command 'systemctl reload cron' failed: exit code 1", status)
	taskOK(t, s, "POST /nodes/n1/services/cron/start")
	assert.Equal(t, "running", state("state"))
	assert.Equal(t, 400, api(t, s, "POST /nodes/n1/services/nosuch/start").status)
}

func TestNodeSettings(t *testing.T) {
	s := quick(t, nodeWorld(t))
	ok(t, s, "PUT /nodes/n1/dns", "search", "lab", "dns1", "192.0.2.54")
	assert.Equal(t, map[string]any{"search": "lab", "dns1": "192.0.2.54"}, ok(t, s, "GET /nodes/n1/dns"))
	ok(t, s, "PUT /nodes/n1/time", "timezone", "Europe/Vienna")
	assert.Equal(t, "Europe/Vienna", ok(t, s, "GET /nodes/n1/time").(map[string]any)["timezone"])
	digest := ok(t, s, "GET /nodes/n1/hosts").(map[string]any)["digest"].(string)
	ok(t, s, "POST /nodes/n1/hosts", "data", "127.0.0.1 localhost\n192.0.2.9 nas", "digest", digest)
	fails(t, s, 500, "detected modified configuration - file changed by other user? Try again.", "POST /nodes/n1/hosts", "data", "x", "digest", digest)
	ok(t, s, "PUT /nodes/n1/config", "description", "rack 3", "wakeonlan", "aa:bb:cc:dd:ee:01")
	ok(t, s, "PUT /nodes/n1/config", "delete", "wakeonlan")
	assert.NotContains(t, ok(t, s, "GET /nodes/n1/config"), "wakeonlan")
	assert.Contains(t, taskOK(t, s, "POST /nodes/n1/apt/update"), "Reading package lists...")
	a := asRoot(t, s, "PUT /nodes/n1/subscription", "key", "pve2c-1234567890")
	if assert.Equal(t, 200, a.status, a.body) {
		assert.Equal(t, "new", ok(t, s, "GET /nodes/n1/subscription").(map[string]any)["status"])
	}
}

func TestNetworkChangesWait(t *testing.T) {
	s := quick(t, nodeWorld(t))
	refuses(t, s, "iface", "interface already exists", "POST /nodes/n1/network", "iface", "vmbr0", "type", "bridge")
	refuses(t, s, "gateway", "Default gateway already exists on interface 'vmbr0'.", "POST /nodes/n1/network", "iface", "vmbr1", "type", "bridge", "cidr", "198.51.100.1/24", "gateway", "198.51.100.254")
	refuses(t, s, "iface", "interface does not exist", "PUT /nodes/n1/network/vmbr9", "type", "bridge")
	ok(t, s, "POST /nodes/n1/network", "iface", "vmbr1", "type", "bridge", "cidr", "198.51.100.1/24", "autostart", "1")
	a := api(t, s, "GET /nodes/n1/network")
	assert.Contains(t, a.body, `+iface vmbr1 inet static`)
	assert.Contains(t, a.body, `+\taddress 198.51.100.1/24`)
	assert.NotContains(t, ok(t, s, "GET /nodes/n1/network/vmbr1"), "active")
	ok(t, s, "DELETE /nodes/n1/network")
	assert.NotContains(t, api(t, s, "GET /nodes/n1/network").body, "vmbr1")

	ok(t, s, "POST /nodes/n1/network", "iface", "vmbr1", "type", "bridge", "autostart", "1", "comments", "lab")
	ok(t, s, "PUT /nodes/n1/network/vmbr1", "type", "bridge", "autostart", "1", "cidr", "198.51.100.1/24")
	upid := ok(t, s, "PUT /nodes/n1/network").(string)
	assert.Contains(t, upid, ":srvreload:networking:")
	status, _ := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	i := ok(t, s, "GET /nodes/n1/network/vmbr1").(map[string]any)
	assert.Equal(t, "198.51.100.1", i["address"])
	assert.Equal(t, "1", dataText(i["active"]))
	assert.NotContains(t, api(t, s, "GET /nodes/n1/network").body, `"changes"`)
	ok(t, s, "DELETE /nodes/n1/network/vmbr1")
	assert.Contains(t, api(t, s, "GET /nodes/n1/network").body, `-iface vmbr1`)
}

func TestNodeGoesAndComes(t *testing.T) {
	w := nodeWorld(t)
	s := quick(t, w)
	online := func(n string) bool {
		is := false
		w.View(func(w *World) {
			for _, x := range w.Nodes {
				is = is || string(x.Name) == n && x.Online
			}
		})
		return is
	}
	assert.Nil(t, ok(t, s, "POST /nodes/n2/status", "command", "reboot"))
	assert.Equal(t, 595, api(t, s, "GET /nodes/n2/status").status)
	w.View(func(w *World) { assert.Equal(t, Stopped, w.Guest(101).State) })
	until(t, func() bool { return online("n2") })
	until(t, func() bool { up := false; w.View(func(w *World) { up = w.Guest(100).Up() }); return up })
	w.View(func(w *World) { assert.False(t, w.Guest(101).Up(), "it does not start with its node") })

	ok(t, s, "POST /nodes/n2/status", "command", "shutdown")
	time.Sleep(20 * time.Millisecond)
	assert.False(t, online("n2"))
	assert.Equal(t, "aa:bb:cc:dd:ee:ff", ok(t, s, "POST /nodes/n2/wakeonlan"))
	until(t, func() bool { return online("n2") })
	// Where the node that answers goes, another answers.
	ok(t, s, "POST /nodes/n1/status", "command", "shutdown")
	assert.Equal(t, 595, api(t, s, "GET /nodes/n1/status").status)
	assert.Equal(t, 200, api(t, s, "GET /nodes/n2/status").status)
	fails(t, s, 500, "No wake on LAN MAC address defined for 'n1'!", "POST /nodes/n1/wakeonlan")

	// The last one takes the connection with it, until it is back.
	assert.Nil(t, ok(t, s, "POST /nodes/n2/status", "command", "reboot"))
	_, err := exchangeRaw(t, s, buildRequest("GET", "/api2/json/version", map[string]string{"Authorization": rootToken}, ""))
	assert.Error(t, err)
	until(t, func() bool { return online("n2") })
	assert.Equal(t, 200, api(t, s, "GET /nodes/n2/status").status)
}

func TestDisksAreUsed(t *testing.T) {
	w := nodeWorld(t)
	s := quick(t, w)
	assert.Equal(t, "disk/partition '/dev/sda' has a holder", asRoot(t, s, "PUT /nodes/n1/disks/wipedisk", "disk", "/dev/sda").reason)
	assert.Equal(t, "/dev/sdz is not a valid block device", asRoot(t, s, "PUT /nodes/n1/disks/wipedisk", "disk", "/dev/sdz").reason)
	fails(t, s, 500, "device '/dev/sdd' is already in use", "POST /nodes/n1/disks/directory", "name", "bulk", "device", "/dev/sdd")
	fails(t, s, 500, "/dev/sdd1 is a partition", "POST /nodes/n1/disks/initgpt", "disk", "/dev/sdd1")
	upid := asRoot(t, s, "PUT /nodes/n1/disks/wipedisk", "disk", "/dev/sdd").data(t).(string)
	assert.Contains(t, upid, ":wipedisk:sdd:")
	status, _ := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	taskOK(t, s, "POST /nodes/n1/disks/directory", "name", "bulk", "device", "/dev/sdd", "add_storage", "1", "filesystem", "xfs")
	assert.Contains(t, api(t, s, "GET /nodes/n1/disks/directory").body, "/mnt/pve/bulk")
	assert.Equal(t, "1099511627776", dataText(ok(t, s, "GET /nodes/n1/storage/bulk/status").(map[string]any)["total"]))
	fails(t, s, 500, "'mirror' needs at least 2 disks.", "POST /nodes/n1/disks/zfs", "name", "tank", "devices", "/dev/sdb", "raidlevel", "mirror")
	taskOK(t, s, "POST /nodes/n1/disks/zfs", "name", "tank", "devices", "/dev/sdb,/dev/sdc", "raidlevel", "mirror", "add_storage", "1")
	assert.Contains(t, api(t, s, "GET /nodes/n1/disks/zfs/tank").body, "mirror-0")
	fails(t, s, 500, "device '/dev/sdb' is already in use", "POST /nodes/n1/disks/lvm", "name", "vg", "device", "/dev/sdb")
	taskOK(t, s, "DELETE /nodes/n1/disks/zfs/tank", "cleanup-config", "1", "cleanup-disks", "1")
	assert.Equal(t, 500, api(t, s, "GET /storage/tank").status)
	taskOK(t, s, "POST /nodes/n1/disks/lvmthin", "name", "vg", "device", "/dev/sdb", "add_storage", "1")
	assert.Contains(t, api(t, s, "GET /nodes/n1/disks/lvmthin").body, `"vg"`)
	fails(t, s, 500, "no such volume group 'nope' on node 'n1'", "DELETE /nodes/n1/disks/lvm/nope")
	taskOK(t, s, "DELETE /nodes/n1/disks/lvm/vg", "cleanup-disks", "1")
	assert.NotContains(t, api(t, s, "GET /nodes/n1/disks/lvm").body, `"vg"`)
	w.View(func(w *World) { assert.Empty(t, w.Node("n1").ThinPools) })
	taskOK(t, s, "POST /nodes/n1/disks/initgpt", "disk", "/dev/sdb")
}

func TestCertificates(t *testing.T) {
	s := quick(t, nodeWorld(t))
	k, err := newCertificate("pve.example.org")
	require.NoError(t, err)
	const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"
	a := api(t, s, "POST /nodes/n1/certificates/custom", "certificates", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "key", key)
	assert.Contains(t, a.reason, "unable to parse certificate: ")
	made := ok(t, s, "POST /nodes/n1/certificates/custom", "certificates", string(k.pem), "key", key).(map[string]any)
	assert.Equal(t, k.fingerprint, made["fingerprint"])
	refuses(t, s, "force", "Custom certificate exists but 'force' is not set.", "POST /nodes/n1/certificates/custom", "certificates", string(k.pem), "key", key)
	assert.Contains(t, api(t, s, "GET /nodes/n1/certificates/info").body, customCertificate)
	ok(t, s, "DELETE /nodes/n1/certificates/custom")
	fails(t, s, 400, "ACME domain list in node configuration is missing!", "POST /nodes/n1/certificates/acme/certificate")
	ok(t, s, "PUT /nodes/n1/config", "acmedomain0", "pve.example.org")
	fails(t, s, 500, "No current (custom) certificate found, please order a new certificate!", "PUT /nodes/n1/certificates/acme/certificate")
	assert.Contains(t, taskOK(t, s, "POST /nodes/n1/certificates/acme/certificate"), "Status is 'valid', domain 'pve.example.org' OK!")
	refuses(t, s, "force", "Certificate does not expire within the next 30 days, and 'force' is not set.", "PUT /nodes/n1/certificates/acme/certificate")
	taskOK(t, s, "PUT /nodes/n1/certificates/acme/certificate", "force", "1")
	taskOK(t, s, "DELETE /nodes/n1/certificates/acme/certificate")
	assert.NotContains(t, api(t, s, "GET /nodes/n1/certificates/info").body, customCertificate)
}

func TestAccountsAndCeph(t *testing.T) {
	s := quick(t, nodeWorld(t))
	ask := func(call string, pairs ...string) {
		a := asRoot(t, s, call, pairs...)
		require.Equal(t, 200, a.status, a.body)
		status, log := ended(t, s, a.data(t).(string))
		assert.Equal(t, "OK", status, log)
	}
	fails(t, s, 403, "Permission check failed (user != root@pam)", "POST /cluster/acme/account", "contact", "ops@example.org")
	ask("POST /cluster/acme/account", "contact", "ops@example.org")
	assert.Contains(t, asRoot(t, s, "POST /cluster/acme/account", "contact", "ops@example.org").body, "ACME account config file 'default' already exists.")
	ask("PUT /cluster/acme/account/default", "contact", "new@example.org")
	assert.Contains(t, asRoot(t, s, "GET /cluster/acme/account/default").body, "mailto:new@example.org")
	ask("DELETE /cluster/acme/account/default")
	assert.Equal(t, "ACME account config file 'default' does not exist.", asRoot(t, s, "GET /cluster/acme/account/default").reason)

	fails(t, s, 500, "binary not installed: /usr/bin/ceph-mon", "POST /nodes/n1/ceph/pool", "name", "vms")
	changed(s, func(w *World) { w.Ceph = &Ceph{Health: "HEALTH_OK"} })
	fails(t, s, 501, "Method 'POST /nodes/{node}/ceph/pool' not implemented in this simulated cluster", "POST /nodes/n1/ceph/pool", "name", "vms")
}
