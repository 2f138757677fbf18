package pvesim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// get asks a server as root@pam!full and gives status, reason and the envelope.
func get(t testing.TB, s *Server, path string) (status int, reason string, envelope map[string]any) {
	t.Helper()
	return getAs(t, s, "root@pam!full", path)
}

func getAs(t testing.TB, s *Server, token, path string) (status int, reason string, envelope map[string]any) {
	t.Helper()
	req, err := http.NewRequest("GET", s.URL()+"/api2/json"+path, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "PVEAPIToken="+token+"="+TokenSecret)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if len(body) > 0 {
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		require.NoError(t, d.Decode(&envelope), "%s: %.300s", path, body)
	}
	return resp.StatusCode, strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode)+" "), envelope
}

// rowsOf gives the data of an answer as a list of objects.
func rowsOf(t testing.TB, envelope map[string]any) []map[string]any {
	t.Helper()
	list, ok := envelope["data"].([]any)
	require.True(t, ok, "no list: %.300v", envelope)
	out := make([]map[string]any, len(list))
	for i, x := range list {
		out[i], ok = x.(map[string]any)
		require.True(t, ok, "row %d is %T", i, x)
	}
	return out
}

// sample gives values for the parameters of every path, from what is in the world.
func sample(w *World) map[string]string {
	v := map[string]string{"poolid": "production", "storage": "nfs-data", "group": "webserver", "id": "", "upid": "", "realm": "pve", "userid": "ops@pve", "tokenid": "auto", "roleid": "PVEAuditor", "groupid": "operators",
		"pos": "0", "name": "", "cidr": "10.10.0.0/24", "iface": "vmbr0", "service": "pveproxy", "zone": "tenants", "vnet": "acme", "snapname": "", "sid": "", "rule": "prefer-pve1"}
	for _, n := range w.Nodes {
		if _, done := n.Tasks(); len(done) > 0 && n.Name == w.Local {
			v["upid"] = done[0].UPID
		}
	}
	return v
}

// shapeDeviations are the places at which answers are known to differ from what
// the schema declares, by verb, path and member.
var shapeDeviations = []string{
	"GET /access/users/{userid}/tfa realm",
	"GET /cluster/backup [].prune-backups.",      // texts, out of a property string
	"GET /cluster/mapping/usb []: error",         // only with check-node
	"GET /cluster/nextid : ",                     // the number is a text
	"GET /nodes/{node}/disks/list [].osdid-list", // null where there is no OSD
	"GET /nodes/{node}/lxc [].pressure",          // texts, unlike those of VMs
	"GET /nodes/{node}/lxc/{vmid}/status/current pressure",
	"GET /nodes/{node}/lxc/{vmid}/interfaces [].ip-addresses[].prefix",
	"GET /nodes/{node}/lxc/{vmid}/pending [].value", // numbers, where the key's are
	"GET /nodes/{node}/qemu/{vmid}/pending [].value",
	"GET /nodes/{node}/qemu/{vmid}/pending [].pending",
}

// TestEveryReadAnswers walks all GETs that have a handler: each answers with
// 200 and data of the declared form, or with the error that belongs to it.
func TestEveryReadAnswers(t *testing.T) {
	w := Generate(3, 60, 7)
	s := start(t, Options{World: w})
	vm, ct, withSnapshot := pickGuests(t, w)
	errorsExpected := map[string]string{
		"/cluster/ha/groups": "cannot index groups: ha groups have been migrated to rules", "/cluster/ha/groups/{group}": "cannot read group: ha groups have been migrated to rules",
		"/nodes/{node}/qemu/{vmid}/agent/exec-status":    "Agent error: PID 1 does not exist",
		"/cluster/acme/account/{name}":                   "Permission check failed (user != root@pam)",
		"/cluster/firewall/groups/{group}/{pos}":         "",
		"/nodes/{node}/qemu/{vmid}/firewall/rules/{pos}": "no rule at position 0", "/nodes/{node}/lxc/{vmid}/firewall/rules/{pos}": "no rule at position 0",
		"/nodes/{node}/firewall/rules/{pos}": "no rule at position 0",
	}
	query := map[string]string{
		"/nodes/{node}/rrddata": "timeframe=hour", "/nodes/{node}/qemu/{vmid}/rrddata": "timeframe=day", "/nodes/{node}/lxc/{vmid}/rrddata": "timeframe=week", "/nodes/{node}/storage/{storage}/rrddata": "timeframe=month",
		"/nodes/{node}/qemu/{vmid}/feature": "feature=snapshot", "/nodes/{node}/lxc/{vmid}/feature": "feature=clone",
		"/nodes/{node}/qemu/{vmid}/cloudinit/dump": "type=user", "/nodes/{node}/qemu/{vmid}/agent/file-read": "file=/etc/hostname", "/nodes/{node}/qemu/{vmid}/agent/exec-status": "pid=1",
		"/nodes/{node}/scan/lvmthin": "vg=vmdata", "/nodes/{node}/disks/smart": "disk=/dev/sda", "/nodes/{node}/vzdump/extractconfig": "volume=" + url.QueryEscape(string(firstBackup(w))),
	}
	var keys []string
	for k := range handlers {
		if strings.HasPrefix(k, "GET ") && !strings.HasSuffix(k, "websocket") {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	require.Greater(t, len(keys), 120)
	for _, key := range keys {
		template := strings.TrimPrefix(key, "GET ")
		ep, ok := s.Schema().Endpoint(apidoc.GET, template)
		require.True(t, ok, "%s is not in the schema", key)
		m, err := ep.Method()
		require.NoError(t, err)
		values := sample(w)
		values["node"] = "pve1"
		switch {
		case strings.Contains(template, "/qemu/{vmid}"):
			g := vm
			if strings.Contains(template, "{snapname}") {
				g = withSnapshot
				values["snapname"] = g.Snapshots[0].Name
			}
			values["node"], values["vmid"] = string(g.Node), g.ID.String()
		case strings.Contains(template, "/lxc/{vmid}"):
			g := ct
			if strings.Contains(template, "{snapname}") {
				g.Snapshots = []*Snapshot{{Name: "one", Config: g.Config.Clone()}}
				values["snapname"] = "one"
			}
			values["node"], values["vmid"] = string(g.Node), g.ID.String()
		case strings.Contains(template, "zfs"):
			values["node"], values["name"] = "pve2", "rpool"
		}
		switch {
		case strings.Contains(template, "/firewall/ipset/"):
			values["name"] = "admins"
			attachFirewall(vm)
			attachFirewall(ct)
		case strings.Contains(template, "/firewall/aliases/"):
			values["name"] = "office"
			attachFirewall(vm)
			attachFirewall(ct)
		case strings.Contains(template, "/replication"):
			w.Replications = []*Replication{{ID: vm.ID.String() + "-0", Guest: vm.ID, Source: vm.Node, Target: "pve2", LastTry: 1}}
			values["id"], values["node"] = vm.ID.String()+"-0", string(vm.Node)
		case strings.Contains(template, "/acme/account/"):
			values["name"] = "default"
		case strings.Contains(template, "/metrics/"):
			values["id"] = "influx"
		case strings.Contains(template, "/backup/"):
			values["id"] = w.Jobs[0].ID
		case strings.Contains(template, "/ha/resources"):
			values["sid"] = w.HA.Resources[0].SID
		case strings.Contains(template, "/mapping/"):
			kind := strings.Split(template, "/")[3]
			w.Mappings = append(w.Mappings, &Mapping{Kind: kind, ID: "m-" + kind})
			values["id"] = "m-" + kind
		case strings.Contains(template, "{volume}"):
			values["volume"] = "nfs-data:iso/debian-13.1.0-amd64-netinst.iso"
		case strings.Contains(template, "/access/tfa/") || strings.HasSuffix(template, "/tfa"):
			values["userid"] = "root@pam"
		}
		for _, k := range sectionKinds { // what can be set up is; the rest came with the installation
			if template == "/cluster/"+k.path+"/{"+k.param()+"}" {
				values[k.param()] = "entry1"
				w.Sections = []*Section{{Kind: k.path, ID: "entry1", Options: sampleOptions[k.path]}}
			}
		}
		path := template
		for name, v := range values {
			esc := url.PathEscape(v)
			if name == "cidr" {
				esc = v // a slash in a value is a separator to Proxmox, escaped or not
			}
			path = strings.ReplaceAll(path, "{"+name+"}", esc)
		}
		if q := query[template]; q != "" {
			path += "?" + q
		}
		status, reason, envelope := get(t, s, path)
		if want, ok := errorsExpected[template]; ok && want != "" {
			assert.Equal(t, want, reason, path)
			continue
		}
		if strings.Contains(template, "/ceph/") || template == "/cluster/ceph/status" || template == "/cluster/ceph/flags" {
			assert.Equal(t, "binary not installed: /usr/bin/ceph-mon", reason, path)
			continue
		}
		if template == "/access/tfa/{userid}" || template == "/access/domains/{realm}" {
			continue // who owns them tests them
		}
		if !assert.Equal(t, 200, status, "%s: %s", path, reason) {
			continue
		}
		for _, wrong := range shapeFaults(m.Returns, envelope["data"], "") {
			if !deviates(key, wrong) {
				t.Errorf("%s%s", key, wrong)
			}
		}
	}
}

// sampleOptions are what an entry can't be without.
var sampleOptions = map[string]Config{
	"acme/plugins":                    NewConfig("type", "dns", "api", "cf"),
	"jobs/realm-sync":                 NewConfig("schedule", "daily", "realm", "corp"),
	"qemu/custom-cpu-models":          NewConfig("reported-model", "kvm64"),
	"notifications/endpoints/gotify":  NewConfig("server", "https://push.example.org"),
	"notifications/endpoints/smtp":    NewConfig("server", "mail.example.org", "from-address", "pve@example.org"),
	"notifications/endpoints/webhook": NewConfig("url", "https://hook.example.org", "method", "post"),
	"sdn/controllers":                 NewConfig("type", "evpn"),
	"sdn/dns":                         NewConfig("type", "powerdns"),
	"sdn/ipams":                       NewConfig("type", "netbox"),
}

func pickGuests(t *testing.T, w *World) (vm, ct, withSnapshot *Guest) {
	for _, g := range w.Guests() {
		switch {
		case g.Template() || !g.Up() || g.Lock() != "" || g.State != Running:
		case g.Kind == apidoc.QEMU && g.Agent != nil && vm == nil && g.Agent.Files != nil:
			vm = g
		case g.Kind == apidoc.LXC && ct == nil:
			ct = g
		}
		if g.Kind == apidoc.QEMU && len(g.Snapshots) > 0 && withSnapshot == nil {
			withSnapshot = g
		}
	}
	require.NotNil(t, vm)
	require.NotNil(t, ct)
	require.NotNil(t, withSnapshot)
	return vm, ct, withSnapshot
}

func attachFirewall(g *Guest) {
	g.Firewall.IPSets = []*IPSet{{Name: "admins", Entries: []IPSetEntry{{CIDR: "10.10.0.0/24"}}}}
	g.Firewall.Aliases = []*Alias{{Name: "office", CIDR: "192.0.2.0/24"}}
}

func firstBackup(w *World) apidoc.VolID {
	for _, v := range w.Storage("nfs-data").Place("").Volumes() {
		if v.Content == "backup" {
			return v.ID
		}
	}
	return ""
}

func deviates(key, wrong string) bool {
	for _, d := range shapeDeviations {
		if strings.HasPrefix(key+wrong, d) {
			return true
		}
	}
	return false
}

// shapeFaults compares an answer with a declared result.
func shapeFaults(p *apidoc.Property, v any, at string) []string {
	if p == nil {
		return nil
	}
	wrong := func(format string, args ...any) []string {
		return []string{" " + at + ": " + fmt.Sprintf(format, args...)}
	}
	switch p.Type {
	case apidoc.Integer, apidoc.Number:
		n, ok := v.(json.Number)
		if !ok {
			return wrong("%v is %T, not a number", v, v)
		}
		if _, err := n.Int64(); err != nil && p.Type == apidoc.Integer {
			return wrong("%v is not an integer", v)
		}
	case apidoc.Boolean:
		if fmt.Sprint(v) != "0" && fmt.Sprint(v) != "1" {
			return wrong("%v (%T) is not 0 or 1", v, v)
		}
	case apidoc.String:
		if _, ok := v.(string); !ok {
			return wrong("%v is %T, not a text", v, v)
		}
		if len(p.Enum) > 0 {
			for _, e := range p.Enum {
				if e == v {
					return nil
				}
			}
			return wrong("%q is not one of %v", v, p.Enum)
		}
	case apidoc.Array:
		list, ok := v.([]any)
		if !ok {
			return wrong("%T is not a list", v)
		}
		var all []string
		for _, x := range list {
			all = append(all, shapeFaults(p.Items, x, at+"[]")...)
		}
		return distinct(all)
	case apidoc.Object:
		o, ok := v.(map[string]any)
		if !ok {
			return wrong("%T is not an object", v)
		}
		var all []string
		for name, q := range p.Properties {
			x, has := o[name]
			switch {
			case !has && !q.Optional:
				all = append(all, wrong("%s is missing", name)...)
			case has:
				all = append(all, shapeFaults(q, x, strings.TrimPrefix(at+"."+name, "."))...)
			}
		}
		return distinct(all)
	}
	return nil
}

func distinct(list []string) []string {
	sort.Strings(list)
	var out []string
	for i, s := range list {
		if i == 0 || s != list[i-1] {
			out = append(out, s)
		}
	}
	return out
}
