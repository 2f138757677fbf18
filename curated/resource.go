package curated

import (
	"context"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// resource is one line of /cluster/resources.
type resource = generated.GetClusterResourcesItem

// resources asks for the cluster's resources of one type ("vm", "node",
// "storage", or "" for all). It is one request at any size. Numbers in it are up
// to some 12 seconds old; which guest is where, locks, tags and pools are fresh.
func (c *Call) resources(ctx context.Context, kind string) ([]resource, error) {
	p := &generated.GetClusterResourcesParams{}
	if kind != "" {
		p.Type = &kind
	}
	return c.api.GetClusterResources(ctx, p)
}

// visibleNodes lists the names of all nodes in a list of resources, sorted.
func visibleNodes(all []resource) []string {
	seen := map[string]bool{}
	for i := range all {
		if n := all[i].Node.V; n != "" {
			seen[n] = true
		}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// tagsOf splits Proxmox's tag list.
func tagsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
}

// isGuest tells the guests among resources.
func isGuest(r *resource) bool {
	return r.Type.V == string(apidoc.QEMU) || r.Type.V == string(apidoc.LXC)
}

// nodeError explains an unknown node name by the ones there are; Proxmox itself
// answers with a failed host-name look-up.
func nodeError(name string, known []string) error {
	return &NotFoundError{What: "node", Name: name, Near: nearOr(name, known), Hint: "Node names are case-sensitive."}
}

// nearOr gives the nearest names, or all when few and none is near.
func nearOr(name string, known []string) []string {
	near := apidoc.Nearest(name, known, 5)
	if len(near) == 0 && len(known) <= 40 {
		return known
	}
	return near
}
