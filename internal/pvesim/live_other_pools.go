package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /pools", createPool)
	register("PUT /pools", updatePool)
	register("PUT /pools/{poolid}", updatePool)
	register("DELETE /pools", deletePool)
	register("DELETE /pools/{poolid}", deletePool)
}

func createPool(c *call) (any, error) {
	const about = "create pool failed"
	id := apidoc.Pool(c.param("poolid"))
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	if c.world.Pool(id) != nil {
		return nil, fail("%s: pool '%s' already exists", about, id)
	}
	if i := strings.LastIndexByte(string(id), '/'); i > 0 && c.world.Pool(id[:i]) == nil {
		return nil, fail("%s: parent '%s' of pool '%s' does not exist", about, id[:i], id)
	}
	c.world.Pools = append(c.world.Pools, &Pool{ID: id, Comment: c.param("comment")})
	return nil, nil
}

// thePool is the pool that the path or a parameter names.
func (c *call) thePool(about string) (*Pool, error) {
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	p := c.world.Pool(apidoc.Pool(c.param("poolid")))
	if p == nil {
		return nil, fail("%s: pool '%s' does not exist", about, c.param("poolid"))
	}
	return p, nil
}

// updatePool adds members or, with delete, takes them out. A guest is in one
// pool at most; it moves only where that is asked for.
func updatePool(c *call) (any, error) {
	const about = "update pools failed"
	p, err := c.thePool(about)
	if err != nil {
		return nil, err
	}
	var guests []*Guest
	remove, move := c.flag("delete", false), c.flag("allow-move", false)
	for _, text := range c.list("vms") {
		id, err := apidoc.ParseVMID(text)
		g := c.world.Guest(id)
		switch {
		case err != nil || g == nil && remove:
			return nil, fail("%s: VM %s is not a pool member", about, text)
		case g == nil: // Proxmox notes it all the same, and nobody sees it
			continue
		case remove && g.Pool != p.ID:
			return nil, fail("%s: VM %s is not a pool member", about, text)
		case !remove && g.Pool != "" && g.Pool != p.ID && !move:
			return nil, fail("%s: VM %s belongs already to pool '%s' and 'allow-move' is not set", about, text, g.Pool)
		case !remove && g.Pool != "" && g.Pool != p.ID:
			if err := c.need("/pool/"+string(g.Pool), "Pool.Allocate"); err != nil {
				return nil, err
			}
		}
		guests = append(guests, g)
	}
	storages := slices.Clone(p.Storages)
	for _, text := range c.list("storage") {
		id := apidoc.Storage(text)
		in := slices.Contains(storages, id)
		switch {
		case remove && !in:
			return nil, fail("%s: Storage '%s' is not a pool member", about, id)
		case remove:
			storages = slices.DeleteFunc(storages, func(s apidoc.Storage) bool { return s == id })
		case !in:
			storages = append(storages, id)
		}
	}
	for _, g := range guests {
		g.Pool = p.ID
		if remove {
			g.Pool = ""
		}
	}
	p.Storages = storages
	if c.has("comment") {
		p.Comment = c.param("comment")
	}
	return nil, nil
}

func deletePool(c *call) (any, error) {
	const about = "delete pool failed"
	p, err := c.thePool(about)
	if err != nil {
		return nil, err
	}
	for _, other := range c.world.Pools {
		if strings.HasPrefix(string(other.ID), string(p.ID)+"/") {
			return nil, fail("%s: pool '%s' is not empty (contains pool '%s')", about, p.ID, other.ID)
		}
	}
	if members := c.world.Members(p.ID); len(members) > 0 {
		return nil, fail("%s: pool '%s' is not empty (contains VM %d)", about, p.ID, members[0].ID)
	}
	for _, s := range p.Storages {
		if c.world.Storage(s) != nil {
			return nil, fail("%s: pool '%s' is not empty (contains storage '%s')", about, p.ID, s)
		}
	}
	c.world.Pools = slices.DeleteFunc(c.world.Pools, func(x *Pool) bool { return x == p })
	c.world.access.dropPath("/pool/" + string(p.ID))
	return nil, nil
}
