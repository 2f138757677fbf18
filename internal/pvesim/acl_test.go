package pvesim

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"pvemcp/apidoc"
)

// aclWorld has a pool, groups, and tokens with and without privileges of their
// own.
func aclWorld() *World {
	w := NewWorld(epochOfTests, 1)
	w.Local = "n1"
	w.Cluster = "c"
	w.Nodes = []*Node{{Name: "n1", ID: 1, Online: true}}
	a := w.access
	a.Groups["ops"] = &Group{}
	a.Groups["dev"] = &Group{}
	a.Users["u@pve"] = &User{Enabled: true, Groups: []string{"ops", "dev"}}
	a.Users["v@pve"] = &User{Enabled: true, Groups: []string{"gone"}}
	a.Tokens["u@pve!all"] = &Token{Secret: recordedSecret}
	a.Tokens["u@pve!own"] = &Token{Secret: recordedSecret, Privsep: true}
	a.Tokens["root@pam!own"] = &Token{Secret: recordedSecret, Privsep: true}
	a.Tokens["root@pam!all"] = &Token{Secret: recordedSecret}
	a.Tokens["v@pve!t"] = &Token{Secret: recordedSecret}
	w.Pools = []*Pool{{ID: "p", Storages: []apidoc.Storage{"s1"}}}
	w.AddGuest(&Guest{ID: 100, Kind: apidoc.QEMU, Node: "n1", Pool: "p", Config: NewConfig("name", "a")})
	w.AddGuest(&Guest{ID: 101, Kind: apidoc.QEMU, Node: "n1", Config: NewConfig("name", "b")})
	return w
}

func TestEffectivePrivileges(t *testing.T) {
	role := func(name string) string { return strings.Join(sortedPrivs(name), " ") }
	user, token := identity{user: "u@pve"}, func(n string) identity { return identity{user: "u@pve", token: n} }
	for _, c := range []struct {
		name string
		acl  []ACL
		who  identity
		path string
		want string
	}{
		{"nothing", nil, user, "/vms/100", ""},
		{"root by ticket", nil, identity{user: "root@pam", root: true}, "/vms/100", role("Administrator")},
		{"token of root", nil, identity{user: "root@pam", token: "all"}, "/x", role("Administrator")},
		{"separate token of root", nil, identity{user: "root@pam", token: "own"}, "/x", ""},
		{"separate token of root with an entry", []ACL{{"/", ACLToken, "root@pam!own", "PVEPoolUser", true}}, identity{user: "root@pam", token: "own"}, "/x", role("PVEPoolUser")},
		{"on the path", []ACL{{"/vms/100", ACLUser, "u@pve", "PVETemplateUser", false}}, user, "/vms/100", role("PVETemplateUser")},
		{"from above", []ACL{{"/", ACLUser, "u@pve", "PVETemplateUser", true}}, user, "/vms/100", role("PVETemplateUser")},
		{"from above, not going down", []ACL{{"/", ACLUser, "u@pve", "PVETemplateUser", false}}, user, "/vms/100", ""},
		{"below replaces above", []ACL{{"/", ACLUser, "u@pve", "PVEVMAdmin", true}, {"/vms", ACLUser, "u@pve", "PVEPoolUser", true}}, user, "/vms/101", role("PVEPoolUser")},
		{"a sibling does not count", []ACL{{"/vms/10", ACLUser, "u@pve", "PVEVMAdmin", true}}, user, "/vms/100", ""},
		{"two roles", []ACL{{"/", ACLUser, "u@pve", "PVEPoolUser", true}, {"/", ACLUser, "u@pve", "PVEDatastoreUser", true}}, user, "/x",
			"Datastore.AllocateSpace Datastore.Audit Pool.Audit"},
		{"by group", []ACL{{"/", ACLGroup, "ops", "PVEPoolUser", true}}, user, "/x", role("PVEPoolUser")},
		{"by both groups", []ACL{{"/", ACLGroup, "ops", "PVEPoolUser", true}, {"/", ACLGroup, "dev", "PVETemplateUser", true}}, user, "/x", "Pool.Audit VM.Audit VM.Clone"},
		{"own before group", []ACL{{"/", ACLGroup, "ops", "PVEVMAdmin", true}, {"/", ACLUser, "u@pve", "PVEPoolUser", true}}, user, "/x", role("PVEPoolUser")},
		{"group below own", []ACL{{"/vms", ACLGroup, "ops", "PVETemplateUser", true}, {"/", ACLUser, "u@pve", "PVEPoolUser", true}}, user, "/vms/101", role("PVETemplateUser")},
		{"a group that is gone", []ACL{{"/", ACLGroup, "gone", "PVEVMAdmin", true}}, identity{user: "v@pve"}, "/x", ""},
		{"NoAccess wins", []ACL{{"/", ACLGroup, "ops", "PVEVMAdmin", true}, {"/", ACLGroup, "dev", "NoAccess", true}}, user, "/x", ""},
		{"NoAccess below", []ACL{{"/", ACLUser, "u@pve", "PVEVMAdmin", true}, {"/vms/100", ACLUser, "u@pve", "NoAccess", true}}, user, "/vms/100", ""},
		{"pool", []ACL{{"/pool/p", ACLUser, "u@pve", "PVETemplateUser", true}}, user, "/vms/100", role("PVETemplateUser")},
		{"pool adds", []ACL{{"/pool/p", ACLUser, "u@pve", "PVETemplateUser", true}, {"/vms", ACLUser, "u@pve", "PVEPoolUser", true}}, user, "/vms/100", "Pool.Audit VM.Audit VM.Clone"},
		{"pool of a storage", []ACL{{"/pool/p", ACLUser, "u@pve", "PVEDatastoreUser", true}}, user, "/storage/s1", role("PVEDatastoreUser")},
		{"not in the pool", []ACL{{"/pool/p", ACLUser, "u@pve", "PVETemplateUser", true}}, user, "/vms/101", ""},
		{"NoAccess blocks the pool", []ACL{{"/pool/p", ACLUser, "u@pve", "PVETemplateUser", true}, {"/vms/100", ACLUser, "u@pve", "NoAccess", false}}, user, "/vms/100", ""},
		{"token without separation", []ACL{{"/", ACLUser, "u@pve", "PVETemplateUser", true}}, token("all"), "/x", role("PVETemplateUser")},
		{"separate token without entry", []ACL{{"/", ACLUser, "u@pve", "PVETemplateUser", true}}, token("own"), "/x", ""},
		{"separate token, both", []ACL{{"/", ACLUser, "u@pve", "PVEAuditor", true}, {"/", ACLToken, "u@pve!own", "PVETemplateUser", true}}, token("own"), "/x", "VM.Audit"},
		{"separate token has no groups", []ACL{{"/", ACLUser, "u@pve", "PVEAuditor", true}, {"/", ACLGroup, "ops", "PVETemplateUser", true}}, token("own"), "/x", ""},
		{"a token that is gone", []ACL{{"/", ACLUser, "u@pve", "PVEAuditor", true}}, token("gone"), "/x", ""},
		{"a role that is gone", []ACL{{"/", ACLUser, "u@pve", "Gone", true}}, user, "/x", ""},
	} {
		w := aclWorld()
		w.access.ACL = c.acl
		got := sortedKeys(newACLView(w).effective(c.who, c.path))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v; want %s", c.name, got, c.want)
		}
		for _, p := range got {
			if !c.who.holds(w, c.path, p) {
				t.Errorf("%s: holds denies %s", c.name, p)
			}
		}
	}
}

func sortedPrivs(role string) []string {
	p := append([]string{}, apidoc.Roles(apidoc.Newest)[role]...)
	sort.Strings(p)
	return p
}

// TestDenials: the 403 names what Proxmox names.
func TestDenials(t *testing.T) {
	w := aclWorld()
	w.access.Grant("/vms/101", "u@pve", "PVEVMAdmin")
	w.access.Grant("/access/groups/ops", "u@pve", "PVEUserAdmin")
	s := start(t, Options{World: w})
	for _, c := range []struct {
		method, path, token, form string
		status                    int
		reason                    string
	}{
		{"GET", "/nodes/n1/qemu/100/config", "u@pve!all", "", 403, "Permission check failed (/vms/100, VM.Audit)"},
		{"GET", "/nodes/n1/qemu/101/config", "u@pve!all", "", 200, "OK"},
		{"PUT", "/nodes/n1/qemu/100/config", "u@pve!all", "cores=2", 403, "Permission check failed (/vms/100, VM.Config.Disk|VM.Config.CDROM|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.HWType|VM.Config.Options|VM.Config.Cloudinit)"},
		// every key has its own privilege, which the schema does not show
		{"PUT", "/nodes/n1/qemu/101/config", "u@pve!all", "scsi1=s1:4", 403, "Permission check failed (/storage/s1, Datastore.AllocateSpace)"},
		{"PUT", "/nodes/n1/qemu/101/config", "u@pve!all", "net0=virtio,bridge%3Dvmbr0", 403, "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)"},
		{"PUT", "/nodes/n1/qemu/101/config", "u@pve!all", "startup=order%3D1", 403, "Permission check failed (/, Sys.Modify)"},
		{"PUT", "/nodes/n1/qemu/101/config", "root@pam!all", "args=x", 500, "only root can set 'args' config"},
		{"PUT", "/nodes/n1/qemu/101/config", "root@pam!all", "usb0=host%3D1-2", 500, "only root can set 'usb0' config for real devices"},
		{"PUT", "/nodes/n1/qemu/101/config", "root@pam!all", "hostpci0=01:00.0", 500, "only root can set 'hostpci0' config for non-mapped devices"},
		{"POST", "/nodes/n1/vzdump", "root@pam!all", "tmpdir=/x&vmid=101", 400, "Parameter verification failed."},
		{"POST", "/nodes/n1/qemu", "u@pve!all", "vmid=500", 403, "Permission check failed (/vms/500, VM.Allocate)"},
		{"GET", "/access/users/v@pve", "u@pve!all", "", 403, "Permission check failed (/access/groups, User.Modify|Sys.Audit)"},
		{"GET", "/access/users/u@pve", "u@pve!all", "", 200, "OK"},
		{"PUT", "/access/acl", "u@pve!all", "path=/vms/100&roles=PVEVMUser&users=u@pve", 403, "Permission check failed (/vms/100, Permissions.Modify|VM.Allocate)"},
		{"POST", "/nodes/n1/execute", "root@pam!all", "commands=[]", 403, "Permission check failed (user != root@pam)"},
		{"POST", "/nodes/n1/qemu/101/clone", "u@pve!all", "newid=102", 403, "Permission check failed"},
		{"GET", "/access/permissions?userid=root@pam", "u@pve!all", "", 403, "Permission check failed (/access, Sys.Audit)"},
		{"GET", "/access/permissions?userid=v@pve", "root@pam!all", "", 200, "OK"},
		{"GET", "/access/permissions?userid=zz@pve", "root@pam!all", "", 500, "no such user ('zz@pve')"},
	} {
		a, err := askAs(t, s, c.method, c.path, c.token, c.form)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != c.status || a.reason != c.reason {
			t.Errorf("%s %s %s as %s: %d %s; want %d %s", c.method, c.path, c.form, c.token, a.status, a.reason, c.status, c.reason)
		}
	}
}

func TestPermissionsAnswer(t *testing.T) {
	w := aclWorld()
	w.access.ACL = []ACL{{"/pool/p", ACLUser, "u@pve", "PVEPoolUser", true}, {"/nodes/n1", ACLUser, "u@pve", "PVESysAdmin", false}}
	s := start(t, Options{World: w})
	for query, want := range map[string]string{
		"":                "map[/nodes/n1:map[Sys.Audit:0 Sys.Console:0 Sys.Syslog:0] /pool/p:map[Pool.Audit:1] /storage/s1:map[Pool.Audit:1] /vms/100:map[Pool.Audit:1]]",
		"?path=/vms/100":  "map[/vms/100:map[Pool.Audit:1]]",
		"?path=/vms/101":  "map[/vms/101:map[]]",
		"?userid=u@pve":   "",
		"?path=/storage/": "map[/storage/:map[]]",
	} {
		a, err := askAs(t, s, "GET", "/access/permissions"+query, "u@pve!all", "")
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Data map[string]map[string]int }
		if err := json.Unmarshal([]byte(a.body), &body); want != "" && (err != nil || fmt.Sprint(body.Data) != want) {
			t.Errorf("%s: %d %s %v; want %s", query, a.status, a.reason, body.Data, want)
		}
	}
}

// TestTickets: two hours, bound to the user, refused once the user is disabled;
// a good ticket renews itself.
func TestTickets(t *testing.T) {
	w := aclWorld()
	w.access.Users["u@pve"].Password = "geheim12"
	now := epochOfTests
	s := start(t, Options{World: w, Clock: func() time.Time { return now }})
	login := func(password string) (rawAnswer, string, string) {
		a, err := askAs(t, s, "POST", "/access/ticket", "", "username=u@pve&password="+escapeTicket(password))
		if err != nil {
			t.Fatal(err)
		}
		if a.status != 200 {
			return a, "", ""
		}
		ticket, csrf := loginOf(t, a.body)
		return a, ticket, csrf
	}
	status := func(cookie, csrf, method string) int {
		h := map[string]string{"Cookie": "a=b; PVEAuthCookie=" + cookie, "CSRFPreventionToken": csrf, "Content-Length": "12"}
		a, err := exchangeRaw(t, s, buildRequest(method, "/api2/json/access/password", h, "userid=u@pve"))
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	_, ticket, csrf := login("geheim12")
	if got := status(ticket, csrf, "PUT"); got != 400 {
		t.Errorf("good ticket: %d", got)
	}
	for name, bad := range map[string]string{
		"another user": strings.Replace(ticket, "u@pve", "root@pam", 1),
		"another time": ticket[:10] + "F" + ticket[11:],
		"no signature": strings.SplitN(ticket, "::", 2)[0],
		"empty":        "PVE:u@pve:00000000::",
		"half":         ticket[:len(ticket)-4],
	} {
		if got := status(bad, csrf, "PUT"); got != 401 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if _, renewed, _ := login(ticket); renewed == "" {
		t.Error("a good ticket was not taken for a password")
	}
	now = now.Add(2*time.Hour + time.Second)
	if got := status(ticket, csrf, "PUT"); got != 401 {
		t.Errorf("after two hours: %d", got)
	}
	if a, _, _ := login(ticket); a.status != 401 {
		t.Errorf("an old ticket was renewed: %d", a.status)
	}
	_, ticket, csrf = login("geheim12")
	s.World().Change(func(w *World) { w.access.Users["u@pve"].Enabled = false })
	if got := status(ticket, csrf, "PUT"); got != 401 {
		t.Errorf("disabled user: %d", got)
	}
	if a, _, _ := login("geheim12"); a.status != 401 || a.reason != "authentication failure" {
		t.Errorf("disabled user logs in: %d %s", a.status, a.reason)
	}
}

// TestRootByTicket may what no token may.
func TestRootByTicket(t *testing.T) {
	w := aclWorld()
	w.access.Users["root@pam"].Password = "geheim12"
	s := start(t, Options{World: w})
	a, err := askAs(t, s, "POST", "/access/ticket", "", "username=root@pam&password=geheim12")
	if err != nil {
		t.Fatal(err)
	}
	ticket, csrf := loginOf(t, a.body)
	h := map[string]string{"Cookie": "PVEAuthCookie=" + escapeTicket(ticket), "CSRFPreventionToken": csrf, "Content-Length": "6"}
	a, err = exchangeRaw(t, s, buildRequest("PUT", "/api2/json/nodes/n1/qemu/101/config", h, "args=x"))
	if err != nil || strings.Contains(a.reason, "only root") || a.status == 403 {
		t.Fatal(a.status, a.reason, err)
	}
}

func TestOlderServers(t *testing.T) {
	schema, err := apidoc.Snapshot("8.4")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Schema: schema, OldErrors: true})
	a, err := exchangeRaw(t, s, "GET /api2/json/version HTTP/1.1\r\nAuthorization: PVEAPIToken=root@pam!full="+TokenSecret+"\r\n\r\n")
	if err != nil || !strings.Contains(a.body, `"release":"8.4"`) {
		t.Fatal(a, err)
	}
	a, err = exchangeRaw(t, s, "GET /api2/json/version?x=1 HTTP/1.1\r\nAuthorization: PVEAPIToken=root@pam!full="+TokenSecret+"\r\n\r\n")
	if err != nil || a.reason != "Parameter verification failed." || shape(a.body) != "{data errors} data<nil> errors{x}" {
		t.Fatal(a, err)
	}
	a, err = exchangeRaw(t, s, "GET /api2/json/cluster/ha/rules HTTP/1.1\r\nAuthorization: PVEAPIToken=root@pam!full="+TokenSecret+"\r\n\r\n")
	if err != nil || a.status != 501 {
		t.Fatal(a, err)
	}
	s.World().View(func(w *World) {
		if r := w.access.Roles["PVEVMAdmin"]; !strings.Contains(strings.Join(r.Privs, " "), "VM.Monitor") {
			t.Errorf("8.4 without VM.Monitor: %v", r.Privs)
		}
	})
}
