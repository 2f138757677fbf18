package curated

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// GuestInfoArgs are the arguments of pve_vm_info and pve_container_info.
type GuestInfoArgs struct {
	GuestRef
	Config bool `json:"config,omitempty" jsonschema:"description=whole configuration"`
	Shape
}

func (a GuestInfoArgs) options() render.Options { return a.Shape.options() }

var vmInfoTool = Tool[GuestInfoArgs, doc]{
	Name: "pve_vm_info", Toolset: "core", Class: apidoc.Read,
	Text: "Show one VM: state, addresses, disks, nets, snapshots.",
	Run: func(ctx context.Context, c *Call, in GuestInfoArgs) (doc, error) {
		return c.guestInfo(ctx, in, apidoc.QEMU)
	},
}

var containerInfoTool = Tool[GuestInfoArgs, doc]{
	Name: "pve_container_info", Toolset: "core", Class: apidoc.Read,
	Text: "Show one container: state, addresses, disks, nets, snapshots.",
	Run: func(ctx context.Context, c *Call, in GuestInfoArgs) (doc, error) {
		return c.guestInfo(ctx, in, apidoc.LXC)
	},
}

// guestFacts is what the requests for one guest brought.
type guestFacts struct {
	config    map[string]string
	status    map[string]string
	ha        string
	snapshots []snapshot
	// snapshotsKnown: without it, no snapshots does not mean that there are none.
	snapshotsKnown bool

	addresses []string
	missing   []string // what could not be had, and why
}

// snapshot is one snapshot of either kind of guest.
type snapshot struct {
	name, parent, description, state string
	time                             int64
	ram                              bool
}

func (c *Call) guestInfo(ctx context.Context, in GuestInfoArgs, kind apidoc.GuestKind) (doc, error) {
	var (
		g     *guest
		facts *guestFacts
		err   error
	)
	if in.Node != "" && in.VMID != 0 && in.Name == "" {
		node, perr := apidoc.ParseNode(in.Node)
		if perr != nil {
			return doc{}, badArg("node", "%v", perr)
		}
		if _, perr := apidoc.ParseVMID(strconv.Itoa(in.VMID)); perr != nil {
			return doc{}, badArg("vmid", "%v", perr)
		}
		g = &guest{ID: apidoc.VMID(in.VMID), Kind: kind, Node: node}
		if facts, err = c.guestFacts(ctx, g); err != nil {
			// Wrong node, wrong kind or gone: the cluster's list tells which. If
			// it can't, what the node said is the better answer.
			if found, ferr := c.ofKind(ctx, in.GuestRef, kind); ferr == nil && (found.Node != node || found.Kind != kind) {
				g, facts, err = found, nil, nil
			} else if ferr != nil && gone(err) {
				return doc{}, ferr
			}
		}
	} else {
		g, err = c.ofKind(ctx, in.GuestRef, kind)
	}
	if err == nil && facts == nil {
		facts, err = c.guestFacts(ctx, g)
	}
	if err != nil {
		return doc{}, err
	}
	return c.guestDoc(g, facts, in.Config), nil
}

// guestFacts asks side by side for what a person would look at. Without the
// configuration there is no answer; anything else may be missing.
func (c *Call) guestFacts(ctx context.Context, g *guest) (*guestFacts, error) {
	f := &guestFacts{}
	var (
		wg                          sync.WaitGroup
		configErr, statusErr, snErr error
	)
	wg.Go(func() {
		data, err := c.raw(func(api *generated.Client) error {
			if g.Kind == apidoc.QEMU {
				_, err := api.GetNodesQemuConfig(ctx, g.Node, g.ID, nil)
				return err
			}
			_, err := api.GetNodesLxcConfig(ctx, g.Node, g.ID, nil)
			return err
		})
		f.config, configErr = flatten(data), err
	})
	wg.Go(func() {
		data, err := c.raw(func(api *generated.Client) error {
			if g.Kind == apidoc.QEMU {
				_, err := api.GetNodesQemuStatusCurrent(ctx, g.Node, g.ID)
				return err
			}
			_, err := api.GetNodesLxcStatusCurrent(ctx, g.Node, g.ID)
			return err
		})
		f.status, statusErr = flatten(data), err
		f.ha = haState(data)
	})
	wg.Go(func() { f.snapshots, snErr = c.snapshots(ctx, g) })
	wg.Wait()
	if configErr != nil {
		return nil, configErr
	}
	miss := func(what string, err error) {
		if err != nil {
			f.missing = append(f.missing, what+": "+c.explain(ctx, c.Tool, err))
		}
	}
	miss("state", statusErr)
	miss("snapshots", snErr)
	f.snapshotsKnown = snErr == nil
	if f.status["status"] == "running" {
		var err error
		f.addresses, err = c.addresses(ctx, g, f.config)
		miss("addresses", err)
	}
	return f, nil
}

// haState reads the HA part of a status: "" for a guest that HA does not manage.
func haState(data json.RawMessage) string {
	var s struct {
		HA struct {
			Managed json.RawMessage `json:"managed"`
			State   string          `json:"state"`
		} `json:"ha"`
	}
	if json.Unmarshal(data, &s) != nil || strings.Trim(string(s.HA.Managed), `"`) != "1" {
		return ""
	}
	if s.HA.State == "" {
		return "managed"
	}
	return s.HA.State
}

// snapshots lists a guest's snapshots, oldest first, without "current".
func (c *Call) snapshots(ctx context.Context, g *guest) ([]snapshot, error) {
	var out []snapshot
	if g.Kind == apidoc.QEMU {
		list, err := c.api.GetNodesQemuSnapshot(ctx, g.Node, g.ID)
		if err != nil {
			return nil, err
		}
		for i := range list {
			s := &list[i]
			out = append(out, snapshot{name: s.Name.V, parent: s.Parent.V, description: s.Description.V, time: s.Snaptime.V, ram: s.Vmstate.V, state: s.Snapstate.V})
		}
	} else {
		list, err := c.api.GetNodesLxcSnapshot(ctx, g.Node, g.ID)
		if err != nil {
			return nil, err
		}
		for i := range list {
			s := &list[i]
			out = append(out, snapshot{name: s.Name.V, parent: s.Parent.V, description: s.Description.V, time: s.Snaptime.V, state: s.Snapstate.V})
		}
	}
	kept := out[:0]
	for _, s := range out {
		if s.name != "current" {
			kept = append(kept, s)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].time < kept[j].time })
	return kept, nil
}

// addresses asks the guest agent (VM) or the container for its addresses. A VM
// without an agent has none to tell, which is no failure.
func (c *Call) addresses(ctx context.Context, g *guest, config map[string]string) ([]string, error) {
	var list []string
	if g.Kind == apidoc.LXC {
		ifs, err := c.api.GetNodesLxcInterfaces(ctx, g.Node, g.ID)
		if err != nil {
			return nil, err
		}
		for i := range ifs {
			list = append(list, usefulAddresses(ifs[i].Name.V, ifs[i].Inet.V, ifs[i].Inet6.V)...)
		}
		return list, nil
	}
	if !agentEnabled(config["agent"]) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a hung agent must not hold the answer
	defer cancel()
	res, err := c.api.GetNodesQemuAgentNetworkGetInterfaces(ctx, g.Node, g.ID)
	if err != nil {
		return nil, err
	}
	// Generic agent calls answer 200 with an error inside when the guest refuses.
	var ifs []struct {
		Name      string `json:"name"`
		Addresses []struct {
			IP string `json:"ip-address"`
		} `json:"ip-addresses"`
	}
	if json.Unmarshal(res.Result, &ifs) != nil {
		return nil, fmt.Errorf("the guest agent refused: %s", clip(render.Line(string(res.Result))))
	}
	for _, nic := range ifs {
		var ips []string
		for _, a := range nic.Addresses {
			ips = append(ips, a.IP)
		}
		list = append(list, usefulAddresses(nic.Name, ips...)...)
	}
	return list, nil
}

// agentEnabled reads the agent key: "1", "enabled=1", "1,fstrim_cloned_disks=1".
func agentEnabled(s string) bool {
	p := properties(s)
	v := p[""]
	if v == "" {
		v = p["enabled"]
	}
	return v == "1"
}

// usefulAddresses leaves out loopback and link-local ones.
func usefulAddresses(iface string, ips ...string) []string {
	var out []string
	for _, s := range ips {
		bare, _, _ := strings.Cut(s, "/")
		ip, err := netip.ParseAddr(bare)
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		out = append(out, bare+" ("+iface+")")
	}
	return out
}

func (c *Call) guestDoc(g *guest, f *guestFacts, whole bool) doc {
	d := &render.Doc{}
	name := f.config["name"]
	if g.Kind == apidoc.LXC {
		name = f.config["hostname"]
	}
	state := f.status["status"]
	if q := f.status["qmpstatus"]; q != "" && q != state && state == "running" {
		state = q
	}
	if f.config["template"] == "1" {
		state = "template"
	}
	d.Summaryf("%s %d %s on %s: %s", g.Kind.Noun(), g.ID, name, g.Node, orUnknown(state))
	if g.Note != "" {
		d.Summary = append(d.Summary, g.Note)
	}
	for _, m := range f.missing {
		d.Warnf("Not available: %s", m)
	}
	kv := &render.KV{}
	if up := number(f.status["uptime"]); up > 0 {
		kv.Set("up", render.Seconds(up))
	}
	kv.Set("cpu", cpuCell(f))
	kv.Set("memory", memoryCell(f))
	if g.Kind == apidoc.LXC {
		if max := number(f.status["maxdisk"]); max > 0 && state == "running" {
			kv.Set("rootfs use", render.Usage(number(f.status["disk"]), max))
		}
	}
	kv.Set("addresses", render.List(f.addresses))
	kv.Set("lock", strCell(true, f.config["lock"]))
	kv.Set("ha", strCell(true, f.ha))
	if g.Row != nil {
		kv.Set("pool", strCell(true, g.Row.Pool.V))
	}
	kv.Set("tags", strCell(true, strings.Join(tagsOf(f.config["tags"]), " ")))
	kv.Set("start at boot", yesNo(f.config["onboot"] == "1"))
	if f.config["protection"] == "1" {
		kv.Set("protection", render.Str("on: Proxmox refuses to remove it or its disks"))
	}
	kv.Set("os", strCell(true, f.config["ostype"]))
	if g.Kind == apidoc.QEMU {
		kv.Set("agent", agentCell(f))
		kv.Set("boot", strCell(true, f.config["boot"]))
		kv.Set("firmware", strCell(true, f.config["bios"]))
		kv.Set("machine", strCell(true, f.config["machine"]))
	} else {
		kv.Set("unprivileged", yesNo(f.config["unprivileged"] == "1"))
		kv.Set("features", strCell(true, f.config["features"]))
		kv.Set("swap", strCell(true, mib(f.config["swap"])))
	}
	if f.snapshotsKnown {
		kv.Set("snapshots", snapshotCell(f.snapshots))
	}
	d.Add(kv)
	d.Add(disksTable(disksOf(f.config)), nicsTable(nicsOf(f.config)))
	if whole {
		d.Add(configBlock(f.config))
	} else {
		if text := f.config["description"]; text != "" {
			d.Add(&render.Fenced{ID: "notes", Heading: "Notes", Text: text})
		}
	}
	return doc{Doc: d}
}

func yesNo(b bool) render.Cell { return render.Str(render.FormatYesNo(b)) }

func orUnknown(s string) string {
	if s == "" {
		return "state unknown"
	}
	return s
}

// number reads a whole number or the whole part of one; what is none is 0.
func number(s string) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return int64(f)
}

func cpuCell(f *guestFacts) render.Cell {
	cores := f.config["cores"]
	text := ""
	switch {
	case cores == "" && f.status["cpus"] != "":
		text = render.FormatCount(int(number(f.status["cpus"])), "core")
	case cores == "":
	case f.config["sockets"] != "" && f.config["sockets"] != "1":
		text = f.config["sockets"] + "×" + cores + " cores"
	default:
		text = render.FormatCount(int(number(cores)), "core")
	}
	if f.status["status"] == "running" {
		if use, err := strconv.ParseFloat(f.status["cpu"], 64); err == nil {
			text = joinNonEmpty(", ", text, render.FormatPct(use)+" used")
		}
	}
	if t := f.config["cpu"]; t != "" {
		text = joinNonEmpty(", ", text, "type "+t)
	}
	return strCell(true, text)
}

func memoryCell(f *guestFacts) render.Cell {
	max := number(f.status["maxmem"])
	if max == 0 {
		max = number(f.config["memory"]) << 20
	}
	if max == 0 {
		return render.None()
	}
	if f.status["status"] == "running" {
		return render.Usage(number(f.status["mem"]), max)
	}
	return render.Bytes(max)
}

func agentCell(f *guestFacts) render.Cell {
	if !agentEnabled(f.config["agent"]) {
		return render.Str("not enabled in the configuration")
	}
	return render.Str("enabled")
}

func mib(s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return ""
	}
	return render.FormatBytes(n << 20)
}

// snapshotCell gives the number and the newest few.
func snapshotCell(list []snapshot) render.Cell {
	if len(list) == 0 {
		return render.Str("none")
	}
	var names []string
	for i := len(list) - 1; i >= 0 && len(names) < 5; i-- {
		names = append(names, fmt.Sprintf("%s (%s)", list[i].name, render.FormatTime(time.Unix(list[i].time, 0))))
	}
	more := ""
	if len(list) > len(names) {
		more = ", …"
	}
	return render.Str(fmt.Sprintf("%d: %s%s", len(list), strings.Join(names, ", "), more))
}
