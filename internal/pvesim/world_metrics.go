package pvesim

import (
	"math"

	"pvemcp/apidoc"
)

// The figures of guests and nodes are functions of time and of the guest, so
// that a list, a status and a series of the same moment agree without anybody
// keeping samples.

// noise is a smooth function of time between 0 and 1 with a period of change
// of about step seconds.
func noise(seed uint64, t int64, step int64) float64 {
	i := t / step
	f := float64(t%step) / float64(step)
	a, b := unit(seed+uint64(i)), unit(seed+uint64(i+1))
	return a + (b-a)*f
}

// unit spreads a number over 0 to 1.
func unit(x uint64) float64 { return float64(mix(x)>>11) / (1 << 53) }

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// busy is the share of its mean at which something works at a time: more by
// day than by night, and never quite the same; the mean over a day is about 1.
func (l Load) busy(t int64) float64 {
	day := 1 + 0.35*math.Sin(2*math.Pi*(float64(t%86400)/86400-0.375))
	return day * (0.55 + 0.9*(0.6*noise(l.Seed, t, 1800)+0.4*noise(l.Seed^0xabcd, t, 120)))
}

// figures is how a guest is doing at one moment; rates are bytes per second.
type figures struct {
	cpu                 float64
	mem                 int64
	netin, netout       float64
	diskread, diskwrite float64
}

// at gives the figures of a guest at a time; before its start they are zero.
func (g *Guest) at(t int64) figures { return g.atWith(t, g.Memory()) }

// atWith is at for who has looked the memory up.
func (g *Guest) atWith(t, memory int64) figures {
	if !g.Up() || t < g.Started {
		return figures{}
	}
	b := g.Load.busy(t)
	warm := math.Min(1, 0.3+float64(t-g.Started)/3600)
	f := figures{
		cpu:       math.Min(1, g.Load.CPU*b),
		mem:       int64(float64(memory) * math.Min(0.985, g.Load.Memory*(0.94+0.06*b)*warm)),
		netin:     g.Load.Net * b,
		netout:    g.Load.Net * b * (0.3 + unit(g.Load.Seed)),
		diskread:  g.Load.Disk * b * 0.6,
		diskwrite: g.Load.Disk * b,
	}
	if g.State == Paused || g.State == Prelaunch {
		f.cpu, f.netin, f.netout, f.diskread, f.diskwrite = 0, 0, 0, 0, 0
	}
	return f
}

// counters gives what a guest has sent, received, read and written since its start.
func (g *Guest) counters(t int64) (netin, netout, diskread, diskwrite int64) {
	if !g.Up() {
		return 0, 0, 0, 0
	}
	up := float64(max(t-g.Started, 0))
	in := g.Load.Net * up
	return int64(in), int64(in * (0.3 + unit(g.Load.Seed))), int64(g.Load.Disk * up * 0.6), int64(g.Load.Disk * up)
}

// uptime is in seconds.
func (g *Guest) uptime(t int64) int64 {
	if !g.Up() {
		return 0
	}
	return max(t-g.Started, 0)
}

// nodeFigures is how a node is doing at one moment.
type nodeFigures struct {
	cpu, iowait   float64
	mem           int64
	netin, netout float64
}

// add counts one of the node's guests in.
func (f *nodeFigures) add(n *Node, g *Guest, t int64) {
	if g.Up() {
		f.addSized(n, sized{g, g.CPUs(n), g.Memory()}, t)
	}
}

// sized is a guest with what a series needs at each of its points.
type sized struct {
	guest  *Guest
	cpus   int
	memory int64
}

func (f *nodeFigures) addSized(n *Node, g sized, t int64) {
	x := g.guest.atWith(t, g.memory)
	f.cpu += x.cpu * float64(g.cpus) / float64(max(n.CPUs, 1))
	f.mem += x.mem
	f.netin += x.netin
	f.netout += x.netout
}

// own adds what the host itself takes, and keeps the figures possible.
func (f *nodeFigures) own(n *Node, t int64) {
	b := n.Load.busy(t)
	f.cpu = math.Min(0.99, f.cpu+n.Load.CPU*b)
	f.iowait = 0.01 * b * n.Load.CPU * 5
	f.mem = min(f.mem+n.MemoryUsed, n.Memory*98/100)
	f.netin += n.Load.Net * b
	f.netout += n.Load.Net * b * 0.8
}

// at gives the figures of a node with these guests.
func (n *Node) at(guests []*Guest, t int64) nodeFigures {
	var f nodeFigures
	for _, g := range guests {
		f.add(n, g, t)
	}
	f.own(n, t)
	return f
}

// freshFor is how long the cluster shows what a node reported last.
const freshFor = 300

// reported tells whether the cluster knows figures of the node at a time.
func (n *Node) reported(t int64) bool {
	if n.Online && !n.Silent {
		return true
	}
	return n.OfflineSince > 0 && t-n.OfflineSince < freshFor
}

// known tells whether the cluster knows figures of the guest at a time.
func (w *World) known(g *Guest, n *Node, t int64) bool {
	return n != nil && n.reported(t) && !w.Faults.NoMetrics[g.ID]
}

// resourceStatus is the status of a guest in /cluster/resources.
func (w *World) resourceStatus(g *Guest, n *Node, t int64) RunState {
	if !w.known(g, n, t) {
		return "unknown"
	}
	if g.State == "" {
		return Stopped
	}
	return g.State
}

// loadavg makes the three figures of a node from its use.
func (n *Node) loadavg(f nodeFigures, t int64) [3]float64 {
	base := f.cpu * float64(n.CPUs)
	return [3]float64{base * (0.9 + 0.2*noise(n.Load.Seed, t, 60)), base * (0.9 + 0.2*noise(n.Load.Seed, t, 300)), base * (0.9 + 0.2*noise(n.Load.Seed, t, 900))}
}

// guestsByNode groups the guests in one pass, each group in no order.
func (w *World) guestsByNode() map[apidoc.Node][]*Guest {
	by := make(map[apidoc.Node][]*Guest, len(w.Nodes))
	for _, g := range w.guests {
		by[g.Node] = append(by[g.Node], g)
	}
	return by
}
