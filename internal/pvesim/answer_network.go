package pvesim

import (
	"slices"
	"strings"
)

func init() {
	for _, k := range [...]string{"pci", "usb", "dir"} {
		register("GET /cluster/mapping/"+k, func(c *call) (any, error) { return mappingList(c, k) })
		register("GET /cluster/mapping/"+k+"/{id}", func(c *call) (any, error) { return mappingNamed(c, k) })
	}
	register("GET /cluster/sdn/zones", sdnZones)
	register("GET /cluster/sdn/zones/{zone}", sdnZone)
	register("GET /cluster/sdn/vnets", sdnVNets)
	register("GET /cluster/sdn/vnets/{vnet}", sdnVNet)
	register("GET /cluster/sdn/vnets/{vnet}/subnets", sdnSubnets)
	register("GET /nodes/{node}/sdn/zones", nodeZones)
	register("GET /nodes/{node}/sdn/zones/{zone}/content", nodeZoneContent)
}

func (m *Mapping) object() object {
	o := object{{"id", m.ID}, {"description", m.Description}, {"map", m.Map}}
	m.Options.Each(func(k, v string) bool { o.put(k, atoi(v)); return true })
	return o
}

func mappingList(c *call, kind string) (any, error) {
	list := []object{}
	for _, m := range c.world.Mappings {
		if m.Kind == kind && (c.seesAll() || c.anyPriv("/mapping/"+kind+"/"+m.ID, "Mapping.Modify", "Mapping.Use", "Mapping.Audit")) {
			o := m.object()
			if c.has("check-node") {
				o.put("checks", []object{})
			}
			list = append(list, o)
		}
	}
	return c.rows(list), nil
}

func mappingNamed(c *call, kind string) (any, error) {
	for _, m := range c.world.Mappings {
		if m.Kind == kind && m.ID == c.path["id"] {
			return c.one(append(m.object(), member{"digest", digestOf(m.ID + m.Description)})), nil
		}
	}
	return nil, fail("mapping '%s' not found", c.path["id"])
}

// Zone gives the zone of that id, or nil.
func (w *World) Zone(id string) *Zone {
	for _, z := range w.Zones {
		if z.ID == id {
			return z
		}
	}
	return nil
}

// defined are the zones that someone made: localnetwork, which holds the plain
// bridges, is not among them.
func (w *World) definedZones() []*Zone {
	return slices.DeleteFunc(slices.Clone(w.Zones), func(z *Zone) bool { return z.ID == "localnetwork" })
}

func (z *Zone) object() object {
	o := object{{"zone", z.ID}, {"type", z.Type}, {"digest", digestOf(z.ID + z.Type + z.Options.Text())}}
	z.Options.Each(func(k, v string) bool {
		if k == "mtu" || k == "tag" {
			o.put(k, atoi(v))
		} else {
			o.put(k, v)
		}
		return true
	})
	return o
}

func (c *call) seesZone(id string) bool {
	return c.seesAll() || c.anyPriv("/sdn/zones/"+id, "SDN.Audit", "SDN.Allocate", "SDN.Use")
}

func sdnZones(c *call) (any, error) {
	list := []object{}
	for _, z := range c.world.definedZones() {
		if c.seesZone(z.ID) && (!c.has("type") || c.param("type") == z.Type) {
			list = append(list, z.object())
		}
	}
	return c.rows(list), nil
}

func sdnZone(c *call) (any, error) {
	z := c.world.Zone(c.path["zone"])
	if z == nil || z.ID == "localnetwork" {
		return nil, fail("sdn '%s' does not exist", c.path["zone"])
	}
	return c.one(z.object()), nil
}

func (v *VNet) object() object {
	o := object{{"vnet", v.ID}, {"type", "vnet"}, {"zone", v.Zone}, {"digest", digestOf(v.ID + v.Zone + v.Alias)}}
	o.putIf("alias", v.Alias)
	if v.Tag > 0 {
		o.put("tag", v.Tag)
	}
	v.Options.Each(func(k, x string) bool { o.put(k, atoi(x)); return true })
	return o
}

func sdnVNets(c *call) (any, error) {
	list := []object{}
	for _, v := range c.world.VNets {
		if c.seesAll() || c.anyPriv("/sdn/zones/"+v.Zone+"/"+v.ID, "SDN.Audit", "SDN.Allocate", "SDN.Use") {
			list = append(list, v.object())
		}
	}
	return c.rows(list), nil
}

func (c *call) theVNet() (*VNet, error) {
	for _, v := range c.world.VNets {
		if v.ID == c.path["vnet"] {
			if !c.seesAll() && !c.anyPriv("/sdn/zones/"+v.Zone+"/"+v.ID, "SDN.Audit", "SDN.Allocate") {
				return nil, deny("/sdn/zones/%s/%s, SDN.Audit|SDN.Allocate", v.Zone, v.ID)
			}
			return v, nil
		}
	}
	return nil, fail("sdn '%s' does not exist", c.path["vnet"])
}

func sdnVNet(c *call) (any, error) {
	v, err := c.theVNet()
	if err != nil {
		return nil, err
	}
	return c.one(v.object()), nil
}

func sdnSubnets(c *call) (any, error) {
	v, err := c.theVNet()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, s := range v.Subnets {
		list = append(list, v.subnet(s))
	}
	return c.rows(list), nil
}

// subnet is a subnet in lists; its id is the zone and the network.
func (v *VNet) subnet(cidr string) object {
	o := object{{"subnet", v.Zone + "-" + strings.ReplaceAll(cidr, "/", "-")}, {"cidr", cidr}, {"vnet", v.ID}, {"zone", v.Zone}, {"type", "subnet"}}
	options := v.SubnetOptions[cidr]
	options.Each(func(k, x string) bool { o.put(k, x); return true })
	return o
}

func nodeZones(c *call) (any, error) {
	list := []object{}
	for _, z := range c.world.Zones {
		if c.seesZone(z.ID) {
			list = append(list, object{{"zone", z.ID}, {"status", "available"}})
		}
	}
	return c.rows(list), nil
}

func nodeZoneContent(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	if c.path["zone"] == "localnetwork" {
		for _, i := range n.Interfaces {
			if i.Type == "bridge" {
				list = append(list, object{{"vnet", i.Name}, {"status", "available"}})
			}
		}
	}
	for _, v := range c.world.VNets {
		if v.Zone == c.path["zone"] {
			list = append(list, object{{"vnet", v.ID}, {"status", "available"}})
		}
	}
	return c.rows(list), nil
}
