package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("PUT /cluster/options", setOptions)
	for _, k := range [...]string{"pci", "usb", "dir"} {
		register("POST /cluster/mapping/"+k, func(c *call) (any, error) { return createMapping(c, k) })
		register("PUT /cluster/mapping/"+k+"/{id}", func(c *call) (any, error) { return updateMapping(c, k) })
		register("DELETE /cluster/mapping/"+k+"/{id}", func(c *call) (any, error) { return deleteMapping(c, k) })
	}
	register("POST /cluster/metrics/server/{id}", createMetricServer)
	register("PUT /cluster/metrics/server/{id}", updateMetricServer)
	register("DELETE /cluster/metrics/server/{id}", deleteMetricServer)
}

func setOptions(c *call) (any, error) {
	if err := c.quorum("datacenter_cfg"); err != nil {
		return nil, err
	}
	changed := c.world.Datacenter.Clone()
	if err := c.store(&changed); err != nil {
		return nil, err
	}
	c.world.Datacenter = changed
	return nil, nil
}

func (w *World) mapping(kind, id string) *Mapping {
	for _, m := range w.Mappings {
		if m.Kind == kind && m.ID == id {
			return m
		}
	}
	return nil
}

func (c *call) fillMapping(m *Mapping) error {
	changed := m.Options.Clone()
	if err := c.store(&changed, "id", "description", "map"); err != nil {
		return err
	}
	m.Options = changed
	if slices.Contains(c.list("delete"), "description") {
		m.Description = ""
	}
	if c.has("description") {
		m.Description = c.param("description")
	}
	if c.has("map") {
		m.Map = slices.Clone(c.params["map"])
	}
	for _, entry := range m.Map {
		if n := subOption(entry, "node"); c.world.Node(apidoc.Node(n)) == nil {
			return fail("no such cluster node '%s'", n)
		}
	}
	return nil
}

func createMapping(c *call, kind string) (any, error) {
	if err := c.quorum("mapping_" + kind + "_cfg"); err != nil {
		return nil, err
	}
	m := &Mapping{Kind: kind, ID: c.param("id")}
	if c.world.mapping(kind, m.ID) != nil {
		return nil, fail("%s ID '%s' already defined", kind, m.ID)
	}
	if err := c.fillMapping(m); err != nil {
		return nil, err
	}
	c.world.Mappings = append(c.world.Mappings, m)
	return nil, nil
}

func (c *call) theMapping(kind string) (*Mapping, error) {
	if err := c.quorum("mapping_" + kind + "_cfg"); err != nil {
		return nil, err
	}
	m := c.world.mapping(kind, c.path["id"])
	if m == nil {
		return nil, fail("mapping '%s' not found", c.path["id"])
	}
	return m, c.sameDigest(digestOf(m.ID + m.Description))
}

func updateMapping(c *call, kind string) (any, error) {
	m, err := c.theMapping(kind)
	if err != nil {
		return nil, err
	}
	changed := *m
	if err := c.fillMapping(&changed); err != nil {
		return nil, err
	}
	*m = changed
	return nil, nil
}

func deleteMapping(c *call, kind string) (any, error) {
	m, err := c.theMapping(kind)
	if err != nil {
		return nil, err
	}
	c.world.Mappings = slices.DeleteFunc(slices.Clone(c.world.Mappings), func(x *Mapping) bool { return x == m })
	return nil, nil
}

func (c *call) fillMetricServer(m *MetricServer) error {
	changed := m.Options.Clone()
	if err := c.store(&changed, "id", "type", "server", "port", "disable", "token"); err != nil {
		return err
	}
	m.Options, m.Server, m.Port, m.Disabled = changed, c.param("server"), int(c.number("port", int64(m.Port))), c.flag("disable", m.Disabled)
	return nil
}

func createMetricServer(c *call) (any, error) {
	if err := c.quorum("status_cfg"); err != nil {
		return nil, err
	}
	id := c.path["id"]
	if slices.ContainsFunc(c.world.Metrics, func(m *MetricServer) bool { return m.ID == id }) {
		return nil, fail("Metric server '%s' already exists", id)
	}
	m := &MetricServer{ID: id, Type: c.param("type")}
	if err := c.fillMetricServer(m); err != nil {
		return nil, err
	}
	c.world.Metrics = append(c.world.Metrics, m)
	return nil, nil
}

func (c *call) theMetricServer() (*MetricServer, error) {
	if err := c.quorum("status_cfg"); err != nil {
		return nil, err
	}
	for _, m := range c.world.Metrics {
		if m.ID == c.path["id"] {
			return m, nil
		}
	}
	return nil, fail("no such server '%s'", c.path["id"])
}

func updateMetricServer(c *call) (any, error) {
	m, err := c.theMetricServer()
	if err != nil {
		return nil, err
	}
	changed := *m
	if err := c.fillMetricServer(&changed); err != nil {
		return nil, err
	}
	*m = changed
	return nil, nil
}

func deleteMetricServer(c *call) (any, error) {
	m, err := c.theMetricServer()
	if err != nil {
		return nil, err
	}
	c.world.Metrics = slices.DeleteFunc(slices.Clone(c.world.Metrics), func(x *MetricServer) bool { return x == m })
	return nil, nil
}

func init() {
	register("POST /cluster/sdn/zones", createZone)
	register("PUT /cluster/sdn/zones/{zone}", updateZone)
	register("DELETE /cluster/sdn/zones/{zone}", deleteZone)
	register("POST /cluster/sdn/vnets", createVNet)
	register("PUT /cluster/sdn/vnets/{vnet}", updateVNet)
	register("DELETE /cluster/sdn/vnets/{vnet}", deleteVNet)
	register("POST /cluster/sdn/vnets/{vnet}/subnets", createSubnet)
	register("PUT /cluster/sdn/vnets/{vnet}/subnets/{subnet}", updateSubnet)
	register("DELETE /cluster/sdn/vnets/{vnet}/subnets/{subnet}", deleteSubnet)
	register("PUT /cluster/sdn", applySDN)
}

func createZone(c *call) (any, error) {
	if err := c.quorum("sdn_zones_cfg"); err != nil {
		return nil, err
	}
	z := &Zone{ID: c.param("zone"), Type: c.param("type")}
	if c.world.Zone(z.ID) != nil {
		return nil, fail("create sdn zone object failed: sdn zone object ID '%s' already defined", z.ID)
	}
	needs := map[string]string{"vlan": "bridge", "qinq": "bridge", "evpn": "controller"}
	if k := needs[z.Type]; k != "" && !c.has(k) {
		return nil, fail("create sdn zone object failed: missing value for required option '%s'", k)
	}
	if err := c.store(&z.Options, "zone", "type"); err != nil {
		return nil, err
	}
	c.world.Zones = append(c.world.Zones, z)
	return nil, nil
}

func (c *call) theZone(about string) (*Zone, error) {
	if err := c.quorum("sdn_zones_cfg"); err != nil {
		return nil, err
	}
	z := c.world.Zone(c.path["zone"])
	if z == nil || z.ID == "localnetwork" {
		return nil, fail("%s: sdn '%s' does not exist", about, c.path["zone"])
	}
	return z, c.sameDigest(digestOf(z.ID + z.Type + z.Options.Text()))
}

func updateZone(c *call) (any, error) {
	z, err := c.theZone("update sdn zone object failed")
	if err != nil {
		return nil, err
	}
	changed := z.Options.Clone()
	if err := c.store(&changed); err != nil {
		return nil, err
	}
	z.Options = changed
	return nil, nil
}

func deleteZone(c *call) (any, error) {
	const about = "delete sdn zone object failed"
	z, err := c.theZone(about)
	if err != nil {
		return nil, err
	}
	for _, v := range c.world.VNets {
		if v.Zone == z.ID {
			return nil, fail("%s: zone %s is used by vnet %s", about, z.ID, v.ID)
		}
	}
	c.world.Zones = slices.DeleteFunc(slices.Clone(c.world.Zones), func(x *Zone) bool { return x == z })
	return nil, nil
}

func (c *call) fillVNet(v *VNet) error {
	changed := v.Options.Clone()
	if err := c.store(&changed, "vnet", "zone", "alias", "tag", "type"); err != nil {
		return err
	}
	for _, k := range c.list("delete") {
		switch k {
		case "alias":
			v.Alias = ""
		case "tag":
			v.Tag = 0
		}
	}
	if c.has("zone") {
		if c.world.Zone(c.param("zone")) == nil {
			return fail("sdn '%s' does not exist", c.param("zone"))
		}
		v.Zone = c.param("zone")
	}
	if c.has("alias") {
		v.Alias = c.param("alias")
	}
	v.Options, v.Tag = changed, int(c.number("tag", int64(v.Tag)))
	return nil
}

func createVNet(c *call) (any, error) {
	const about = "create sdn vnet object failed"
	if err := c.quorum("sdn_vnets_cfg"); err != nil {
		return nil, err
	}
	v := &VNet{ID: c.param("vnet")}
	if slices.ContainsFunc(c.world.VNets, func(x *VNet) bool { return x.ID == v.ID }) {
		return nil, fail("%s: sdn vnet object ID '%s' already defined", about, v.ID)
	}
	if err := c.fillVNet(v); err != nil {
		return nil, prefixed(about, err)
	}
	c.world.VNets = append(c.world.VNets, v)
	return nil, nil
}

// changedVNet is theVNet for a change: who may see it need not be asked.
func (c *call) changedVNet(about string) (*VNet, error) {
	if err := c.quorum("sdn_vnets_cfg"); err != nil {
		return nil, err
	}
	for _, v := range c.world.VNets {
		if v.ID == c.path["vnet"] {
			if err := c.need("/sdn/zones/"+v.Zone+"/"+v.ID, "SDN.Allocate"); err != nil {
				return nil, err
			}
			return v, nil
		}
	}
	return nil, fail("%s: sdn '%s' does not exist", about, c.path["vnet"])
}

func updateVNet(c *call) (any, error) {
	const about = "update sdn vnet object failed"
	v, err := c.changedVNet(about)
	if err != nil {
		return nil, err
	}
	if err := c.sameDigest(digestOf(v.ID + v.Zone + v.Alias)); err != nil {
		return nil, err
	}
	changed := *v
	if err := c.fillVNet(&changed); err != nil {
		return nil, prefixed(about, err)
	}
	*v = changed
	return nil, nil
}

func deleteVNet(c *call) (any, error) {
	const about = "delete sdn vnet object failed"
	v, err := c.changedVNet(about)
	if err != nil {
		return nil, err
	}
	if len(v.Subnets) > 0 {
		return nil, fail("%s: Can't delete vnet if subnets exists", about)
	}
	c.world.VNets = slices.DeleteFunc(slices.Clone(c.world.VNets), func(x *VNet) bool { return x == v })
	return nil, nil
}

// subnetOf finds the network that a path or parameter means: its CIDR, or the
// id that lists show.
func (v *VNet) subnetOf(id string) string {
	for _, s := range v.Subnets {
		if s == id || v.subnet(s).text("subnet") == id {
			return s
		}
	}
	return ""
}

func (c *call) fillSubnet(v *VNet, cidr string) error {
	old := v.SubnetOptions[cidr]
	changed := old.Clone()
	if err := c.store(&changed, "subnet", "type", "vnet"); err != nil {
		return err
	}
	options := map[string]Config{cidr: changed}
	for k, o := range v.SubnetOptions {
		if k != cidr {
			options[k] = o
		}
	}
	v.SubnetOptions = options
	return nil
}

func createSubnet(c *call) (any, error) {
	const about = "create sdn subnet object failed"
	v, err := c.changedVNet(about)
	if err != nil {
		return nil, err
	}
	cidr := c.param("subnet")
	if v.subnetOf(cidr) != "" {
		return nil, fail("%s: sdn subnet object ID '%s' already defined", about, v.Zone+"-"+strings.ReplaceAll(cidr, "/", "-"))
	}
	if err := c.fillSubnet(v, cidr); err != nil {
		return nil, err
	}
	v.Subnets = append(slices.Clone(v.Subnets), cidr)
	return nil, nil
}

func updateSubnet(c *call) (any, error) {
	const about = "update sdn subnet object failed"
	v, err := c.changedVNet(about)
	if err != nil {
		return nil, err
	}
	cidr := v.subnetOf(c.path["subnet"])
	if cidr == "" {
		return nil, fail("%s: sdn '%s' does not exist", about, c.path["subnet"])
	}
	return nil, c.fillSubnet(v, cidr)
}

func deleteSubnet(c *call) (any, error) {
	const about = "delete sdn subnet object failed"
	v, err := c.changedVNet(about)
	if err != nil {
		return nil, err
	}
	cidr := v.subnetOf(c.path["subnet"])
	if cidr == "" {
		return nil, fail("%s: sdn '%s' does not exist", about, c.path["subnet"])
	}
	v.Subnets = slices.DeleteFunc(slices.Clone(v.Subnets), func(s string) bool { return s == cidr })
	if err := c.fillSubnet(v, cidr); err != nil {
		return nil, err
	}
	delete(v.SubnetOptions, cidr)
	return nil, nil
}

// applySDN makes every node take over the configuration.
func applySDN(c *call) (any, error) {
	if err := c.quorum("sdn_running_config"); err != nil {
		return nil, err
	}
	return c.launch("reloadnetworkall", "", func(k *worker) error {
		for _, n := range k.world.Nodes {
			if !n.Online {
				k.warnf("%s: unable to reload network - node is offline", n.Name)
				continue
			}
			k.sayf("%s: reloading network config", n.Name)
			k.srv.spawn(n.Name, "srvreload", "networking", k.task.User, func(k *worker) error { return k.rest(1) })
		}
		return k.rest(2)
	})
}
