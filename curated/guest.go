package curated

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/internal/pverest"
)

// GuestRef names one guest. Tools that work on one embed it.
type GuestRef struct {
	VMID int    `json:"vmid,omitempty"`
	Name string `json:"name,omitempty"`
	Node string `json:"node,omitempty"`
}

// guest is where a guest was found.
type guest struct {
	ID   apidoc.VMID
	Kind apidoc.GuestKind
	Node apidoc.Node
	// Row is its line in the cluster's resources; nil when the caller named the
	// node and nothing had to be looked up.
	Row *resource
	// Note says what the caller should know: "it is on pve2, not on pve1".
	Note string
}

// label names the guest in an answer.
func (g *guest) label() string {
	if g.Row != nil && g.Row.Name.V != "" {
		return fmt.Sprintf("%s %d (%s)", g.Kind.Noun(), g.ID, g.Row.Name.V)
	}
	return fmt.Sprintf("%s %d", g.Kind.Noun(), g.ID)
}

// find looks a guest up by its number or its unique name, whatever its kind.
// One request. Where the caller's node is not (or no longer) the guest's, the
// note says so: a guest may move at any time.
func (c *Call) find(ctx context.Context, ref GuestRef) (*guest, error) {
	if ref.VMID == 0 && ref.Name == "" {
		return nil, badArg("vmid", "is needed (or name, where it is unique)")
	}
	if ref.VMID != 0 {
		if _, err := apidoc.ParseVMID(strconv.Itoa(ref.VMID)); err != nil {
			return nil, badArg("vmid", "%v", err)
		}
	}
	all, err := c.resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	var hits []*resource
	for i := range all {
		r := &all[i]
		if isGuest(r) && (ref.VMID != 0 && int(r.Vmid.V) == ref.VMID || ref.VMID == 0 && strings.EqualFold(r.Name.V, ref.Name)) {
			hits = append(hits, r)
		}
	}
	switch {
	case len(hits) == 0:
		return nil, c.noGuest(ref, all)
	case len(hits) > 1:
		e := &ArgError{Arg: "name", Why: fmt.Sprintf("%q names %d guests; give the vmid", clip(ref.Name), len(hits)), Unsure: true}
		for _, h := range hits {
			e.Valid = append(e.Valid, fmt.Sprintf("%d (%s on %s)", h.Vmid.V, h.Type.V, h.Node.V))
			if len(e.Valid) == 10 {
				break
			}
		}
		return nil, e
	}
	r := hits[0]
	if ref.VMID != 0 && ref.Name != "" && !strings.EqualFold(ref.Name, r.Name.V) {
		return nil, badArg("name", "guest %d is called %q, not %q", ref.VMID, r.Name.V, clip(ref.Name))
	}
	g := &guest{ID: apidoc.VMID(r.Vmid.V), Kind: apidoc.GuestKind(r.Type.V), Node: apidoc.Node(r.Node.V), Row: r}
	if ref.Node != "" && ref.Node != r.Node.V {
		g.Note = fmt.Sprintf("It is on node %s, not on %s.", r.Node.V, clip(ref.Node))
	}
	return g, nil
}

// noGuest says what there is instead of the guest that was named.
func (c *Call) noGuest(ref GuestRef, all []resource) error {
	e := &NotFoundError{What: "guest", Name: ref.Name}
	if ref.VMID != 0 {
		e.What, e.Name = "guest with vmid", strconv.Itoa(ref.VMID)
	}
	names := make([]string, 0, len(all))
	for i := range all {
		if r := &all[i]; isGuest(r) {
			if ref.VMID != 0 {
				names = append(names, strconv.FormatInt(r.Vmid.V, 10))
			} else {
				names = append(names, r.Name.V)
			}
		}
	}
	e.Near = apidoc.Nearest(e.Name, names, 4)
	if len(names) == 0 {
		e.Hint = "No guest is visible at all: the token probably lacks VM.Audit. " + c.grantLine("/vms", []string{"VM.Audit"})
	} else {
		e.Hint = "It does not exist, or the token may not see it (VM.Audit). pve_vms and pve_containers list what there is."
	}
	return e
}

// ofKind finds a guest for a tool that is about one kind. A guest of the other
// kind is what models often mean by "VM"; they are told, because the tools
// differ in what they can do.
func (c *Call) ofKind(ctx context.Context, ref GuestRef, kind apidoc.GuestKind) (*guest, error) {
	g, err := c.find(ctx, ref)
	if err == nil && g.Kind != kind {
		g.Note = strings.TrimSpace(fmt.Sprintf("%d is a %s, not a %s. %s", g.ID, g.Kind.Noun(), kind.Noun(), g.Note))
	}
	return g, err
}

// gone tells that Proxmox has no such guest at the place that was asked.
func gone(err error) bool { return pverest.IsKind(err, pverest.KindNotFound) }
