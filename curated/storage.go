package curated

import (
	"context"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// StorageArgs are the arguments of pve_storage.
type StorageArgs struct {
	Node   string `json:"node,omitempty"`
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"`
	Status string `json:"status,omitempty" jsonschema:"enum=available,enum=unknown,enum=inactive,enum=disabled"`
	Page
}

func (a StorageArgs) options() render.Options { return a.Page.options() }

var storageTool = Tool[StorageArgs, doc]{
	Name: "pve_storage", Toolset: "core", Class: apidoc.Read,
	Text: "List storages and their use; with node also inactive and disabled ones.",
	Run: func(ctx context.Context, c *Call, in StorageArgs) (doc, error) {
		return c.listStorage(ctx, in)
	},
}

// store is one storage, on one node or shared by several.
type store struct {
	name, kind, status, content string
	nodes                       []string
	shared                      bool
	used, total                 int64
	known                       bool // whether used and total are
}

// mergeStorages makes one of what Proxmox repeats: a shared storage appears
// once per node, each time with the same size.
func mergeStorages(rows []resource) []store {
	var out []store
	shared := map[string]int{}
	for i := range rows {
		r := &rows[i]
		s := store{name: r.Storage.V, kind: r.Plugintype.V, status: r.Status.V, content: r.Content.V, nodes: []string{r.Node.V}, shared: r.Shared.V, used: r.Disk.V, total: r.Maxdisk.V, known: r.Maxdisk.Set}
		if s.shared {
			if at, ok := shared[s.name]; ok {
				have := &out[at]
				have.nodes = append(have.nodes, r.Node.V)
				if !have.known && s.known {
					have.used, have.total, have.known = s.used, s.total, true
				}
				if have.status != s.status {
					// Available somewhere, silent elsewhere: the nodes differ.
					have.status = "partly available"
				}
				continue
			}
			shared[s.name] = len(out)
		}
		out = append(out, s)
	}
	for i := range out {
		sort.Slice(out[i].nodes, func(a, b int) bool { return naturalLess(out[i].nodes[a], out[i].nodes[b]) })
	}
	return out
}

func (c *Call) listStorage(ctx context.Context, in StorageArgs) (doc, error) {
	var rows []store
	if in.Node != "" {
		node, err := apidoc.ParseNode(in.Node)
		if err != nil {
			return doc{}, badArg("node", "%v", err)
		}
		list, err := c.api.GetNodesStorage(ctx, node, nil)
		if err != nil {
			if nerr := c.knownNodes(ctx, []string{in.Node}); nerr != nil {
				return doc{}, nerr
			}
			return doc{}, err
		}
		for i := range list {
			s := &list[i]
			status := "available"
			switch {
			case s.Enabled.Set && !s.Enabled.V:
				status = "disabled"
			case s.Active.Set && !s.Active.V:
				status = "inactive"
			}
			rows = append(rows, store{name: s.Storage.V, kind: s.Type.V, status: status, content: s.Content.V, nodes: []string{in.Node}, shared: s.Shared.V, used: s.Used.V, total: s.Total.V, known: s.Total.V > 0})
		}
	} else {
		all, err := c.resources(ctx, "storage")
		if err != nil {
			return doc{}, err
		}
		rows = mergeStorages(all)
	}
	names, kinds := lowered(in.Name), lowered(in.Type)
	kept := rows[:0]
	for _, s := range rows {
		if matchesAny(names, strings.ToLower(s.name), nameMatches) && matchesAny(kinds, s.kind, func(p, k string) bool { return p == k }) &&
			(in.Status == "" || s.status == in.Status || in.Status == "unknown" && s.status == "partly available") {
			kept = append(kept, s)
		}
	}
	d := &render.Doc{}
	if len(rows) == 0 {
		d.Add(storageTable(kept))
		d.Summaryf("No storage is visible.")
		d.Hintf("If there should be some, the token probably lacks Datastore.Audit. %s", c.grantLine("/storage", []string{"Datastore.Audit"}))
		return doc{Doc: d}, nil
	}
	var used, total int64
	for _, s := range kept {
		used += s.used
		total += s.total
	}
	if len(kept) < len(rows) {
		of := " of " + render.FormatCount(len(rows), "storage")
		d.Summaryf("%d%s: %s of %s used", len(kept), of, render.FormatBytes(used), render.FormatBytes(total))
	} else {
		d.Summaryf("%s: %s of %s used (shared ones counted once)", render.FormatCount(len(kept), "storage"), render.FormatBytes(used), render.FormatBytes(total))
	}
	if in.Node == "" {
		d.Hintf("Disabled storages are not in this list; node=NAME asks a node itself.")
	}
	d.Add(storageTable(kept))
	return doc{Doc: d}, nil
}

func matchesAny(patterns []string, s string, match func(pattern, s string) bool) bool {
	if len(patterns) == 0 {
		return true
	}
	for _, p := range patterns {
		if match(p, s) {
			return true
		}
	}
	return false
}

func storageTable(rows []store) *render.Table[store] {
	return &render.Table[store]{
		ID: "storages", Heading: "Storages", Rows: rows, Empty: "no storage matches",
		Key: func(s *store) string {
			if s.shared {
				return render.Key(s.name, "")
			}
			return render.Key(s.name, s.nodes[0])
		},
		Columns: []render.Column[store]{
			{Name: "storage", Stable: true, Cell: func(s *store) render.Cell { return render.Str(s.name) }},
			{Name: "node", Cell: func(s *store) render.Cell {
				if s.shared && len(s.nodes) > 1 {
					return render.Str("shared")
				}
				return render.Str(s.nodes[0])
			}},
			{Name: "type", Cell: func(s *store) render.Cell { return strCell(true, s.kind) }},
			{Name: "status", Cell: func(s *store) render.Cell { return strCell(true, s.status) }},
			{Name: "used", Right: true, Cell: func(s *store) render.Cell { return bytesCell(s.known, s.used) }},
			{Name: "total", Right: true, Cell: func(s *store) render.Cell { return bytesCell(s.known, s.total) }},
			{Name: "free", Right: true, Cell: func(s *store) render.Cell { return bytesCell(s.known, s.total-s.used) }},
			{Name: "use", Right: true, Cell: func(s *store) render.Cell {
				if !s.known {
					return render.None()
				}
				return render.Ratio(s.used, s.total)
			}},
			{Name: "content", Cell: func(s *store) render.Cell { return strCell(true, s.content) }},
			{Name: "nodes", Extra: true, Cell: func(s *store) render.Cell { return render.List(s.nodes) }},
		},
		Important: func(s *store) int {
			switch {
			case s.status != "available":
				return 2
			case s.known && s.total > 0 && float64(s.used)/float64(s.total) > 0.85:
				return 1
			}
			return 0
		},
		GroupBy: []string{"status", "type"},
		Narrow:  []string{"node", "name", "type", "status"},
	}
}

// ContentArgs are the arguments of pve_storage_content.
type ContentArgs struct {
	Storage string `json:"storage" jsonschema:"required"`
	Node    string `json:"node,omitempty"`
	Content string `json:"content,omitempty" jsonschema:"enum=images,enum=backup,enum=iso,enum=vztmpl,enum=rootdir,enum=snippets,enum=import"`
	VMID    int    `json:"vmid,omitempty"`
	Name    string `json:"name,omitempty"`
	Page
}

func (a ContentArgs) options() render.Options { return a.Page.options() }

var storageContentTool = Tool[ContentArgs, doc]{
	Name: "pve_storage_content", Toolset: "core", Class: apidoc.Read,
	Text: "List what a storage holds: disks, backups, ISOs, templates.",
	Run: func(ctx context.Context, c *Call, in ContentArgs) (doc, error) {
		return c.storageContent(ctx, in)
	},
}

type contentItem = generated.GetNodesStorageContentItem

func (c *Call) storageContent(ctx context.Context, in ContentArgs) (doc, error) {
	node, err := c.storageNode(ctx, in.Storage, in.Node)
	if err != nil {
		return doc{}, err
	}
	p := &generated.GetNodesStorageContentParams{}
	if in.Content != "" {
		p.Content = &in.Content
	}
	if in.VMID != 0 {
		id := apidoc.VMID(in.VMID)
		p.Vmid = &id
	}
	items, err := c.api.GetNodesStorageContent(ctx, node, apidoc.Storage(in.Storage), p)
	if err != nil {
		return doc{}, err
	}
	names := lowered(in.Name)
	rows := items[:0]
	var size int64
	for _, it := range items {
		if matchesAny(names, strings.ToLower(it.Volid.V), nameMatches) {
			rows = append(rows, it)
			size += it.Size.V
		}
	}
	d := &render.Doc{}
	d.Summaryf("%s on %s (asked on %s), %s in all", render.FormatCount(len(rows), "volume"), in.Storage, node, render.FormatBytes(size))
	d.Add(contentTable(rows))
	return doc{Doc: d}, nil
}

// storageNode picks the node to ask about a storage: the caller's, or one that
// is online and has it.
func (c *Call) storageNode(ctx context.Context, storage, node string) (apidoc.Node, error) {
	if node != "" {
		n, err := apidoc.ParseNode(node)
		if err != nil {
			return "", badArg("node", "%v", err)
		}
		return n, nil
	}
	all, err := c.resources(ctx, "storage")
	if err != nil {
		return "", err
	}
	var on []string
	known := map[string]bool{}
	var names []string
	local := false
	for i := range all {
		r := &all[i]
		if !known[r.Storage.V] {
			known[r.Storage.V] = true
			names = append(names, r.Storage.V)
		}
		if r.Storage.V != storage {
			continue
		}
		local = local || !r.Shared.V
		if r.Status.V == "available" {
			on = append(on, r.Node.V)
		}
	}
	sort.Slice(on, func(i, j int) bool { return naturalLess(on[i], on[j]) })
	switch {
	case !known[storage]:
		e := &NotFoundError{What: "storage", Name: storage, Near: nearOr(storage, names)}
		if len(names) == 0 {
			e.Hint = "No storage is visible: the token probably lacks Datastore.Audit. " + c.grantLine("/storage", []string{"Datastore.Audit"})
		}
		return "", e
	case len(on) == 0:
		return "", &NotFoundError{What: "node where it is available for storage", Name: storage, Hint: "Every node that has it reports it as unavailable; give node to ask one all the same."}
	case local && len(on) > 1:
		return "", &ArgError{Arg: "node", Why: "is needed: " + storage + " is a different storage on each node", Valid: on, Unsure: true}
	}
	return apidoc.Node(on[0]), nil
}

func contentTable(rows []contentItem) *render.Table[contentItem] {
	return &render.Table[contentItem]{
		ID: "volumes", Rows: rows, Empty: "nothing matches",
		Key: func(r *contentItem) string { return render.Key(r.Volid.V) },
		Columns: []render.Column[contentItem]{
			{Name: "volid", Stable: true, Cell: func(r *contentItem) render.Cell { return render.Str(r.Volid.V) }},
			{Name: "content", Cell: func(r *contentItem) render.Cell { return strCell(true, r.Content.V) }},
			{Name: "vmid", Right: true, Cell: func(r *contentItem) render.Cell {
				if !r.Vmid.Set {
					return render.None()
				}
				return render.Int(r.Vmid.V)
			}},
			{Name: "size", Right: true, Cell: func(r *contentItem) render.Cell { return bytesCell(r.Size.Set, r.Size.V) }},
			{Name: "format", Cell: func(r *contentItem) render.Cell { return strCell(true, r.Format.V) }},
			{Name: "created", Stable: true, Cell: func(r *contentItem) render.Cell {
				if r.Ctime.V == 0 {
					return render.None()
				}
				return render.Unix(r.Ctime.V)
			}},
			{Name: "protected", Cell: func(r *contentItem) render.Cell {
				if r.Protected.V {
					return render.Str("yes")
				}
				return render.None()
			}},
			{Name: "verify", Cell: func(r *contentItem) render.Cell {
				if r.Verification == nil { // all but backups on a backup server
					return render.None()
				}
				return strCell(true, r.Verification.State.V)
			}},
			{Name: "notes", Cell: func(r *contentItem) render.Cell { return strCell(true, r.Notes.V) }},
			{Name: "used", Right: true, Extra: true, Cell: func(r *contentItem) render.Cell { return bytesCell(r.Used.Set, r.Used.V) }},
			{Name: "parent", Extra: true, Cell: func(r *contentItem) render.Cell { return strCell(true, r.Parent.V) }},
		},
		Important: func(r *contentItem) int {
			if r.Verification != nil && r.Verification.State.V == "failed" {
				return 1
			}
			return 0
		},
		GroupBy: []string{"content"},
		Narrow:  []string{"content", "vmid", "name"},
	}
}
