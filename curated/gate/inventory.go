package gate

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// GuestInfo is what rules ask about a guest.
type GuestInfo struct {
	VMID apidoc.VMID
	Kind apidoc.GuestKind
	Node apidoc.Node
	Name string
	Tags []string
	Pool apidoc.Pool
}

// Inventory knows the guests. Every error counts as "not known", and what is
// not known is not touched.
type Inventory interface {
	// Guests gives all guests that can be seen, as they are now.
	Guests(ctx context.Context) ([]GuestInfo, error)
	// Exists tells whether a vmid is taken, also by a guest that can't be seen.
	Exists(ctx context.Context, id apidoc.VMID) (bool, error)
	// Complete tells whether every guest of the cluster can be seen.
	Complete(ctx context.Context) (bool, error)
}

// freshFor is how old a list may be for a first look. Right before a write it is
// read anew.
const freshFor = 3 * time.Second

// Reader is the [Inventory] of a cluster: it reads through the same transport as
// the calls that are judged, with harmless GETs alone. It is safe for
// concurrent use.
type Reader struct {
	api *generated.Client
}

// NewReader reads through rt, which must be the transport below a gate.
func NewReader(rt http.RoundTripper) *Reader {
	return &Reader{api: generated.New(pverest.NewClient(rt))}
}

// Guests reads all guests of the cluster by one call. Proxmox leaves out those
// on which the token has no VM.Audit.
func (r *Reader) Guests(ctx context.Context) ([]GuestInfo, error) {
	kind := "vm"
	rows, err := r.api.GetClusterResources(ctx, &generated.GetClusterResourcesParams{Type: &kind})
	if err != nil {
		return nil, err
	}
	guests := make([]GuestInfo, 0, len(rows))
	for _, row := range rows {
		switch k := apidoc.GuestKind(row.Type.V); k {
		case apidoc.QEMU, apidoc.LXC:
			guests = append(guests, GuestInfo{
				VMID: apidoc.VMID(row.Vmid.V), Kind: k, Node: apidoc.Node(row.Node.V), Name: row.Name.V,
				Tags: apidoc.ListItems(row.Tags.V), Pool: apidoc.Pool(row.Pool.V),
			})
		}
	}
	return guests, nil
}

// Exists asks whether the vmid is free, which any user may. Proxmox answers 400
// for one that is taken.
func (r *Reader) Exists(ctx context.Context, id apidoc.VMID) (bool, error) {
	_, err := r.api.GetClusterNextid(ctx, &generated.GetClusterNextidParams{Vmid: &id})
	var e *pverest.Error
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &e) && e.Kind == pverest.KindParameter:
		return true, nil
	}
	return false, err
}

// Complete asks for the token's own permissions: VM.Audit on /vms, and no guest
// below with an entry of its own that takes it away. (A pool only ever adds.)
func (r *Reader) Complete(ctx context.Context) (bool, error) {
	perms, err := r.api.GetAccessPermissions(ctx, nil)
	if err != nil {
		return false, err
	}
	const guests, audit = "/vms", "VM.Audit"
	if propagates := perms[guests][audit]; !propagates.V {
		return false, nil
	}
	for path, privs := range perms {
		if _, ok := privs[audit]; !ok && strings.HasPrefix(path, guests+"/") {
			return false, nil
		}
	}
	return true, nil
}

// inventoryCache holds a list for a moment, so that a dry run and the call after
// it do not read twice.
type inventoryCache struct {
	from Inventory
	now  func() time.Time

	mu     sync.Mutex
	guests []GuestInfo
	at     time.Time
}

func (c *inventoryCache) read(ctx context.Context, anew bool) ([]GuestInfo, error) {
	c.mu.Lock()
	guests, age := c.guests, c.now().Sub(c.at)
	c.mu.Unlock()
	if !anew && guests != nil && age >= 0 && age < freshFor {
		return guests, nil
	}
	begun := c.now()
	guests, err := c.from.Guests(ctx)
	if err != nil {
		return nil, err
	}
	if guests == nil {
		guests = []GuestInfo{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if begun.After(c.at) || c.guests == nil {
		c.guests, c.at = guests, begun
	}
	return guests, nil
}
