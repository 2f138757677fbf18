package pvesim

import (
	"math"

	"pvemcp/apidoc"
)

func init() {
	register("GET /nodes/{node}/rrddata", nodeRRD)
	register("GET /nodes/{node}/qemu/{vmid}/rrddata", func(c *call) (any, error) { return guestRRD(c, apidoc.QEMU) })
	register("GET /nodes/{node}/lxc/{vmid}/rrddata", func(c *call) (any, error) { return guestRRD(c, apidoc.LXC) })
	register("GET /nodes/{node}/storage/{storage}/rrddata", storageRRD)
}

// series gives step and number of rows of a time frame, which changed with 9.0.
func (w *World) series(timeframe string) (step, rows int64) {
	if w.Version.Major() >= 9 {
		switch timeframe {
		case "hour":
			return 60, 60
		case "day":
			return 60, 1440
		case "week":
			return 1800, 336
		case "month":
			return 1800, 1440
		case "year":
			return 21600, 1440
		}
		return 7 * day, 570
	}
	switch timeframe {
	case "hour":
		return 60, 70
	case "day":
		return 1800, 70
	case "week":
		return 10800, 70
	case "month":
		return 43200, 70
	}
	return 604800, 70
}

// rrd makes rows up to now; fill says what is known at a time, or nil for a gap.
func (c *call) rrd(fill func(t int64) object) rawJSON {
	step, rows := c.world.series(c.param("timeframe"))
	end := c.now.Unix() / step * step
	list := make([]object, 0, rows)
	for i := rows - 1; i >= 0; i-- {
		t := end - i*step
		list = append(list, append(object{{"time", t}}, fill(t)...))
	}
	return c.ordered(list)
}

// peak is the factor by which a maximum lies over an average.
func (c *call) peak(seed uint64, t int64) float64 {
	if c.param("cf") != "MAX" {
		return 1
	}
	return 1.1 + 0.6*noise(seed^0x5eed, t, 3600)
}

func nodeRRD(c *call) (any, error) {
	n := c.world.Node(apidoc.Node(c.node()))
	if n == nil {
		return nil, fail("RRD error: opening '/var/lib/rrdcached/db/pve-node-9.0/%s': No such file or directory", c.node())
	}
	var guests []sized
	for _, g := range c.world.GuestsOn(n.Name, "") {
		if g.Up() {
			guests = append(guests, sized{g, g.CPUs(n), g.Memory()})
		}
	}
	nine := c.world.Version.Major() >= 9
	return c.rrd(func(t int64) object {
		if t < n.Booted || !n.Online && t > n.OfflineSince {
			return nil
		}
		var f nodeFigures
		for _, g := range guests {
			f.addSized(n, g, t)
		}
		f.own(n, t)
		k := c.peak(n.Load.Seed, t)
		load := n.loadavg(f, t)
		o := object{{"cpu", math.Min(1, f.cpu*k)}, {"iowait", math.Min(1, f.iowait*k)}, {"loadavg", load[0] * k}, {"maxcpu", n.CPUs},
			{"memtotal", n.Memory}, {"memused", f.mem}, {"swaptotal", n.Swap}, {"swapused", n.SwapUsed}, {"roottotal", n.Root}, {"rootused", n.RootUsed},
			{"netin", f.netin * k}, {"netout", f.netout * k}}
		if nine {
			o = append(o, member{"memavailable", n.Memory - f.mem}, member{"arcsize", 0}, member{"pressurecpusome", f.cpu * 2}, member{"pressureiosome", f.iowait * 3}, member{"pressureiofull", f.iowait * 2}, member{"pressurememorysome", 0}, member{"pressurememoryfull", 0})
			if n.zfs() {
				o.put("arcsize", n.MemoryUsed/2)
			}
		}
		return o
	}), nil
}

func guestRRD(c *call, kind apidoc.GuestKind) (any, error) {
	g := c.world.Guest(apidoc.VMID(c.vmid()))
	if g == nil || g.Kind != kind || c.world.Faults.NoMetrics[g.ID] {
		return nil, fail("RRD error: opening '/var/lib/rrdcached/db/pve-vm-9.0/%d': No such file or directory", c.vmid())
	}
	n := c.world.Node(g.Node)
	nine := c.world.Version.Major() >= 9
	return c.rrd(func(t int64) object {
		if n == nil || !n.Online && t > n.OfflineSince {
			return nil
		}
		f := g.at(t)
		k := c.peak(g.Load.Seed, t)
		o := object{{"maxcpu", g.CPUs(n)}, {"maxmem", g.Memory()}, {"maxdisk", g.MaxDisk()}, {"cpu", math.Min(1, f.cpu*k)}, {"mem", f.mem},
			{"netin", f.netin * k}, {"netout", f.netout * k}, {"diskread", f.diskread * k}, {"diskwrite", f.diskwrite * k}, {"disk", 0}}
		if kind == apidoc.LXC && f.mem > 0 {
			o[len(o)-1].value = g.DiskUsed
		}
		if nine {
			o = append(o, member{"memhost", f.mem + f.mem/32}, member{"pressurecpusome", f.cpu}, member{"pressurecpufull", 0}, member{"pressureiosome", f.cpu / 3}, member{"pressureiofull", f.cpu / 4}, member{"pressurememorysome", 0}, member{"pressurememoryfull", 0})
		}
		return o
	}), nil
}

func storageRRD(c *call) (any, error) {
	s, err := c.theStorage()
	if err != nil {
		return nil, err
	}
	if s.Disabled {
		return nil, fail("RRD error: opening '/var/lib/rrdcached/db/pve-storage-9.0/%s/%s': No such file or directory", c.node(), s.ID)
	}
	p := s.look(apidoc.Node(c.node()))
	now := c.now.Unix()
	return c.rrd(func(t int64) object {
		if !s.active() && now-t < 3600 {
			return nil
		}
		// It has been filling up: a third of a per cent a week.
		grown := 1 - float64(now-t)/float64(7*day)*0.0033
		return object{{"total", p.Total}, {"used", int64(float64(p.Used) * math.Max(0.05, grown))}}
	}), nil
}
