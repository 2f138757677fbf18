package pvesim

import "fmt"

func init() {
	register("GET /cluster/ceph/status", cephStatus)
	register("GET /nodes/{node}/ceph/status", cephStatus)
	register("GET /cluster/ceph/flags", cephFlags)
	register("GET /nodes/{node}/ceph/mon", cephMonitors)
	register("GET /nodes/{node}/ceph/pool", cephPools)
	// Where Ceph is installed these need a whole storage cluster behind them;
	// they answer as on a host without it.
	for _, path := range [...]string{"cfg/raw", "cfg/db", "osd", "mds", "mgr", "fs", "crush", "rules", "log"} {
		register("GET /nodes/{node}/ceph/"+path, func(c *call) (any, error) {
			if c.world.Ceph == nil {
				return nil, noCeph()
			}
			return nil, &apiError{Status: 501, Message: "Method 'GET " + c.ep.Path + "' not implemented in this simulated cluster\n"}
		})
	}
	register("GET /nodes/{node}/capabilities/qemu/cpu", cpuModels)
	register("GET /nodes/{node}/capabilities/qemu/machines", machineTypes)
	register("GET /nodes/{node}/capabilities/qemu/migration", func(c *call) (any, error) { return c.one(object{{"has-dbus-vmstate", 1}}), nil })
}

func noCeph() error { return fail("binary not installed: /usr/bin/ceph-mon") }

// cephStatus has the form of Ceph's own status command.
func cephStatus(c *call) (any, error) {
	s := c.world.Ceph
	if s == nil {
		return nil, noCeph()
	}
	checks := object{}
	for _, k := range sortedKeys(s.Checks) {
		severity := "HEALTH_WARN"
		if s.Health == "HEALTH_ERR" {
			severity = s.Health
		}
		checks.put(k, object{{"severity", severity}, {"summary", object{{"message", s.Checks[k]}, {"count", 1}}}, {"muted", rawJSON("false")}})
	}
	quorum, mons := []string{}, []object{}
	ranks := []any{}
	for i, n := range s.Monitors {
		if m := c.world.Node(n); m != nil {
			mons = append(mons, object{{"rank", i}, {"name", string(n)}, {"addr", m.IP + ":6789/0"}})
			if m.Online {
				quorum = append(quorum, string(n))
				ranks = append(ranks, i)
			}
		}
	}
	active := ""
	if len(quorum) > 0 {
		active = quorum[0]
	}
	return c.one(object{
		{"fsid", s.FSID}, {"health", object{{"status", s.Health}, {"checks", checks}, {"mutes", []object{}}}},
		{"election_epoch", 42}, {"quorum", ranks}, {"quorum_names", quorum}, {"monmap", object{{"epoch", 5}, {"num_mons", len(mons)}, {"mons", mons}}},
		{"osdmap", object{{"num_osds", s.OSDs}, {"num_up_osds", s.Up}, {"num_in_osds", s.In}}},
		{"pgmap", object{{"num_pgs", s.PGs}, {"num_pools", 2}, {"bytes_total", s.Total}, {"bytes_used", s.Used}, {"bytes_avail", s.Total - s.Used}, {"pgs_by_state", []object{{{"state_name", "active+clean"}, {"count", s.PGs}}}}}},
		{"mgrmap", object{{"available", rawJSON("true")}, {"active_name", active}, {"num_standbys", max(len(quorum)-1, 0)}}}, {"fsmap", object{{"by_rank", []object{}}, {"up:standby", 0}}},
	}), nil
}

func cephFlags(c *call) (any, error) {
	if c.world.Ceph == nil {
		return nil, noCeph()
	}
	list := []object{}
	for _, f := range [...]string{"nobackfill", "nodeep-scrub", "nodown", "noin", "noout", "norebalance", "norecover", "noscrub", "notieragent", "noup", "pause"} {
		list = append(list, object{{"name", f}, {"description", f}, {"value", 0}})
	}
	return c.rows(list), nil
}

func cephMonitors(c *call) (any, error) {
	if c.world.Ceph == nil {
		return nil, noCeph()
	}
	list := []object{}
	for i, n := range c.world.Ceph.Monitors {
		m := c.world.Node(n)
		if m == nil {
			continue
		}
		state := "running"
		if !m.Online {
			state = "unknown"
		}
		list = append(list, object{{"name", string(n)}, {"host", string(n)}, {"addr", m.IP + ":6789/0"}, {"rank", i}, {"state", state}, {"quorum", number01(m.Online)}, {"service", 1}})
	}
	return c.rows(list), nil
}

func cephPools(c *call) (any, error) {
	s := c.world.Ceph
	if s == nil {
		return nil, noCeph()
	}
	list := []object{}
	for i, st := range c.world.Storages {
		if st.Type == "rbd" {
			p := st.look("")
			list = append(list, object{{"pool", i + 1}, {"pool_name", st.Options.Get("pool")}, {"type", "replicated"}, {"size", 3}, {"min_size", 2}, {"pg_num", s.PGs}, {"bytes_used", p.Used}, {"percent_used", float64(p.Used) / float64(max(p.Total, 1))}, {"crush_rule", 0}, {"crush_rule_name", "replicated_rule"}, {"pg_autoscale_mode", "on"}})
		}
	}
	return c.rows(list), nil
}

func cpuModels(c *call) (any, error) {
	list := []object{}
	for _, m := range [...][2]string{{"host", "default"}, {"max", "default"}, {"kvm64", "default"}, {"qemu64", "default"}, {"x86-64-v2", "default"}, {"x86-64-v2-AES", "default"}, {"x86-64-v3", "default"}, {"x86-64-v4", "default"}, {"EPYC-Milan", "AuthenticAMD"}, {"EPYC-Genoa", "AuthenticAMD"}, {"Icelake-Server", "GenuineIntel"}, {"SapphireRapids", "GenuineIntel"}} {
		list = append(list, object{{"name", m[0]}, {"vendor", m[1]}, {"custom", 0}})
	}
	return c.rows(list), nil
}

func machineTypes(c *call) (any, error) {
	list := []object{}
	for _, v := range [...]string{"11.0", "10.1", "10.0", "9.2", "9.0", "8.1"} {
		for _, t := range [...][2]string{{"i440fx", "pc-i440fx"}, {"q35", "pc-q35"}} {
			list = append(list, object{{"id", fmt.Sprintf("%s-%s", t[1], v)}, {"type", t[0]}, {"version", v}})
		}
	}
	return c.ordered(list), nil
}
