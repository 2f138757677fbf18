package curated

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/internal/pvesim"
)

// rowsOf gives the rows of a JSON answer; it must have a list.
func rowsOf(t testing.TB, text string) []map[string]any {
	t.Helper()
	list, ok := object(t, text)["rows"].([]any)
	require.True(t, ok, text)
	out := make([]map[string]any, len(list))
	for i, row := range list {
		out[i], ok = row.(map[string]any)
		require.True(t, ok, text)
	}
	return out
}

// guestsWhere counts the world's guests of a kind, as a second opinion.
func guestsWhere(sim *pvesim.Server, kind apidoc.GuestKind, keep func(*pvesim.Guest) bool) (ids []string) {
	sim.World().View(func(w *pvesim.World) {
		for _, g := range w.Guests() {
			if g.Kind == kind && keep(g) {
				ids = append(ids, g.ID.String())
			}
		}
	})
	return ids
}

// TestGuestFilters holds each filter against the world itself.
func TestGuestFilters(t *testing.T) {
	sim := sharedSim(t, 3, 60)
	r := newRig(t, sim, setup{})
	tags := func(g *pvesim.Guest) []string { return strings.Split(g.Config.Get("tags"), ";") }
	for _, c := range []struct {
		name string
		args args
		keep func(*pvesim.Guest) bool
	}{
		{"none", args{}, func(*pvesim.Guest) bool { return true }},
		{"node", args{"node": "pve3"}, func(g *pvesim.Guest) bool { return g.Node == "pve3" }},
		{"two nodes", args{"node": "pve1, pve3"}, func(g *pvesim.Guest) bool { return g.Node != "pve2" }},
		{"nodes as a list", args{"node": []string{"pve1", "pve3"}}, func(g *pvesim.Guest) bool { return g.Node != "pve2" }},
		{"status", args{"status": "running"}, func(g *pvesim.Guest) bool { return g.State == pvesim.Running && !g.Template() }},
		{"status in capitals", args{"status": "Stopped"}, func(g *pvesim.Guest) bool { return g.State != pvesim.Running }},
		{"template", args{"status": "template"}, (*pvesim.Guest).Template},
		{"part of a name", args{"name": "WEB"}, func(g *pvesim.Guest) bool { return strings.Contains(g.Name(), "web") }},
		{"glob", args{"name": "web*,*01"}, func(g *pvesim.Guest) bool {
			return strings.HasPrefix(g.Name(), "web") || strings.HasSuffix(g.Name(), "01")
		}},
		{"tag", args{"tag": "prod"}, func(g *pvesim.Guest) bool { return slices.Contains(tags(g), "prod") }},
		{"either tag", args{"tag": "dev,test"}, func(g *pvesim.Guest) bool {
			return slices.Contains(tags(g), "dev") || slices.Contains(tags(g), "test")
		}},
		{"pool", args{"pool": "production"}, func(g *pvesim.Guest) bool { return g.Pool == "production" }},
		{"pool above", args{"pool": "customers"}, func(g *pvesim.Guest) bool { return strings.HasPrefix(string(g.Pool), "customers/") }},
		{"vmids", args{"vmids": "100-130, 9000-9999,151"}, func(g *pvesim.Guest) bool {
			return g.ID <= 130 || g.ID >= 9000 || g.ID == 151
		}},
		{"a number for vmids", args{"vmids": 116}, func(g *pvesim.Guest) bool { return g.ID == 116 }},
		{"all at once", args{"node": "pve2", "status": "running", "tag": "prod", "pool": "production"}, func(g *pvesim.Guest) bool {
			return g.Node == "pve2" && g.State == pvesim.Running && slices.Contains(tags(g), "prod") && g.Pool == "production"
		}},
	} {
		for tool, kind := range map[string]apidoc.GuestKind{"pve_vms": apidoc.QEMU, "pve_containers": apidoc.LXC} {
			t.Run(tool+"/"+c.name, func(t *testing.T) {
				r := r.on(t)
				a := args{"format": "json", "fields": "vmid", "max_tokens": 5000}
				for k, v := range c.args {
					a[k] = v
				}
				want := guestsWhere(sim, kind, c.keep)
				text := r.ok(tool, a)
				if len(want) == 0 {
					assert.Contains(t, text, "No "+kind.Noun()+" matches")
					return
				}
				var got []string
				for _, row := range rowsOf(t, text) {
					got = append(got, fmt.Sprint(row["vmid"]))
				}
				assert.Equal(t, want, got)
			})
		}
	}
}

// TestFiltersRefused: a filter that can't be meant is said, with what can.
func TestFiltersRefused(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	r.fails("pve_vms", args{"status": "runing"}, "status", "runing", "running")
	r.fails("pve_vms", args{"name": "[a"}, "name", "pattern")
	for _, bad := range []string{"1-", "a", "200-100", "1-2-3"} {
		r.fails("pve_vms", args{"vmids": bad}, "vmids", "100-199")
	}
	r.fails("pve_vms", args{"node": "pve4"}, `no node "pve4"`, "pve1", "pve2", "pve3")
	r.fails("pve_containers", args{"node": "PVE1"}, `no node "PVE1"`, "pve1", "case-sensitive")
	r.fails("pve_cluster_resources", args{"node": "pv1"}, `no node "pv1"`, "pve1")
	r.fails("pve_vms", args{"node": "pve1/../pve2"}, "node")
	r.fails("pve_cluster_resources", args{"type": "vms"}, "type", "vm", "storage", "node", "sdn")
	r.fails("pve_nodes", args{"status": "up"}, "status", "online")
	r.fails("pve_storage", args{"node": "pve9"}, `no node "pve9"`, "pve1")
	r.fails("pve_storage", args{"status": "full"}, "status", "available")
	r.fails("pve_storage_content", args{"storage": "local", "node": "pve1", "content": "isos"}, "content", "iso")
	r.fails("pve_tasks", args{"since": "yesterday"}, "since", "2h", "2026-01-31")
	r.fails("pve_tasks", args{"status": "failed"}, "status", "error")
	r.fails("pve_tasks", args{"vmid": 5}, "vmid")
	r.fails("pve_tasks", args{"node": "pve7", "type": "vzdump"}, `no node "pve7"`, "pve1")
	r.fails("pve_vms", args{"sort": "colour"}, "colour")
	r.fails("pve_vms", args{"fields": "vmid,memory"}, "memory", "mem")
	r.fails("pve_vms", args{"format": "yaml"}, "format", "text", "json")
}

// TestSort holds the order of rows.
func TestSort(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	column := func(tool, sort, field string) (out []string) {
		for _, row := range rowsOf(t, r.ok(tool, args{"format": "json", "fields": "vmid," + field, "sort": sort, "max_tokens": 5000})) {
			out = append(out, fmt.Sprint(row[field]))
		}
		return out
	}
	names := column("pve_vms", "name", "name")
	assert.True(t, slices.IsSorted(names), names)
	back := column("pve_vms", "-name", "name")
	slices.Reverse(back)
	assert.Equal(t, names, back)
	ids := column("pve_vms", "", "vmid")
	assert.Len(t, ids, 35)
	assert.True(t, slices.IsSortedFunc(ids, func(a, b string) int { return number64(a) - number64(b) }), ids)
	mem := column("pve_vms", "maxmem", "maxmem")
	assert.True(t, slices.IsSortedFunc(mem, func(a, b string) int { return number64(b) - number64(a) }), "the largest first: %v", mem)
	mem = column("pve_vms", "maxmem:asc", "maxmem")
	assert.True(t, slices.IsSortedFunc(mem, func(a, b string) int { return number64(a) - number64(b) }), "the least first: %v", mem)
}

func number64(s string) int { return int(number(s)) }

var cursorInText = regexp.MustCompile(`cursor=(\S+)`)

// walk pages through a list and gives the keys of all rows in their order. step
// is called between the pages.
func walk(r *rig, tool string, a args, key string, step func(page int)) (keys []string) {
	r.t.Helper()
	a["format"], a["fields"] = "json", key
	for page := range 500 {
		text := r.ok(tool, a)
		for _, row := range rowsOf(r.t, text) {
			keys = append(keys, fmt.Sprint(row[key]))
		}
		next, more := object(r.t, text)["cursor"].(string)
		if !more {
			return keys
		}
		a["cursor"] = next
		if step != nil {
			step(page)
		}
	}
	r.t.Fatal("the pages never end")
	return nil
}

// TestCursorWalk: page by page every row comes once, whatever the page's size.
func TestCursorWalk(t *testing.T) {
	sim := sharedSim(t, 3, 60)
	r := newRig(t, sim, setup{})
	vms := guestsWhere(sim, apidoc.QEMU, func(*pvesim.Guest) bool { return true })
	for _, a := range []args{{"limit": 1}, {"limit": 7}, {"max_tokens": 100}, {"limit": 10, "sort": "-vmid"}} {
		keys := walk(r, "pve_vms", a, "vmid", nil)
		slices.SortFunc(keys, func(a, b string) int { return number64(a) - number64(b) })
		assert.Equal(t, vms, keys)
	}
	volumes := walk(r, "pve_storage_content", args{"storage": "pbs", "limit": 9}, "volid", nil)
	assert.Len(t, volumes, 162)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(volumes))), 162, "a volume came twice")
	tasks := walk(r, "pve_tasks", args{"limit": 20}, "upid", nil)
	assert.Len(t, tasks, 75)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(tasks))), 75, "a task came twice")
	nodes := walk(r, "pve_nodes", args{"limit": 1}, "node", nil)
	assert.Equal(t, []string{"pve1", "pve2", "pve3"}, nodes)
	for _, text := range []string{r.ok("pve_vms", args{"limit": 2})} {
		cursor := cursorInText.FindStringSubmatch(text)
		require.NotNil(t, cursor, text)
		r.ok("pve_vms", args{"limit": 2, "cursor": cursor[1]})
	}
	large := replaying(t, sharedSim(t, 32, 5000))
	many := walk(large, "pve_vms", args{"status": "running", "limit": 500, "max_tokens": 20000}, "vmid", nil)
	want := guestsWhere(large.sim, apidoc.QEMU, func(g *pvesim.Guest) bool { return g.State == pvesim.Running && g.Node != "pve32" })
	slices.SortFunc(many, func(a, b string) int { return number64(a) - number64(b) })
	assert.Equal(t, want, many)
}

// TestCursorWalkWhileGuestsComeAndGo: what stays comes once; what comes or goes
// in between disturbs nothing.
func TestCursorWalkWhileGuestsComeAndGo(t *testing.T) {
	sim := startSim(t, 3, 60)
	r := newRig(t, sim, setup{})
	before := guestsWhere(sim, apidoc.QEMU, func(*pvesim.Guest) bool { return true })
	gone := map[string]bool{}
	keys := walk(r, "pve_vms", args{"limit": 4}, "vmid", func(page int) {
		sim.World().Change(func(w *pvesim.World) {
			all := w.GuestsOn("pve2", apidoc.QEMU)
			leaver := all[(page*7)%len(all)]
			gone[leaver.ID.String()] = true
			w.RemoveGuest(leaver.ID)
			w.AddGuest(&pvesim.Guest{ID: apidoc.VMID(101 + page*997%5000), Kind: apidoc.QEMU, Node: "pve1", State: pvesim.Stopped, Config: pvesim.NewConfig("name", "newcomer", "memory", "512")})
		})
	})
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(keys))), len(keys), "a guest came twice: %v", keys)
	for _, id := range before {
		if !gone[id] {
			assert.Contains(t, keys, id, "it was there all the time")
		}
	}
}

// TestCursorsOfOthers: a cursor is good for the question that made it, and says
// so otherwise.
func TestCursorsOfOthers(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	text := r.ok("pve_vms", args{"limit": 2, "status": "running"})
	cursor := cursorInText.FindStringSubmatch(text)[1]
	r.ok("pve_vms", args{"limit": 5, "status": "running", "cursor": cursor, "fields": "vmid", "format": "json"})
	for _, a := range []args{
		{"cursor": cursor},
		{"status": "stopped", "cursor": cursor},
		{"status": "running", "cursor": cursor, "sort": "name"},
		{"status": "running", "cursor": cursor[:len(cursor)-2]},
		{"status": "running", "cursor": "AAAA"},
		{"status": "running", "cursor": "Ümläut ☃"},
		{"status": "running", "cursor": strings.Repeat("A", 100000)},
	} {
		r.fails("pve_vms", a, "cursor")
	}
	r.fails("pve_containers", args{"status": "running", "cursor": cursor}, "cursor")
}

// TestUnreportedGuests: what an offline node holds is listed as unknown, and
// said so.
func TestUnreportedGuests(t *testing.T) {
	r := replaying(t, sharedSim(t, 32, 5000))
	for _, text := range []string{r.ok("pve_vms", nil), r.ok("pve_vms", args{"status": "unknown"})} {
		assert.Regexp(t, `\d+ VMs with status unknown: the node is offline`, text)
	}
	text := r.ok("pve_health", nil)
	assert.Contains(t, text, "1 node offline: pve32")
	assert.Contains(t, text, "unknown state")
	assert.Contains(t, r.ok("pve_nodes", args{"status": "offline"}), "pve32")
	assert.Contains(t, r.ok("pve_cluster_status", nil), "Offline: pve32")
}

// TestFields: only what is asked for is shown, in that order, also columns that
// are not shown of themselves.
func TestFields(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	text := r.ok("pve_vms", args{"fields": "maxdisk,vmid", "limit": 1})
	lines := strings.Split(text, "\n")
	assert.Contains(t, lines, "maxdisk vmid", text)
	rows := rowsOf(t, r.ok("pve_vms", args{"fields": []string{"vmid", "netin", "cores"}, "format": "json", "limit": 1}))
	require.Len(t, rows, 1)
	assert.Len(t, rows[0], 3)
	assert.Contains(t, rows[0], "netin")
}
