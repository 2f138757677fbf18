package curated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

var healthTool = Tool[Shape, doc]{
	Name: "pve_health", Toolset: "core", Class: apidoc.Read,
	Text: "What is wrong in the cluster, worst first.",
	Run: func(ctx context.Context, c *Call, _ Shape) (doc, error) {
		return c.health(ctx)
	},
}

// finding is one thing that is wrong.
type finding struct {
	weight int // greater is worse
	text   string
}

// fullStorage is the use from which a storage is a finding.
const fullStorage = 0.85

// health asks side by side for what can be wrong, and tells the worst first.
// What could not be asked is said: silence is never 'all well'.
func (c *Call) health(ctx context.Context) (doc, error) {
	var (
		mu       sync.Mutex
		wg       sync.WaitGroup
		findings []finding
		missing  []string
		reasons  = map[string][]string{} // what could not be asked, by why
		failures int
		firstErr error
		totals   string
	)
	ask := func(what string, check func() ([]finding, error)) {
		wg.Go(func() {
			found, err := check()
			mu.Lock()
			defer mu.Unlock()
			findings = append(findings, found...)
			if err != nil {
				failures++
				if firstErr == nil {
					firstErr = err
				}
				why := c.explain(ctx, c.Tool, err)
				if rest := (*pverest.Error)(nil); errors.As(err, &rest) {
					// What was asked is clear; without it, what one grant cures is said once.
					why = strings.TrimPrefix(why, rest.Op+" is ")
				}
				reasons[why] = append(reasons[why], what)
			}
		})
	}
	ask("quorum", func() ([]finding, error) { return c.quorumFindings(ctx) })
	ask("guests and storages", func() ([]finding, error) {
		all, err := c.resources(ctx, "")
		if err != nil {
			return nil, err
		}
		found, sum := resourceFindings(all)
		mu.Lock()
		totals = sum
		mu.Unlock()
		return found, c.unseen(all)
	})
	ask("tasks", func() ([]finding, error) { return c.taskFindings(ctx) })
	ask("HA", func() ([]finding, error) { return c.haFindings(ctx) })
	ask("backup coverage", func() ([]finding, error) { return c.coverageFindings(ctx) })
	wg.Wait()
	if failures == 5 && totals == "" {
		return doc{}, firstErr
	}
	for why, what := range reasons {
		if strings.Contains(why, "lacks Sys.Audit on /") && failures < 5 {
			what = append(what, "tasks of other users") // Proxmox leaves them out without a word
		}
		sort.Strings(what)
		missing = append(missing, strings.Join(what, ", ")+": "+why)
	}
	d := &render.Doc{}
	sort.SliceStable(findings, func(i, j int) bool {
		if findings[i].weight != findings[j].weight {
			return findings[i].weight > findings[j].weight
		}
		return findings[i].text < findings[j].text
	})
	switch {
	case len(findings) > 0:
		d.Summaryf("%s, worst first. %s", render.FormatCount(len(findings), "finding"), totals)
	case len(missing) > 0:
		d.Summaryf("Nothing wrong in what could be checked. %s", totals)
	default:
		d.Summaryf("All well. %s", totals)
	}
	if len(findings) > 0 {
		lines := make([]string, len(findings))
		for i, f := range findings {
			lines[i] = "- " + f.text
		}
		d.Add(&render.Lines{ID: "findings", Lines: lines})
	}
	sort.Strings(missing)
	for _, m := range missing {
		d.Warnf("Not checked: %s", m)
	}
	return doc{Doc: d}, nil
}

// unseen is an error when a list that every cluster fills is empty: what the
// token may not see is not well, but unknown.
func (c *Call) unseen(all []resource) error {
	guests, storages := 0, 0
	for i := range all {
		switch {
		case isGuest(&all[i]):
			guests++
		case all[i].Type.V == "storage":
			storages++
		}
	}
	switch {
	case guests+storages == 0:
		return fmt.Errorf("none is visible, so the token probably lacks VM.Audit and Datastore.Audit. %s", c.grantLine("/", []string{"VM.Audit", "Datastore.Audit"}))
	case storages == 0:
		return fmt.Errorf("no storage is visible, so the token probably lacks Datastore.Audit. %s", c.grantLine("/storage", []string{"Datastore.Audit"}))
	}
	return nil
}

func (c *Call) quorumFindings(ctx context.Context) ([]finding, error) {
	q, err := c.quorum(ctx)
	if err != nil {
		return nil, err
	}
	var out []finding
	if !q.quorate {
		out = append(out, finding{100, "NO QUORUM: the configuration is read-only and nothing can be started, created or migrated"})
	}
	if off := q.offline(); len(off) > 0 {
		out = append(out, finding{90, fmt.Sprintf("%s offline: %s", render.FormatCount(len(off), "node"), some(off, 8))})
	}
	return out, nil
}

// resourceFindings reads one list of all resources.
func resourceFindings(all []resource) ([]finding, string) {
	var out []finding
	var unknown, locked, haError []string
	var stores []resource
	nodes, guests, running := 0, 0, 0
	for i := range all {
		r := &all[i]
		switch {
		case r.Type.V == "node":
			nodes++
			if r.Hastate.V == "maintenance" {
				out = append(out, finding{10, "node " + r.Node.V + " is in maintenance"})
			}
			if r.Maxmem.V > 0 && r.Mem.Set && float64(r.Mem.V)/float64(r.Maxmem.V) > 0.95 {
				out = append(out, finding{45, fmt.Sprintf("node %s: memory %s used", r.Node.V, render.FormatPct(float64(r.Mem.V)/float64(r.Maxmem.V)))})
			}
			if r.Maxdisk.V > 0 && r.Disk.Set && float64(r.Disk.V)/float64(r.Maxdisk.V) > 0.9 {
				out = append(out, finding{50, fmt.Sprintf("node %s: root disk %s full", r.Node.V, render.FormatPct(float64(r.Disk.V)/float64(r.Maxdisk.V)))})
			}
		case isGuest(r):
			guests++
			id := fmt.Sprintf("%d", r.Vmid.V)
			switch r.Status.V {
			case "running":
				running++
			case "unknown":
				unknown = append(unknown, id)
			case "io-error", "internal-error":
				out = append(out, finding{80, fmt.Sprintf("guest %s on %s: %s", id, r.Node.V, r.Status.V)})
			}
			if r.Lock.V != "" && r.Lock.V != "backup" {
				locked = append(locked, id+" ("+r.Lock.V+")")
			}
			if r.Hastate.V == "error" {
				haError = append(haError, id)
			}
		case r.Type.V == "storage":
			stores = append(stores, *r)
		}
	}
	for _, s := range mergeStorages(stores) {
		where := s.name
		if !s.shared {
			where += " on " + s.nodes[0]
		}
		switch {
		case s.status != "available":
			out = append(out, finding{60, "storage " + where + ": " + s.status})
		case s.known && s.total > 0 && float64(s.used)/float64(s.total) > fullStorage:
			use := float64(s.used) / float64(s.total)
			out = append(out, finding{40 + int(use*20), fmt.Sprintf("storage %s: %s full, %s free", where, render.FormatPct(use), render.FormatBytes(s.total-s.used))})
		}
	}
	if len(haError) > 0 {
		out = append(out, finding{75, "HA in state error: " + some(haError, 8)})
	}
	if len(unknown) > 0 {
		out = append(out, finding{55, fmt.Sprintf("%s with unknown state (node offline or not reporting): %s", render.FormatCount(len(unknown), "guest"), some(unknown, 8))})
	}
	if len(locked) > 0 {
		out = append(out, finding{15, fmt.Sprintf("%s locked: %s", render.FormatCount(len(locked), "guest"), some(locked, 6))})
	}
	return out, fmt.Sprintf("%s, %s (%d running), %s.", render.FormatCount(nodes, "node"), render.FormatCount(guests, "guest"), running, render.FormatCount(len(mergeStorages(stores)), "storage"))
}

// consoles are the tasks that are somebody looking at a screen.
var consoles = []string{"vncproxy", "vncshell", "termproxy", "spiceproxy", "spiceshell"}

// taskFindings looks at failed tasks of the last day in the cluster's own list,
// which holds the newest 25 or so of each node.
func (c *Call) taskFindings(ctx context.Context) ([]finding, error) {
	tasks, err := c.clusterTasks(ctx)
	if err != nil {
		return nil, err
	}
	dayAgo := c.now().Add(-24 * time.Hour).Unix()
	var backups, others []string
	sort.Slice(tasks, func(i, j int) bool { return tasks[i].start > tasks[j].start })
	for i := range tasks {
		t := &tasks[i]
		// A console that its user closed ends as an error and is none.
		if t.start < dayAgo || t.outcome() != "error" || slices.Contains(consoles, t.kind) {
			continue
		}
		line := strings.TrimSpace(t.kind+" "+t.id) + " on " + t.node + " (" + clip(render.Line(t.status)) + ")"
		if t.kind == "vzdump" {
			backups = append(backups, line)
		} else {
			others = append(others, line)
		}
	}
	var out []finding
	if len(backups) > 0 {
		out = append(out, finding{65, fmt.Sprintf("%s failed in the last 24 h: %s", render.FormatCount(len(backups), "backup"), some(backups, 3))})
	}
	if len(others) > 0 {
		out = append(out, finding{30, fmt.Sprintf("%s failed in the last 24 h: %s", render.FormatCount(len(others), "task"), some(others, 3))})
	}
	return out, nil
}

func (c *Call) haFindings(ctx context.Context) ([]finding, error) {
	list, err := c.api.GetClusterHaStatusCurrent(ctx)
	if err != nil {
		return nil, err
	}
	var out []finding
	for i := range list {
		e := &list[i]
		text := render.Line(e.Status.V)
		switch {
		case e.Type.V == "lrm" && (strings.Contains(text, "old timestamp") || strings.Contains(text, "time drift")):
			out = append(out, finding{50, "HA resource manager: " + text})
		case e.Type.V == "service" && (e.State.V == "error" || e.State.V == "fence" || e.State.V == "recovery"):
			out = append(out, finding{75, fmt.Sprintf("HA service %s is in state %s on %s", e.Sid.V, e.State.V, e.Node.V)})
		}
	}
	return out, nil
}

func (c *Call) coverageFindings(ctx context.Context) ([]finding, error) {
	list, err := c.api.GetClusterBackupInfoNotBackedUp(ctx)
	if err != nil {
		if pverest.IsKind(err, pverest.KindNotImplemented) {
			return nil, nil // before 7.0
		}
		return nil, err
	}
	if len(list) == 0 {
		return nil, nil
	}
	var ids []string
	for i := range list {
		ids = append(ids, fmt.Sprintf("%d", list[i].Vmid.V))
	}
	sort.Slice(ids, func(i, j int) bool { return naturalLess(ids[i], ids[j]) })
	return []finding{{20, fmt.Sprintf("%s in no backup job: %s", render.FormatCount(len(ids), "guest"), some(ids, 10))}}, nil
}

// some joins the first few and counts the rest.
func some(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}
