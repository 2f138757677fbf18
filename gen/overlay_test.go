package gen

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// schemaMethods reads the methods of a schema file in the plainest way, so
// that these tests judge the overlay and not the reader of schemas.
func schemaMethods(t *testing.T, file string) []MethodInfo {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	if strings.HasSuffix(file, ".gz") {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		data, err = io.ReadAll(zip)
		require.NoError(t, err)
	}
	type node struct {
		Path string
		Info map[string]struct {
			Parameters struct {
				Properties map[string]struct{ Default any }
			}
		}
		Children []json.RawMessage
	}
	var roots []json.RawMessage
	require.NoError(t, json.Unmarshal(data, &roots))
	inPath := regexp.MustCompile(`\{([^}]+)\}`)
	var methods []MethodInfo
	var walk func([]json.RawMessage)
	walk = func(list []json.RawMessage) {
		for _, text := range list {
			var n node
			require.NoError(t, json.Unmarshal(text, &n))
			for verb, method := range n.Info {
				m := MethodInfo{Verb: verb, Path: n.Path, Defaults: map[string]string{}}
				for _, p := range inPath.FindAllStringSubmatch(n.Path, -1) {
					m.PathParams = append(m.PathParams, p[1])
				}
				for name, p := range method.Parameters.Properties {
					m.Params = append(m.Params, name)
					if p.Default != nil {
						m.Defaults[name] = fmt.Sprint(p.Default)
					}
				}
				sort.Strings(m.Params)
				methods = append(methods, m)
			}
			walk(n.Children)
		}
	}
	walk(roots)
	return methods
}

// factsRead keeps what facts has read, by version; these tests don't run in
// parallel.
var factsRead = map[string][]MethodInfo{}

func facts(t *testing.T, version string) []MethodInfo {
	t.Helper()
	if factsRead[version] == nil {
		factsRead[version] = schemaMethods(t, filepath.Join("..", "apidoc", "facts", "pve-"+version+".json"))
	}
	return factsRead[version]
}

var readOnce = sync.OnceValues(DefaultOverlay)

func overlay(t *testing.T) *Overlay {
	t.Helper()
	o, err := readOnce()
	require.NoError(t, err)
	return o
}

func checkWhole(t *testing.T, methods []MethodInfo) {
	t.Helper()
	o := overlay(t)
	require.Len(t, methods, 675)
	writes := 0
	for _, m := range methods {
		if m.Verb != "GET" {
			writes++
			_, known := o.Policy(m.Verb, m.Path)
			assert.True(t, known, "%s %s", m.Verb, m.Path)
		}
	}
	assert.Equal(t, 335, writes)
	assert.Len(t, o.Methods, 335)
	assert.Empty(t, o.Check(methods))
}

func TestOverlayMatchesSnapshot(t *testing.T) { checkWhole(t, facts(t, "9.2")) }

// The snapshot is made from this file; where the file itself is at hand, it
// must agree.
func TestOverlayMatchesPublishedSchema(t *testing.T) {
	file := filepath.Join("..", "..", "shared", "apidoc", "pve-9.2.json.gz")
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join("..", "apidoc", "facts", "pve-9.2.json")
	}
	checkWhole(t, schemaMethods(t, file))
}

// An upgrade tells what to look at: with what is known of 8.4 alone, 9.2 asks
// for a class for each new write and for nothing else.
func TestUpgradeListsNewWrites(t *testing.T) {
	old := overlay(t).Restrict(facts(t, "8.4"))
	drift := old.Check(facts(t, "9.2"))
	for _, d := range drift {
		assert.Equal(t, DriftNoClass, d.Kind, d.String())
	}
	assert.Len(t, drift, 34)
	assert.True(t, slices.IsSortedFunc(drift, func(a, b Drift) int {
		if driftLess(a, b) {
			return -1
		}
		return 1
	}))
}

// Against an older version the drift is a list, not a failure, and it is
// about what that version lacks.
func TestOlderVersionsDrift(t *testing.T) {
	for _, version := range []string{"7.4", "8.4"} {
		kinds := map[DriftKind]int{}
		for _, d := range overlay(t).Check(facts(t, version)) {
			kinds[d.Kind]++
			assert.NotEmpty(t, d.Reason)
		}
		assert.Positive(t, kinds[DriftNoMethod], version)
		assert.Positive(t, kinds[DriftNoParam], version)
	}
}

// TestEntriesAreSorted keeps the file reviewable: by path, then by verb.
func TestEntriesAreSorted(t *testing.T) {
	head := regexp.MustCompile(`^\[(\w+)\."([^"]+)"\]$`)
	last := map[string]string{}
	for line := range strings.Lines(string(overlayTOML)) {
		m := head.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		if prev := last[m[1]]; prev != "" {
			assert.True(t, methodLess(prev, m[2]), "[%s]: %s stands before %s", m[1], prev, m[2])
		}
		last[m[1]] = m[2]
	}
	assert.Len(t, last, 4)
}

// TestEveryEntryKnowsItsLine looks the entries up where they say they stand.
func TestEveryEntryKnowsItsLine(t *testing.T) {
	lines := strings.Split(string(overlayTOML), "\n")
	o := overlay(t)
	for table, entries := range map[string]map[string]Entry{"methods": o.Methods, "gets": o.Gets} {
		for method, e := range entries {
			require.Positive(t, e.Line, method)
			assert.Equal(t, fmt.Sprintf("[%s.%q]", table, method), lines[e.Line-1])
		}
	}
}

// TestEveryRuleCanHold builds, for each rule, parameters that its conditions
// ask for, and sees that it lifts the class to at least its own.
func TestEveryRuleCanHold(t *testing.T) {
	rules := 0
	for method, e := range overlay(t).Methods {
		for _, r := range e.Raise {
			params := map[string][]string{}
			for _, c := range r.Conds {
				meet(params, c)
			}
			rules++
			assert.True(t, r.Applies(params), "%s: %s", method, r)
			assert.GreaterOrEqual(t, e.ClassOf(params).Rank(), r.Class.Rank(), "%s: %s", method, r)
		}
	}
	assert.Greater(t, rules, 200)
}

func meet(params map[string][]string, c apidoc.Condition) {
	value := "1"
	switch c.Op {
	case apidoc.OpUnset, apidoc.OpNotTrue, apidoc.OpNotFalse, apidoc.OpLacks:
		return
	case apidoc.OpFalse:
		value = "0"
	case apidoc.OpIs, apidoc.OpMatches, apidoc.OpHas:
		value = strings.ReplaceAll(c.Value, "*", "0")
	}
	name := strings.Replace(c.Param.Param(), "[n]", "0", 1)
	if _, key, ok := strings.Cut(string(c.Param), "."); ok {
		value = key + "=" + value
	}
	params[name] = append(params[name], value)
}

// TestClassesOfCalls is what an agent may rely on, call by call.
func TestClassesOfCalls(t *testing.T) {
	const (
		change, disrupt, destroy, access, shell = apidoc.Change, apidoc.Disrupt, apidoc.Destroy, apidoc.Access, apidoc.Shell
		qemu, lxc                               = "/nodes/{node}/qemu", "/nodes/{node}/lxc"
		vm, ct                                  = qemu + "/{vmid}", lxc + "/{vmid}"
	)
	for _, c := range []struct {
		method, params string
		class          apidoc.Class
	}{
		// Creating and restoring
		{"POST " + qemu, "vmid=100&memory=2048&scsi0=local-lvm:32&net0=virtio,bridge=vmbr0", change},
		{"POST " + qemu, "vmid=100&archive=local:backup/x.vma.zst", change},
		{"POST " + qemu, "vmid=100&archive=local:backup/x.vma.zst&force=0", change},
		{"POST " + qemu, "vmid=100&archive=local:backup/x.vma.zst&force=1", destroy},
		{"POST " + qemu, "vmid=100&scsi0=/dev/sdb", destroy},
		{"POST " + qemu, "vmid=100&scsi7=ssd=1,file=/dev/sdb", destroy},
		{"POST " + qemu, "vmid=100&virtio0=volume=/dev/sdb", destroy},
		{"POST " + qemu, "vmid=100&scsi0=local:0,import-from=/srv/x.qcow2", change},
		{"POST " + qemu, "vmid=100&hostpci0=0000:01:00.0", disrupt},
		{"POST " + qemu, "vmid=100&args=-device x", shell},
		{"POST " + qemu, "vmid=100&force=1&hookscript=local:snippets/x", shell},
		{"POST " + lxc, "vmid=200&ostemplate=local:vztmpl/d.tar.zst&rootfs=local:8", change},
		{"POST " + lxc, "vmid=200&ostemplate=local:backup/x&restore=1&force=1", destroy},
		{"POST " + lxc, "vmid=200&ostemplate=x&mp0=local:8,mp=/data", change},
		{"POST " + lxc, "vmid=200&ostemplate=x&mp0=/srv,mp=/data", destroy},
		{"POST " + lxc, "vmid=200&ostemplate=x&entrypoint=/bin/sh", shell},
		{"POST " + vm + "/clone", "newid=101&full=1", change},
		// Changing
		{"PUT " + vm + "/config", "memory=4096", change},
		{"PUT " + vm + "/config", "scsi1=local-lvm:32", change},
		{"PUT " + vm + "/config", "scsi1=local-lvm:vm-100-disk-3", change},
		{"PUT " + vm + "/config", "protection=0", change},
		{"PUT " + vm + "/config", "revert=memory", change},
		{"PUT " + vm + "/config", "delete=description", change},
		{"PUT " + vm + "/config", "delete=scsi1", disrupt},
		{"PUT " + vm + "/config", "net0=virtio,bridge=vmbr0,link_down=1", disrupt},
		{"PUT " + vm + "/config", "template=1", disrupt},
		{"PUT " + vm + "/config", "template=0", destroy},
		{"POST " + vm + "/config", "delete=scsi1&force=1", destroy},
		{"POST " + vm + "/config", "delete=unused0", destroy},
		{"POST " + vm + "/config", "delete=net1;unused3", destroy},
		{"PUT " + vm + "/config", "delete=vmstate", destroy},
		{"PUT " + vm + "/config", "delete=lock", destroy},
		{"PUT " + vm + "/config", "cores=2&skiplock=1", destroy},
		{"PUT " + vm + "/config", "hookscript=local:snippets/x.sh", shell},
		{"PUT " + ct + "/config", "memory=512", change},
		{"PUT " + ct + "/config", "delete=mp0", disrupt},
		{"PUT " + ct + "/config", "delete=unused1", destroy},
		{"PUT " + ct + "/config", "dev0=/dev/sda", destroy},
		{"PUT " + vm + "/unlink", "idlist=scsi1", disrupt},
		{"PUT " + vm + "/unlink", "idlist=scsi1&force=1", destroy},
		{"PUT " + vm + "/unlink", "idlist=unused0", destroy},
		{"PUT " + vm + "/resize", "disk=scsi0&size=+10G", change},
		{"POST " + vm + "/move_disk", "disk=scsi0&storage=fast", change},
		{"POST " + vm + "/move_disk", "disk=scsi0&storage=fast&delete=1", destroy},
		{"POST " + vm + "/move_disk", "disk=unused0&target-vmid=101", disrupt},
		{"POST " + ct + "/move_volume", "volume=mp0&storage=fast&delete=yes", destroy},
		{"POST " + vm + "/template", "", disrupt},
		{"DELETE " + vm, "", destroy},
		{"DELETE " + ct, "purge=0", destroy},
		// Power
		{"POST " + vm + "/status/start", "", change},
		{"POST " + vm + "/status/start", "skiplock=1", destroy},
		{"POST " + vm + "/status/stop", "", disrupt},
		{"POST " + ct + "/status/shutdown", "forceStop=1", disrupt},
		{"POST /nodes/{node}/startall", "", change},
		{"POST /nodes/{node}/stopall", "", disrupt},
		{"POST /cluster/bulk-action/guest/shutdown", "vms=100", disrupt},
		{"POST /nodes/{node}/status", "command=reboot", disrupt},
		{"POST /nodes/{node}/services/{service}/start", "service=cron", change},
		{"POST /nodes/{node}/services/{service}/reload", "service=pveproxy", disrupt},
		// Moving
		{"POST " + vm + "/migrate", "target=b", change},
		{"POST " + vm + "/migrate", "target=b&online=1", disrupt},
		{"POST " + ct + "/migrate", "target=b&restart=1", disrupt},
		{"POST " + vm + "/remote_migrate", "target-vmid=5", disrupt},
		{"POST " + vm + "/remote_migrate", "target-vmid=5&delete=1", destroy},
		{"POST /cluster/ha/resources/{sid}/migrate", "node=b", disrupt},
		{"PUT /cluster/ha/resources/{sid}", "comment=x", change},
		{"PUT /cluster/ha/resources/{sid}", "state=stopped", disrupt},
		// Snapshots and backups
		{"POST " + vm + "/snapshot", "snapname=a", change},
		{"DELETE " + vm + "/snapshot/{snapname}", "", destroy},
		{"POST " + ct + "/snapshot/{snapname}/rollback", "", destroy},
		{"POST /nodes/{node}/vzdump", "vmid=100", destroy},
		{"POST /nodes/{node}/vzdump", "vmid=100&remove=0", change},
		{"POST /nodes/{node}/vzdump", "vmid=100&prune-backups=keep-all=1", change},
		{"POST /nodes/{node}/vzdump", "vmid=100&remove=1&prune-backups=keep-last=3", destroy},
		{"POST /nodes/{node}/vzdump", "vmid=100&remove=0&mode=stop", disrupt},
		{"POST /nodes/{node}/vzdump", "vmid=100&remove=0&stop=1", disrupt},
		{"POST /nodes/{node}/vzdump", "vmid=100&remove=0&script=/x", shell},
		{"POST /cluster/backup", "vmid=100&schedule=daily&remove=0", change},
		{"PUT /cluster/backup/{id}", "enabled=0", disrupt},
		{"PUT /cluster/backup/{id}", "comment=x", change},
		{"PUT /cluster/backup/{id}", "prune-backups=keep-last=1", destroy},
		{"DELETE /nodes/{node}/storage/{storage}/prunebackups", "", destroy},
		{"DELETE /cluster/replication/{id}", "", destroy},
		{"DELETE /cluster/replication/{id}", "keep=1", disrupt},
		// Storages and disks
		{"DELETE /nodes/{node}/storage/{storage}/content/{volume}", "", destroy},
		{"PUT /nodes/{node}/storage/{storage}/content/{volume}", "notes=x", change},
		{"PUT /nodes/{node}/storage/{storage}/content/{volume}", "protected=0", destroy},
		{"POST /nodes/{node}/storage/{storage}/upload", "content=iso&filename=x.iso", destroy},
		{"POST /nodes/{node}/storage/{storage}/download-url", "content=iso&filename=x.iso&url=https://x", change},
		{"DELETE /storage/{storage}", "", disrupt},
		{"PUT /storage/{storage}", "disable=1", disrupt},
		{"POST /storage", "storage=x&type=lvm&vgname=v", change},
		{"POST /storage", "storage=x&type=lvm&vgname=v&base=san:lun0", destroy},
		{"PUT /nodes/{node}/disks/wipedisk", "disk=/dev/sdb", destroy},
		{"DELETE /nodes/{node}/disks/directory/{name}", "", disrupt},
		{"DELETE /nodes/{node}/disks/directory/{name}", "cleanup-disks=1", destroy},
		{"DELETE /nodes/{node}/disks/zfs/{name}", "", destroy},
		{"PUT /cluster/ceph/flags", "noout=1", change},
		{"PUT /cluster/ceph/flags/{flag}", "flag=pause&value=1", disrupt},
		{"PUT /cluster/ceph/flags/{flag}", "flag=pause&value=0", change},
		{"PUT /nodes/{node}/ceph/pool/{name}", "size=2", destroy},
		// Network and cluster
		{"PUT /nodes/{node}/network/{iface}", "type=bridge", change},
		{"PUT /nodes/{node}/network", "", disrupt},
		{"PUT /cluster/sdn", "", disrupt},
		{"POST /cluster/firewall/rules", "type=in&action=ACCEPT", change},
		{"PUT /cluster/firewall/options", "log_ratelimit=enable=1", change},
		{"PUT /cluster/firewall/options", "enable=1", disrupt},
		{"PUT /cluster/firewall/options", "policy_in=DROP", disrupt},
		{"POST /nodes/{node}/certificates/custom", "certificates=x", change},
		{"POST /nodes/{node}/certificates/custom", "certificates=x&restart=1", disrupt},
		{"DELETE /cluster/config/nodes/{node}", "", destroy},
		// Access
		{"PUT /access/acl", "path=/&roles=Administrator&users=a@pve", access},
		{"POST /access/users/{userid}/token/{tokenid}", "", access},
		{"DELETE /access/tfa/{userid}/{id}", "", access},
		{"POST /access/domains/{realm}/sync", "", access},
		{"PUT /pools/{poolid}", "comment=x", change},
		{"PUT /pools/{poolid}", "vms=100", access},
		{"PUT /cluster/options", "keyboard=de", change},
		{"PUT /cluster/options", "user-tag-access=user-allow=free", access},
		// Shells
		{"POST " + vm + "/agent", "command=ping", change},
		{"POST " + vm + "/agent", "command=suspend-ram", disrupt},
		{"POST " + vm + "/agent/exec", "command=id", shell},
		{"POST " + vm + "/agent/file-write", "", shell},
		{"POST " + vm + "/agent/set-user-password", "", shell},
		{"POST " + vm + "/monitor", "command=info", shell},
		{"PUT " + vm + "/sendkey", "key=a", shell},
		{"POST " + ct + "/termproxy", "", shell},
		{"POST /nodes/{node}/vncshell", "", shell},
		{"POST /nodes/{node}/execute", "", shell},
		// Tasks
		{"DELETE /nodes/{node}/tasks/{upid}", "upid=UPID:a:00000001:00000002:00000003:vzdump:100:root@pam:", disrupt},
		{"DELETE /nodes/{node}/tasks/{upid}", "upid=UPID:a:00000001:00000002:00000003:qmrestore:100:root@pam:", destroy},
		// GETs
		{"GET /version", "", apidoc.Read},
		{"GET " + vm + "/config", "", apidoc.Read},
		{"GET " + vm + "/agent/get-osinfo", "", apidoc.Read},
		{"GET " + vm + "/agent/file-read", "file=/etc/shadow", shell},
		{"GET " + vm + "/agent/exec-status", "pid=1", shell},
		{"GET " + ct + "/vncwebsocket", "", shell},
		{"GET /nodes/{node}/scan/nfs", "server=x", change},
		{"GET /nodes/{node}/query-url-metadata", "url=http://x", change},
	} {
		verb, path, _ := strings.Cut(c.method, " ")
		policy, known := overlay(t).Policy(verb, path)
		assert.True(t, known || verb == "GET", c.method)
		params := map[string][]string{}
		for pair := range strings.SplitSeq(c.params, "&") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				params[name] = append(params[name], value)
			}
		}
		assert.Equal(t, c.class, policy.ClassOf(params), "%s %s", c.method, c.params)
	}
}

func TestUnknownMethods(t *testing.T) {
	o := overlay(t)
	p, known := o.Policy("GET", "/new")
	assert.False(t, known)
	assert.Equal(t, apidoc.Read, p.Class)
	p, known = o.Policy("POST", "/new")
	assert.False(t, known)
	assert.Equal(t, apidoc.Destroy, p.Class)
}

// TestWhatCallsReach holds the calls that touch guests without naming them.
func TestWhatCallsReach(t *testing.T) {
	for _, c := range []struct {
		method string
		params map[string][]string
		want   []apidoc.Scope
	}{
		{"POST /nodes/{node}/stopall", nil, []apidoc.Scope{apidoc.ScopeNode}},
		{"POST /nodes/{node}/stopall", map[string][]string{"vms": {"100"}}, nil},
		{"POST /cluster/bulk-action/guest/migrate", map[string][]string{"target": {"b"}}, []apidoc.Scope{apidoc.ScopeCluster}},
		{"POST /nodes/{node}/vzdump", map[string][]string{"all": {"1"}}, []apidoc.Scope{apidoc.ScopeNode}},
		{"POST /nodes/{node}/vzdump", map[string][]string{"exclude": {"100"}}, []apidoc.Scope{apidoc.ScopeNode}},
		{"POST /nodes/{node}/vzdump", map[string][]string{"vmid": {"100"}}, nil},
		{"POST /cluster/backup", map[string][]string{"all": {"1"}}, []apidoc.Scope{apidoc.ScopeCluster}},
		{"POST /nodes/{node}/status", map[string][]string{"command": {"shutdown"}}, []apidoc.Scope{apidoc.ScopeNode}},
		{"PUT /nodes/{node}/network", nil, []apidoc.Scope{apidoc.ScopeNode}},
		{"DELETE /storage/{storage}", nil, []apidoc.Scope{apidoc.ScopeStorage}},
		{"DELETE /nodes/{node}/storage/{storage}/prunebackups", nil, []apidoc.Scope{apidoc.ScopeStorage}},
		{"DELETE /nodes/{node}/storage/{storage}/prunebackups", map[string][]string{"vmid": {"100"}}, nil},
		{"POST /nodes/{node}/services/{service}/stop", map[string][]string{"service": {"corosync"}}, []apidoc.Scope{apidoc.ScopeNode}},
		{"POST /nodes/{node}/services/{service}/stop", map[string][]string{"service": {"cron"}}, nil},
	} {
		e := overlay(t).Methods[c.method]
		assert.Equal(t, c.want, e.Reaches(c.params), "%s %v", c.method, c.params)
	}
}

// TestGuestNamesAreListed goes through every parameter of every write: one
// that names guests, HA resources, tasks, pools or volumes is listed as such,
// or stands here with the reason why it isn't one.
func TestGuestNamesAreListed(t *testing.T) {
	o := overlay(t)
	for _, m := range facts(t, "9.2") {
		if m.Verb == "GET" {
			continue
		}
		method := MethodKey(m.Verb, m.Path)
		refs := o.Methods[method].Refs
		listed := func(list []apidoc.ParamRef, name string) {
			assert.Contains(t, list, apidoc.ParamRef(name), "%s", method)
		}
		for _, name := range m.Params {
			path := slices.Contains(m.PathParams, name)
			switch name {
			case "vmid", "vms", "newid", "target-vmid":
				if !path {
					listed(refs.Guests, name)
				}
			case "exclude":
				listed(refs.Spared, name)
			case "sid", "resources":
				listed(refs.SIDs, name)
			case "upid":
				listed(refs.UPIDs, name)
			case "poolid":
				listed(refs.Pools, name)
			case "pool":
				if !strings.HasPrefix(m.Path, "/storage") { // a pool of Ceph or ZFS
					listed(refs.Pools, name)
				}
			case "archive", "ostemplate", "hookscript", "cicustom", "cdrom", "rootfs", "mp[n]", "ide[n]",
				"sata[n]", "scsi[n]", "virtio[n]", "unused[n]", "efidisk0", "tpmstate0", "base", "stateuri":
				listed(refs.Volumes, name)
			case "volume":
				if !strings.HasSuffix(m.Path, "/move_volume") { // a key of the configuration
					listed(refs.Volumes, name)
				}
			case "statestorage", "vmstatestorage", "targetstorage", "target-storage", "import-working-storage":
				listed(refs.Storages, name)
			case "fleecing":
				listed(refs.Storages, "fleecing.storage")
			case "storage":
				if !path {
					listed(refs.Storages, name)
				}
			}
		}
		if strings.Contains(m.Path, "/replication") {
			listed(refs.Jobs, "id")
		}
	}
}

// TestSecretsAreListed does the same for what sounds like a secret, of GETs,
// too.
func TestSecretsAreListed(t *testing.T) {
	sounds := regexp.MustCompile(`pass|secret|token|key|cred|otp|ticket|private|hmac`)
	harmless := map[string]bool{
		// names, switches and public keys
		"tokenid": true, "tokens": true, "lock-token": true, "token-coefficient": true, "generate-password": true,
		"keyboard": true, "config-keys": true, "public_key": true, "master-pubkey": true, "hotplug": true,
		"ssh-public-keys": true, "sshkeys": true, "certkey": true, "hookscript": true,
	}
	o := overlay(t)
	found := 0
	for _, m := range facts(t, "9.2") {
		policy, _ := o.Policy(m.Verb, m.Path)
		for _, name := range m.Params {
			if !sounds.MatchString(name) || harmless[name] || strings.HasSuffix(m.Path, "/sendkey") {
				continue
			}
			found++
			assert.True(t, policy.Secret(name), "%s %s: %s", m.Verb, m.Path, name)
		}
	}
	assert.GreaterOrEqual(t, found, 50)
	for _, method := range []string{
		"POST /access/users/{userid}/token/{tokenid}", "POST /access/ticket", "POST /access/tfa/{userid}",
		"POST /nodes/{node}/qemu/{vmid}/vncproxy", "POST /nodes/{node}/termproxy",
	} {
		assert.True(t, o.Methods[method].ReturnsSecret, method)
	}
}

// TestResultsCoverWhatToolsCall holds the answers that the schema leaves open.
func TestResultsCoverWhatToolsCall(t *testing.T) {
	results := overlay(t).Results
	for _, method := range []string{
		"GET /access/permissions", "GET /cluster/tasks", "GET /cluster/ha/resources", "GET /nodes/{node}/replication",
		"GET /nodes/{node}/rrddata", "GET /nodes/{node}/qemu/{vmid}/rrddata", "GET /nodes/{node}/disks/smart",
		"GET /nodes/{node}/ceph/status", "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", "GET /storage",
	} {
		assert.Contains(t, results, method)
	}
	perms := results["GET /access/permissions"]
	assert.True(t, perms.Replace)
	assert.Equal(t, ShapeMap, perms.Shape.Kind)
	assert.Equal(t, ShapeBool, perms.Shape.Elem.Elem.Kind)
	tasks := results["GET /cluster/tasks"].Shape
	require.Equal(t, ShapeList, tasks.Kind)
	assert.Equal(t, Field{Name: "endtime", Shape: Shape{Kind: ShapeInt}}, tasks.Elem.Fields[0])
	ha := results["GET /nodes/{node}/qemu/{vmid}/status/current"].Shape
	i := slices.IndexFunc(ha.Fields, func(f Field) bool { return f.Name == "ha" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, ShapeObject, ha.Fields[i].Shape.Kind)
}
