package curated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

// deniedRig is a cluster, and a server of tools whose calls that change
// something may reach it: the refusals are Proxmox's own.
type deniedRig struct {
	t      *testing.T
	sim    *pvesim.Server
	server *Server
	direct *pverest.Client
	now    time.Time
}

// newDenied starts a cluster of its own for a token, after change has set up
// who may do what.
func newDenied(t *testing.T, token string, change func(*pvesim.Access)) *deniedRig {
	t.Helper()
	world := pvesim.Generate(3, 60, 1)
	if change != nil {
		world.Change(func(w *pvesim.World) { change(w.Access()) })
	}
	sim, err := pvesim.Start(pvesim.Options{World: world, NoAuthDelay: true, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	id, err := pverest.ParseTokenID(token, pvesim.TokenSecret)
	require.NoError(t, err)
	transport, err := pverest.NewTransport(pverest.Config{Hosts: []string{sim.URL()}, Token: id, Timeout: 10 * time.Second})
	require.NoError(t, err)
	r := &deniedRig{t: t, sim: sim, direct: pverest.NewClient(transport), now: now}
	r.server, err = New(Options{Version: "test", Transport: transport, TokenID: token, Mode: gate.ReadOnly, Now: func() time.Time { return r.now }})
	require.NoError(t, err)
	return r
}

// send makes a call past the gate and gives its error.
func (r *deniedRig) send(verb, path string, params apidoc.Params) error {
	_, err := r.direct.Do(r.t.Context(), pverest.Call{Verb: verb, Path: path, Params: pverest.Values(params)})
	return err
}

// why makes a call that Proxmox must refuse, and explains the refusal.
func (r *deniedRig) why(verb, path string, params apidoc.Params) string {
	r.t.Helper()
	err := r.send(verb, path, params)
	require.True(r.t, pverest.IsKind(err, pverest.KindForbidden), "%s %s: %v", verb, path, err)
	text := r.server.explain(r.t.Context(), "pve_raw_call", &sentError{err, params})
	noSecret(r.t, text)
	return text
}

var (
	roleCommand = regexp.MustCompile(`pveum role add (\S+) --privs '([^']*)'`)
	aclCommand  = regexp.MustCompile(`pveum acl modify (\S+)(?: --users '([^']*)')? --tokens '([^']*)' --roles (\S+?)[;.]?(?:\s|$)`)
)

// run does what the commands in a text do, as an administrator would.
func (r *deniedRig) run(text string) (entries int) {
	r.t.Helper()
	r.sim.World().Change(func(w *pvesim.World) {
		a := w.Access()
		for _, m := range roleCommand.FindAllStringSubmatch(text, -1) {
			require.NotRegexp(r.t, `(?i)^pve`, m[1], "names that begin with PVE are Proxmox's")
			require.Nil(r.t, a.Roles[m[1]], "role %s is there", m[1])
			for _, p := range strings.Fields(m[2]) {
				require.Contains(r.t, apidoc.Privileges(apidoc.Newest), p)
			}
			a.Roles[m[1]] = &pvesim.Role{Privs: strings.Fields(m[2])}
		}
		for _, m := range aclCommand.FindAllStringSubmatch(text, -1) {
			entries++
			require.NotNil(r.t, a.Roles[m[4]], "role %q", m[4])
			for _, who := range []string{m[2], m[3]} {
				if who != "" {
					a.Grant(strings.Trim(m[1], "'"), who, m[4])
				}
			}
		}
	})
	return entries
}

// dev makes a user with a token that has the roles on the paths, as pairs.
func dev(privsep bool, grants ...string) func(*pvesim.Access) {
	return func(a *pvesim.Access) {
		a.Users["mcp@pve"] = &pvesim.User{Enabled: true}
		a.Tokens["mcp@pve!auto"] = &pvesim.Token{Secret: pvesim.TokenSecret, Privsep: privsep}
		for i := 0; i < len(grants); i += 2 {
			path, privs := grants[i], grants[i+1]
			role := privs
			if a.Roles[privs] == nil {
				role = "r" + fmt.Sprint(i)
				a.Roles[role] = &pvesim.Role{Privs: strings.Fields(privs)}
			}
			a.Grant(path, "mcp@pve", role)
			if privsep {
				a.Grant(path, "mcp@pve!auto", role)
			}
		}
	}
}

const vm = "/nodes/pve2/qemu/116"

// denials are refused calls, one or more for every kind of permission
// expression, and what must be said about them.
var denials = []struct {
	name   string
	grants []string
	call   string
	params apidoc.Params
	words  []string
	never  []string
	// granted: with the commands of the answer the call passes.
	granted bool
}{
	{name: "perm", call: "GET /nodes/pve1/syslog",
		words: []string{"lacks Sys.Syslog on /nodes/pve1. ", "mcp-Sys.Syslog", "--users 'mcp@pve' --tokens 'mcp@pve!auto'"}, granted: true},
	{name: "perm of a reader", call: "GET " + vm + "/config",
		words: []string{"lacks VM.Audit on /vms/116. ", "--roles PVEAuditor"}, granted: true},
	{name: "perm any", grants: []string{"/", "PVEAuditor"}, call: "PUT " + vm + "/config", params: apidoc.Params{"cores": {"2"}},
		words: []string{"lacks VM.Config.CPU on /vms/116 (for cores)", "repeats what is held"}, never: []string{"VM.Config.Disk"}, granted: true},
	{name: "perm any alone", grants: []string{"/", "PVEAuditor"}, call: "PUT " + vm + "/config", params: apidoc.Params{"delete": {"unused0"}},
		words: []string{"VM.Config.Disk on /vms/116"}, granted: true},
	{name: "hidden key", grants: []string{"/vms/116", "VM.Config.CPU VM.Audit"}, call: "PUT " + vm + "/config", params: apidoc.Params{"cores": {"2"}, "memory": {"1024"}},
		words: []string{"lacks VM.Config.Memory on /vms/116 (for memory)", "'VM.Audit VM.Config.CPU VM.Config.Memory'"}, never: []string{"(for cores)"}, granted: true},
	{name: "hidden keys on several paths", grants: []string{"/vms/116", "VM.Config.Options"}, call: "PUT " + vm + "/config",
		params: apidoc.Params{"scsi3": {"local-zfs:8"}, "net1": {"virtio,bridge=vmbr0"}},
		words:  []string{"VM.Config.Disk on /vms/116", "Datastore.AllocateSpace on /storage/local-zfs", "VM.Config.Network on /vms/116", "SDN.Use on /sdn/zones/localnetwork/vmbr0"}, granted: true},
	{name: "deleted CD", grants: []string{"/vms/116", "VM.Config.Options VM.Audit"}, call: "PUT " + vm + "/config", params: apidoc.Params{"delete": {"ide2"}},
		words: []string{"VM.Config.CDROM on /vms/116"}, never: []string{"VM.Config.Disk"}, granted: true},
	{name: "and", call: "POST " + vm + "/clone", params: apidoc.Params{"newid": {"999"}},
		words: []string{"VM.Clone on /vms/116", "VM.Allocate on /vms/999"}, granted: true},
	{name: "and, half of it held", grants: []string{"/vms/116", "VM.Clone"}, call: "POST " + vm + "/clone", params: apidoc.Params{"newid": {"999"}},
		words: []string{"VM.Allocate on /vms/999"}, never: []string{"VM.Clone on"}, granted: true},
	{name: "require_param", grants: []string{"/vms/116", "VM.Clone"}, call: "POST " + vm + "/clone", params: apidoc.Params{"newid": {"999"}, "pool": {"dev"}},
		words: []string{"VM.Allocate on /vms/999, or VM.Allocate on /pool/dev"}, granted: true},
	{name: "or of the user and its groups", call: "GET /access/tfa/ops@pve",
		words: []string{"one of User.Modify, Sys.Audit on /access/groups"}, granted: true},
	{name: "userid-group create", grants: []string{"/access/realm/pve", "Realm.AllocateUser"}, call: "POST /access/users", params: apidoc.Params{"userid": {"new@pve"}, "groups": {"operators"}},
		words: []string{"User.Modify on /access/groups/operators"}, granted: true},
	{name: "userid-param of a realm", grants: []string{"/access/groups", "User.Modify"}, call: "DELETE /access/users/ops@pve",
		words: []string{"Realm.AllocateUser on /access/realm/pve"}, never: []string{"lacks User.Modify"}, granted: true},
	{name: "userid-group update", grants: []string{"/access/groups/other", "User.Modify"}, call: "PUT /access/users/ops@pve", params: apidoc.Params{"comment": {"x"}},
		words: []string{"User.Modify on /access/groups"}, granted: true},
	{name: "perm-modify", grants: []string{"/", "PVEAuditor"}, call: "PUT /access/acl", params: apidoc.Params{"path": {"/vms/116"}, "roles": {"PVEAuditor"}, "users": {"ops@pve"}},
		words: []string{"one of Permissions.Modify, VM.Allocate on /vms/116"}, granted: true},
	{name: "agent", grants: []string{"/vms/116", "VM.Audit"}, call: "GET " + vm + "/agent/get-osinfo",
		words: []string{"VM.GuestAgent.Audit", "on /vms/116"}, never: []string{"VM.Monitor"}, granted: true},
	{name: "taken away below", grants: []string{"/vms", "PVEVMAdmin", "/vms/116", "NoAccess"}, call: "POST " + vm + "/status/start",
		words: []string{"VM.PowerMgmt on /vms/116"}},
	{name: "backup", grants: []string{"/vms/116", "VM.Backup"}, call: "POST /nodes/pve2/vzdump", params: apidoc.Params{"vmid": {"116"}, "storage": {"nfs-data"}, "bwlimit": {"100"}},
		words: []string{"Datastore.AllocateSpace on /storage/nfs-data (for storage)", "Sys.Modify on / (for bwlimit)"}, granted: true},
}

func TestForbidden(t *testing.T) {
	for i, d := range denials {
		for _, privsep := range []bool{false, true} {
			if privsep && i%4 != 2 { // a few of them are enough
				continue
			}
			t.Run(fmt.Sprintf("%s/privsep=%v", d.name, privsep), func(t *testing.T) {
				r := newDenied(t, "mcp@pve!auto", dev(privsep, d.grants...))
				verb, path, _ := strings.Cut(d.call, " ")
				text := r.why(verb, path, d.params)
				require.NotContains(t, text, "\n")
				require.Contains(t, text, d.call+" is forbidden: the token mcp@pve!auto lacks ")
				for _, w := range d.words {
					require.Contains(t, text, w)
				}
				for _, w := range d.never {
					require.NotContains(t, text, w)
				}
				if !privsep {
					golden(t, filepath.Join("forbidden", strings.NewReplacer(" ", "_", ",", "").Replace(d.name)+".txt"), text+"\n")
				}
				if !d.granted {
					return
				}
				before := r.held()
				require.Positive(t, r.run(text), text)
				err := r.send(verb, path, d.params)
				require.False(t, pverest.IsKind(err, pverest.KindForbidden), "granted by %q, and still: %v", text, err)
				r.nothingLost(before)
			})
		}
	}
}

// held reads what the token holds.
func (r *deniedRig) held() map[string]map[string]bool {
	r.server.forgetPrivileges()
	h, err := r.server.holdings(r.t.Context(), privilegeAge)
	require.NoError(r.t, err)
	return h.paths
}

// nothingLost holds that a grant took nothing away where it was made.
func (r *deniedRig) nothingLost(before map[string]map[string]bool) {
	r.t.Helper()
	now := &holdings{paths: r.held()}
	for path, privs := range before {
		for p := range privs {
			require.True(r.t, now.has(path, p), "%s on %s is lost", p, path)
		}
	}
	old := &holdings{paths: before}
	for path := range now.paths {
		inherited, _ := old.on(path)
		for p := range inherited {
			require.True(r.t, now.has(path, p), "%s on %s is lost, which was inherited", p, path)
		}
	}
}

// TestForbiddenBrief holds the answers where nothing can be granted or Proxmox's
// words are all there is.
func TestForbiddenBrief(t *testing.T) {
	t.Run("a key that is root's", func(t *testing.T) {
		// On the wire Proxmox answers 500 to most of these; a container's devices get a 403.
		r := newDenied(t, "mcp@pve!auto", dev(false, "/", "Administrator"))
		text := r.why("PUT", "/nodes/pve2/lxc/100/config", apidoc.Params{"dev0": {"/dev/ttyS0"}})
		require.Contains(t, text, "root@pam")
		require.NotContains(t, text, "pveum acl")
	})
	t.Run("a method that is root's", func(t *testing.T) {
		r := newDenied(t, fullToken, nil)
		text := r.why("PUT", "/nodes/pve1/disks/wipedisk", apidoc.Params{"disk": {"/dev/sdz"}})
		require.Contains(t, text, "no token counts as root@pam")
		require.Contains(t, text, "web interface as root@pam")
		require.NotContains(t, text, "Nothing was sent")
	})
	t.Run("closed to tokens", func(t *testing.T) {
		r := newDenied(t, fullToken, nil)
		text := r.why("PUT", "/access/password", apidoc.Params{"userid": {"ops@pve"}, "password": {"long-enough"}})
		require.Contains(t, text, "can't be called with an API token")
		require.Contains(t, text, "pveum passwd")
	})
	t.Run("what the token holds can't be read", func(t *testing.T) {
		r := newDenied(t, "mcp@pve!auto", dev(false))
		_, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Path: "/access/permissions", Status: 500, Reason: "no such thing"})
		require.NoError(t, err)
		text := r.why("GET", "/nodes/pve1/syslog", nil)
		require.Contains(t, text, "lacks Sys.Syslog on /nodes/pve1")
		text = r.why("GET", "/access/tfa/ops@pve", nil)
		require.Contains(t, text, "could not be read (no such thing)")
		require.Contains(t, text, "User.Modify")
		require.NotContains(t, text, "lacks")
	})
	t.Run("Proxmox's words win over a belief", func(t *testing.T) {
		r := newDenied(t, "mcp@pve!auto", dev(false, "/nodes/pve1", "Sys.Syslog"))
		require.NoError(t, r.send("GET", "/nodes/pve1/syslog", nil))
		_, err := r.server.holdings(t.Context(), privilegeAge)
		require.NoError(t, err)
		r.sim.World().Change(func(w *pvesim.World) { w.Access().ACL = nil })
		text := r.why("GET", "/nodes/pve1/syslog", nil)
		require.Contains(t, text, "lacks Sys.Syslog on /nodes/pve1")
		require.Contains(t, text, "--privs 'Sys.Syslog'")
	})
}

// TestHoldings counts what is asked: once a minute, and single paths at most
// twice.
func TestHoldings(t *testing.T) {
	r := newDenied(t, "mcp@pve!auto", dev(false, "/vms", "PVEVMAdmin"))
	asked := func() int {
		n := 0
		for _, q := range r.sim.Requests() {
			if q.Template == "/access/permissions" {
				n++
			}
		}
		return n
	}
	read := func() *holdings {
		h, err := r.server.holdings(t.Context(), privilegeAge)
		require.NoError(t, err)
		return h
	}
	read()
	read()
	require.Equal(t, 1, asked())
	r.now = r.now.Add(59 * time.Second)
	read()
	require.Equal(t, 1, asked())
	r.now = r.now.Add(2 * time.Second)
	read()
	require.Equal(t, 2, asked())
	r.server.forgetPrivileges()
	h := read()
	require.Equal(t, 3, asked())

	require.True(t, h.has("/vms/116", "VM.Audit"), "inherited from /vms")
	require.False(t, h.has("/storage/local", "VM.Audit"))
	require.NoError(t, r.server.exact(t.Context(), h, []string{"/vms/5001", "/vms/{vmid}", "/vms/5002", "/vms/5003"}))
	require.Equal(t, 5, asked())

	_, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Path: "/access/permissions", Status: 500, Times: 1})
	require.NoError(t, err)
	r.server.forgetPrivileges()
	_, err = r.server.holdings(t.Context(), privilegeAge)
	require.Error(t, err)
	read() // a failure is not remembered
}

// TestLacking is the list that dry runs show.
func TestLacking(t *testing.T) {
	r := newDenied(t, "mcp@pve!auto", dev(false, "/vms/116", "VM.Config.CPU VM.Config.Options VM.Audit"))
	c := &Call{Server: r.server}
	lacking := func(verb apidoc.Verb, path string, params apidoc.Params) ([]string, string) {
		schema, err := c.schema(t.Context())
		require.NoError(t, err)
		match, err := schema.Lookup(verb, path)
		require.NoError(t, err)
		return c.lacking(t.Context(), match, params)
	}
	missing, note := lacking(apidoc.PUT, vm+"/config", apidoc.Params{"cores": {"2"}})
	require.Empty(t, missing)
	require.Equal(t, "nothing is known to be missing", note)

	missing, note = lacking(apidoc.PUT, vm+"/config", apidoc.Params{"args": {"-s"}, "memory": {"1024"}, "delete": {"ide2,scsi0"}})
	require.ElementsMatch(t, []string{
		"being root@pam, which no token is (for args)",
		"VM.Config.Memory on /vms/116 (for memory)",
		"VM.Config.CDROM on /vms/116 (for ide2)",
		"VM.Config.Disk on /vms/116 (for scsi0)",
	}, missing)
	require.Empty(t, note)

	// In which zone a bridge is can't be known, unless its name tells.
	missing, note = lacking(apidoc.PUT, vm+"/config", apidoc.Params{"net0": {"virtio,bridge=blue"}})
	require.Contains(t, strings.Join(missing, "\n"), "VM.Config.Network on /vms/116")
	require.NotContains(t, strings.Join(missing, "\n"), "SDN.Use on /sdn/zones/localnetwork/blue")
	require.Contains(t, note, "SDN.Use")

	missing, _ = lacking(apidoc.PUT, "/access/password", nil)
	require.Len(t, missing, 1)
	require.Contains(t, missing[0], "pveum passwd")

	_, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Path: "/access/permissions", Status: 500, Reason: "broken"})
	require.NoError(t, err)
	r.server.forgetPrivileges()
	missing, note = lacking(apidoc.GET, vm+"/config", nil)
	require.Empty(t, missing)
	require.Equal(t, "what the token holds could not be read: broken", note)
}

// TestLackingAgrees asks for every method of the API, as two tokens, and holds
// that what is said to be lacking is refused by the cluster: never a false
// "lacks".
func TestLackingAgrees(t *testing.T) {
	schema, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	sample := map[string]string{"node": "pve2", "vmid": "116", "storage": "local", "userid": "ops@pve", "poolid": "dev", "realm": "pve", "groupid": "operators"}
	lacked, refused := 0, 0
	for _, token := range []string{"mcp@pve!auto", poolToken} {
		r := newDenied(t, token, dev(false, "/nodes", "Sys.Audit", "/vms/116", "VM.Audit VM.PowerMgmt"))
		c := &Call{Server: r.server}
		for _, e := range schema.Endpoints() {
			m, err := e.Method()
			require.NoError(t, err)
			path := e.Path
			for _, p := range m.PathParams() {
				v := sample[p]
				if v == "" {
					v = "x1"
				}
				path = strings.ReplaceAll(path, "{"+p+"}", v)
			}
			match, err := schema.Lookup(e.Verb, path)
			require.NoError(t, err)
			if match.Endpoint != e || m.Check(match.Values, nil) != nil {
				continue // the sample path means another method, or it takes parameters
			}
			missing, _ := c.lacking(t.Context(), match, nil)
			err = r.send(string(e.Verb), path, nil)
			forbidden := pverest.IsKind(err, pverest.KindForbidden)
			if forbidden {
				refused++
			}
			if len(missing) == 0 {
				continue
			}
			lacked++
			// A thing that is not there may be told before the privilege is asked.
			require.True(t, forbidden || pverest.IsKind(err, pverest.KindNotFound, pverest.KindUnauthorized, pverest.KindParameter, pverest.KindNotImplemented),
				"%s as %s: said to lack %q, and the cluster says %v", match, token, missing, err)
		}
	}
	require.Greater(t, lacked, 200)
	require.Greater(t, refused, 200)
	t.Logf("%d calls said to lack something, %d refused", lacked, refused)
}

// TestNeverByToken holds that all methods closed to tokens are refused at once
// with a way round, through the doors, and no other is.
func TestNeverByToken(t *testing.T) {
	r := newRig(t, startSim(t, 1, 4), setup{})
	c := &Call{Server: r.server}
	schema, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	closed, roots := 0, 0
	for _, e := range schema.Endpoints() {
		m, err := e.Method()
		require.NoError(t, err)
		got := c.neverByToken(apidoc.Match{Endpoint: e})
		if m.AllowToken && m.Permission.Declared {
			require.NoError(t, got, e)
			continue
		}
		var never *TokenError
		require.True(t, errors.As(got, &never), "%s: %v", e, got)
		require.NotEmpty(t, never.Way, e)
		require.NotContains(t, never.Error(), "..")
		if never.Root {
			roots++
		} else {
			closed++
		}
	}
	require.Equal(t, 5, closed)
	require.Equal(t, 15, roots)
	for method := range waysRound {
		verb, path, _ := strings.Cut(method, " ")
		e, ok := schema.Endpoint(apidoc.Verb(verb), path)
		require.True(t, ok, method)
		require.Error(t, c.neverByToken(apidoc.Match{Endpoint: e}), "%s is open to tokens and needs no way round", method)
	}
	asked := r.asked(func() {
		text := r.fails("pve_raw_get", args{"path": "/cluster/backup-info"}, "root@pam", "Nothing was sent", "not-backed-up")
		require.NotContains(t, text, "403")
	})
	for _, a := range asked {
		require.NotContains(t, a, "backup-info")
	}
}

// TestGrantCommands holds the form of the commands.
func TestGrantCommands(t *testing.T) {
	s := &Server{o: Options{TokenID: "root@pam!x"}}
	require.Equal(t, "To grant it, on a node as root: pveum acl modify /vms --tokens 'root@pam!x' --roles PVEAuditor.", s.grantLine("/vms", []string{"VM.Audit"}))
	s.o.TokenID = "a@pve!b"
	require.Equal(t, "To grant it, on a node as root: pveum role add mcp-VM.Console --privs 'VM.Console'; pveum acl modify /vms/1 --users 'a@pve' --tokens 'a@pve!b' --roles mcp-VM.Console.", s.grantLine("/vms/1", []string{"VM.Console"}))
	require.Contains(t, s.grantLine("/pool/a b;'c", []string{"Pool.Audit"}), `modify '/pool/a b;'\''c' --users`)
	require.Empty(t, s.grantOn([]apidoc.Need{{Root: true}}, nil))
	require.Equal(t, "mcp-root-3", roleName("/", []string{"A", "B", "C"}))
	require.Equal(t, "mcp-vms-100-3", roleName("/vms/100", []string{"A", "B", "C"}))
	s.o.TokenID = ""
	require.Contains(t, s.grantLine("/", []string{"Sys.Audit"}), "'USER@REALM!NAME'")
}

// TestExpressions says every permission expression of three versions in words.
func TestExpressions(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range apidoc.Snapshots() {
		schema, err := apidoc.Snapshot(v)
		require.NoError(t, err)
		for _, e := range schema.Endpoints() {
			m, err := e.Method()
			require.NoError(t, err)
			words := permissionWords(m.Permission)
			require.NotEmpty(t, words, e)
			require.NotContains(t, words, "does not know", "%s of %s", e, v)
			require.NotContains(t, words, " on ,", e)
			seen[words] = true
		}
	}
	for _, want := range []string{
		"root@pam alone, which no token is",
		"VM.Audit on /vms/{vmid}",
		"VM.Clone on /vms/{vmid} and (VM.Allocate on /vms/{newid}, or VM.Allocate on /pool/{pool} (if pool is given))",
		"Realm.AllocateUser on /access/realm/{realm of the user} and User.Modify on every group in groups, or on /access/groups",
	} {
		require.Contains(t, seen, want)
	}
	require.Contains(t, exprWords(&apidoc.Expr{Op: "new-op"}, false), "does not know")
}

// TestCancelled holds that an explanation outlives its call.
func TestCancelled(t *testing.T) {
	r := newDenied(t, "mcp@pve!auto", dev(false))
	err := r.send("GET", "/nodes/pve1/syslog", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Contains(t, r.server.explain(ctx, "pve_raw_get", err), "lacks Sys.Syslog on /nodes/pve1")
}
