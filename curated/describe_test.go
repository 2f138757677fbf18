package curated

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pvesim"
)

// describedCalls are questions whose whole answer is kept.
var describedCalls = []struct {
	name  string
	args  args
	token string
}{
	{name: "post_qemu", args: args{"method": "POST /nodes/{node}/qemu"}},
	{name: "put_qemu_config", args: args{"method": "PUT /nodes/pve2/qemu/116/config"}, token: auditToken},
	{name: "post_lxc", args: args{"method": "POST /nodes/pve1/lxc"}},
	{name: "post_vzdump", args: args{"method": "POST /nodes/{node}/vzdump"}},
	{name: "get_tasks", args: args{"method": "GET /nodes/pve1/tasks"}, token: blindToken},
	{name: "delete_guest", args: args{"method": "DELETE /nodes/pve2/qemu/116"}, token: auditToken},
	{name: "post_token", args: args{"method": "POST /access/users/{userid}/token/{tokenid}"}},
	{name: "put_ha_rule", args: args{"method": "PUT /cluster/ha/rules/{rule}"}},
	{name: "put_password", args: args{"method": "PUT /access/password"}},
	{name: "put_wipedisk", args: args{"method": "PUT /nodes/pve1/disks/wipedisk"}},
	{name: "clone", args: args{"method": "POST /nodes/pve2/qemu/116/clone"}, token: poolToken},
	{name: "agent_file_read", args: args{"method": "GET /nodes/{node}/qemu/{vmid}/agent/file-read"}},
	{name: "gone", args: args{"method": "GET /nodes/pve1/scan/glusterfs"}},
	{name: "one_verb_of_a_path", args: args{"method": "/cluster/resources"}},
	{name: "verbs_of_a_path", args: args{"method": "/nodes/pve2/qemu/116/config"}},
	{name: "words", args: args{"method": "grow a disk"}},
	{name: "param_net", args: args{"method": "POST /nodes/{node}/qemu", "param": "net0"}},
	{name: "param_scsi", args: args{"method": "PUT /nodes/{node}/qemu/{vmid}/config", "param": "scsi[n]"}},
	{name: "param_memory", args: args{"method": "POST /nodes/{node}/qemu", "param": "memory"}},
	{name: "param_hostpci", args: args{"method": "POST /nodes/{node}/qemu", "param": "hostpci1"}},
	{name: "param_enum", args: args{"method": "POST /cluster/acme/plugins", "param": "api"}},
	{name: "param_variant", args: args{"method": "PUT /cluster/ha/rules/{rule}", "param": "affinity"}},
	{name: "param_secret", args: args{"method": "POST /access/users", "param": "password"}},
	{name: "post_qemu_json", args: args{"method": "POST /nodes/{node}/qemu", "format": "json"}},
	{name: "unknown_path", args: args{"method": "PUT /nodes/pve1/qemu/100/confg"}},
	{name: "unknown_verb", args: args{"method": "DELETE /cluster/resources"}},
	{name: "unknown_param", args: args{"method": "POST /nodes/{node}/qemu", "param": "memroy"}},
	{name: "old_param", args: args{"method": "POST /nodes/{node}/vzdump", "param": "maxfiles"}},
	{name: "out_of_bounds", args: args{"method": "POST /nodes/{node}/qemu", "param": "net32"}},
	{name: "no_words", args: args{"method": "qqq zzz"}},
}

func TestDescribeGolden(t *testing.T) {
	sim := startSim(t, 3, 60)
	rigs := map[string]*rig{}
	for _, d := range describedCalls {
		if rigs[d.token] == nil {
			rigs[d.token] = newRig(t, sim, setup{token: d.token})
		}
		t.Run(d.name, func(t *testing.T) {
			r := rigs[d.token].on(t)
			text, isError := r.call("pve_api_describe", d.args)
			n := tokens(t, text)
			require.LessOrEqual(t, n, describeTokens)
			golden(t, filepath.Join("describe", d.name+".txt"), fmt.Sprintf("%s %s\n%d tokens, error: %v\n\n%s\n", jsonOf(t, d.args), d.token, n, isError, text))
		})
	}
}

// describeText renders one answer without the protocol.
func describeText(t testing.TB, c *Call, in DescribeArgs) string {
	t.Helper()
	d, err := c.describe(t.Context(), in)
	require.NoError(t, err, "%+v", in)
	d.asked = in.MaxTokens > 0
	o := in.options()
	o.Scope = "s"
	if o.MaxTokens == 0 {
		o.MaxTokens = c.o.MaxTokens
	}
	text, err := d.render(o)
	require.NoError(t, err, "%+v", in)
	return text
}

func allMethods(t testing.TB) []*apidoc.Method {
	t.Helper()
	schema, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	var out []*apidoc.Method
	for _, e := range schema.Endpoints() {
		m, err := e.Method()
		require.NoError(t, err)
		out = append(out, m)
	}
	require.Len(t, out, 675)
	return out
}

// TestDescribeEveryMethod holds that each of the 675 methods is told within the
// budget, with all of its parameters named.
func TestDescribeEveryMethod(t *testing.T) {
	r := newRig(t, startSim(t, 1, 4), setup{})
	c := &Call{Server: r.server}
	for _, m := range allMethods(t) {
		op := string(m.Verb) + " " + m.Path
		text := describeText(t, c, DescribeArgs{Method: op})
		require.LessOrEqual(t, render.Estimate(text), describeTokens, op)
		require.True(t, strings.HasPrefix(text, op+": "), "%s has no summary: %s", op, text)
		for _, d := range declared(m.Parameters) {
			require.Contains(t, text, shownName(m, d.name), op)
		}
		require.NotContains(t, text, "left out", op)
		require.NotContains(t, text, "%!", op)
		require.NotContains(t, text, "(?^:", op)
		if !m.AllowToken || !m.Permission.Declared {
			require.Contains(t, text, "no token can call it; the way round: ", op)
		}
	}
	require.LessOrEqual(t, len(r.permissionsAsked(0)), 1, "what the token holds is asked once")
}

// TestDescribeEveryParam holds that each parameter of each method is told
// within the budget.
func TestDescribeEveryParam(t *testing.T) {
	r := newRig(t, startSim(t, 1, 4), setup{})
	c := &Call{Server: r.server}
	told := map[string]bool{} // the same parameter of another method says nothing new
	n := 0
	for _, m := range allMethods(t) {
		op := string(m.Verb) + " " + m.Path
		for _, d := range declared(m.Parameters) {
			key := d.name + form(d.schema, whole)
			if told[key] {
				continue
			}
			told[key] = true
			n++
			text := describeText(t, c, DescribeArgs{Method: op, Param: d.name})
			require.LessOrEqual(t, render.Estimate(text), describeTokens, "%s of %s", d.name, op)
			require.True(t, strings.HasPrefix(text, shownName(m, d.name)+" of "+op), text)
			require.Contains(t, text, "takes: ")
			for key, p := range apidoc.Grammar(d.schema) {
				if p.Alias == "" {
					require.Contains(t, text, key, "%s of %s", d.name, op)
				}
			}
		}
	}
	require.Greater(t, n, 600)
}

// TestDescribeWalk holds that a walk by cursor tells every parameter once, in
// the order of the first page.
func TestDescribeWalk(t *testing.T) {
	r := newRig(t, startSim(t, 1, 4), setup{})
	want := map[string]bool{}
	for _, m := range allMethods(t) {
		if m.Verb == apidoc.POST && m.Path == "/nodes/{node}/qemu" {
			for name := range paramsByName(m) {
				want[shownName(m, name)] = true
			}
		}
	}
	require.Len(t, want, 92)
	for _, form := range []string{"text", "json"} {
		got := map[string]bool{}
		a := args{"method": "POST /nodes/{node}/qemu", "format": form}
		for page := 0; ; page++ {
			require.Less(t, page, 20)
			text := r.ok("pve_api_describe", a)
			require.LessOrEqual(t, tokens(t, text), describeTokens)
			cursor := ""
			if form == "json" {
				top := object(t, text)
				params, ok := top["parameters"].(map[string]any)
				if !ok { // the only block of a page stands at the top
					params = top
				}
				for _, row := range params["rows"].([]any) {
					got[strings.TrimSuffix(row.(map[string]any)["name"].(string), "*")] = true
				}
				cursor, _ = params["cursor"].(string)
			} else {
				for _, line := range strings.Split(text, "\n") {
					if name, _, ok := strings.Cut(line, "\t"); ok && want[strings.TrimSuffix(name, "*")] && !strings.HasPrefix(line, "name\ttakes") {
						require.False(t, got[strings.TrimSuffix(name, "*")], "%s twice", name)
						got[strings.TrimSuffix(name, "*")] = true
					}
				}
				if _, after, ok := strings.Cut(text, "cursor="); ok {
					cursor = strings.Fields(after)[0]
				}
			}
			if cursor == "" {
				break
			}
			a["cursor"] = cursor
		}
		require.Equal(t, want, got, form)
	}
}

// TestDescribeBudget holds every budget that may be asked for, and that of the
// server.
func TestDescribeBudget(t *testing.T) {
	r := newRig(t, startSim(t, 1, 4), setup{options: func(o *Options) { o.MaxTokens = 600 }})
	text := r.ok("pve_api_describe", args{"method": "POST /storage"})
	require.LessOrEqual(t, render.Estimate(text), 600)
	for _, budget := range []int{100, 300, 1000, 2500, 8000} {
		for _, form := range []string{"text", "json"} {
			text := r.ok("pve_api_describe", args{"method": "PUT /nodes/{node}/qemu/{vmid}/config", "max_tokens": budget, "format": form})
			require.LessOrEqual(t, render.Estimate(text), budget, "%d %s", budget, form)
			if form == "json" {
				require.True(t, json.Valid([]byte(text)))
			}
		}
	}
	text = r.ok("pve_api_describe", args{"method": "PUT /nodes/{node}/qemu/{vmid}/config", "max_tokens": 8000})
	require.NotContains(t, text, "the others:", "with room enough all stand in detail")
}

// permissionsAsked lists the requests about privileges since the first so many.
func (r *rig) permissionsAsked(from int) []string {
	var out []string
	for _, q := range r.sim.Requests()[from:] {
		if strings.HasPrefix(q.Path, "/access/") {
			out = append(out, q.Target)
		}
	}
	return out
}

// TestDescribeRequests counts what a question costs.
func TestDescribeRequests(t *testing.T) {
	sim := startSim(t, 3, 60)
	r := newRig(t, sim, setup{token: auditToken})
	ask := func(method string) []string {
		before := len(sim.Requests())
		r.ok("pve_api_describe", args{"method": method})
		return r.permissionsAsked(before)
	}
	require.Empty(t, ask("PUT /nodes/{node}/qemu/{vmid}/config"))
	require.Empty(t, ask("GET /version"))
	require.Len(t, ask("PUT /nodes/pve2/qemu/116/config"), 1)
	require.Empty(t, ask("DELETE /nodes/pve2/qemu/116"), "what the token holds is remembered")

}

// TestDescribeBlind holds that what the token holds is not guessed.
func TestDescribeBlind(t *testing.T) {
	r := newDenied(t, auditToken, nil)
	_, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Path: "/access/permissions", Status: 500, Reason: "broken"})
	require.NoError(t, err)
	text := describeText(t, &Call{Server: r.server}, DescribeArgs{Method: "DELETE /nodes/pve2/qemu/116"})
	require.Contains(t, text, "what the token holds could not be read: broken")
	require.NotContains(t, text, "lacks")
}

// TestSplitOp holds what is taken for a method, and what for other words.
func TestSplitOp(t *testing.T) {
	for in, want := range map[string]string{
		"GET /version": "GET /version", "get /version": "GET /version", " POST:  /pools ": "POST /pools",
		"/version": " /version", "PUT nodes/pve1/config": "PUT /nodes/pve1/config",
		"GET /api2/json/version": "GET /version", "/api2/json/nodes": " /nodes", "GET /nodes?x=1": "GET /nodes",
	} {
		verb, path, ok := splitOp(in)
		require.True(t, ok, in)
		require.Equal(t, want, string(verb)+" "+path)
	}
	for _, in := range []string{"", "grow a disk", "GET", "delete a vm", "/", "post /a b"} {
		_, _, ok := splitOp(in)
		require.False(t, ok, in)
	}
}

func FuzzDescribe(f *testing.F) {
	for _, s := range []string{"GET /version", "PUT /nodes/pve1/qemu/100/config", "POST /..//%2F", "\x00", "GET /nodes/\xff", "/nodes/{node", "grow a disk"} {
		f.Add(s, "net0")
	}
	f.Add("POST /nodes/{node}/qemu", "net99999999999999999999")
	f.Add("POST /nodes/{node}/qemu", "[n]")
	schema, err := apidoc.Snapshot(apidoc.Newest)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, param string) {
		verb, path, ok := splitOp(method)
		if !ok {
			return
		}
		match, _, err := lookupAnywhere(schema, verb, path)
		if err != nil {
			return
		}
		m, err := match.Method()
		require.NoError(t, err)
		text := &methodText{m: m, history: history(m.Verb, m.Path)}
		text.always, text.demands = hiddenDemands(m, apidoc.Newest, match.Values)
		doc, err := text.param(param)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		out, err := doc.Render(render.Options{MaxTokens: describeTokens})
		require.NoError(t, err)
		require.LessOrEqual(t, render.Estimate(out), describeTokens)
	})
}
