package pvesim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pvemcp/apidoc"
)

func init() {
	register("GET /nodes/{node}/status", nodeStatus)
	register("GET /nodes/{node}/network", nodeNetwork)
	register("GET /nodes/{node}/network/{iface}", nodeInterface)
	register("GET /nodes/{node}/services", nodeServices)
	register("GET /nodes/{node}/services/{service}/state", nodeService)
	register("GET /nodes/{node}/syslog", nodeSyslog)
	register("GET /nodes/{node}/journal", nodeJournal)
	register("GET /nodes/{node}/dns", nodeDNS)
	register("GET /nodes/{node}/time", nodeTime)
	register("GET /nodes/{node}/hosts", nodeHosts)
	register("GET /nodes/{node}/config", nodeConfig)
	register("GET /nodes/{node}/netstat", nodeNetstat)
	register("GET /nodes/{node}/report", nodeReport)
	register("GET /nodes/{node}/aplinfo", nodeTemplates)
	register("GET /nodes/{node}/apt/update", aptUpdates)
	register("GET /nodes/{node}/apt/versions", aptVersions)
	register("GET /nodes/{node}/apt/repositories", aptRepositories)
	register("GET /nodes/{node}/certificates/info", certificateInfo)
	register("GET /nodes/{node}/subscription", nodeSubscription)
}

func nodeStatus(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	t := c.now.Unix()
	f := n.at(c.world.GuestsOn(n.Name, ""), t)
	load := n.loadavg(f, t)
	mode := object{{"mode", "legacy-bios"}}
	if n.EFI {
		mode = object{{"mode", "efi"}, {"secureboot", number01(n.SecureBoot)}}
	}
	vendor := "AuthenticAMD"
	if strings.HasPrefix(n.CPUModel, "Intel") {
		vendor = "GenuineIntel"
	}
	memory := object{{"total", n.Memory}, {"used", f.mem}, {"free", max(n.Memory-f.mem-n.MemoryUsed/2, 0)}}
	if c.world.Version.Major() >= 9 {
		memory.put("available", n.Memory-f.mem)
	}
	return c.one(object{
		{"uptime", t - n.Booted}, {"idle", 0}, {"wait", f.iowait}, {"cpu", f.cpu},
		{"loadavg", []string{fmt.Sprintf("%.2f", load[0]), fmt.Sprintf("%.2f", load[1]), fmt.Sprintf("%.2f", load[2])}},
		{"cpuinfo", object{{"cpus", n.CPUs}, {"cores", n.CPUs / max(n.Sockets, 1) / 2}, {"sockets", n.Sockets}, {"model", n.CPUModel}, {"mhz", n.MHz}, {"vendor", vendor}, {"family", "25"}, {"flags", "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr sse sse2 ht syscall nx lm aes avx avx2"}, {"hvm", "1"}, {"user_hz", 100}, {"x86-64-level", "3"}}},
		{"memory", memory}, {"swap", object{{"total", n.Swap}, {"used", n.SwapUsed}, {"free", n.Swap - n.SwapUsed}}}, {"ksm", object{{"shared", 0}}},
		{"rootfs", object{{"total", n.Root}, {"used", n.RootUsed}, {"free", n.Root - n.RootUsed}, {"avail", max(n.Root-n.RootUsed-n.Root/20, 0)}}},
		{"kversion", "Linux " + n.Kernel + " #1 SMP PREEMPT_DYNAMIC PMX " + n.Kernel}, {"current-kernel", object{{"sysname", "Linux"}, {"release", n.Kernel}, {"version", "#1 SMP PREEMPT_DYNAMIC PMX " + n.Kernel}, {"machine", "x86_64"}}},
		{"boot-info", mode}, {"pveversion", "pve-manager/" + c.world.Version.Version + "/" + c.world.Version.RepoID},
	}), nil
}

func (i *Interface) object() object {
	o := object{{"iface", i.Name}, {"type", i.Type}, {"priority", i.Priority}}
	o.flagIf("active", i.Active)
	o.flagIf("autostart", i.Autostart)
	o.flagIf("exists", i.Exists)
	if len(i.Families) > 0 {
		o.put("families", i.Families)
	}
	if len(i.AltNames) > 0 {
		o.put("altnames", i.AltNames)
	}
	i.Options.Each(func(k, v string) bool {
		if k == "bridge_vlan_aware" {
			o.put(k, atoi(v))
		} else {
			o.put(k, v)
		}
		return true
	})
	return o
}

// nodeNetwork hides bridges from who may not use them, and shows changes that
// wait beside the list.
func nodeNetwork(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	kind := c.param("type")
	list := []object{}
	for _, i := range n.Interfaces {
		bridge := i.Type == "bridge" || i.Type == "OVSBridge"
		switch kind {
		case "", i.Type:
		case "any_bridge", "any_local_bridge", "include_sdn":
			if !bridge {
				continue
			}
		default:
			continue
		}
		if bridge && !c.seesAll() && !c.anyPriv("/sdn/zones/localnetwork/"+i.Name, "SDN.Audit", "SDN.Use") {
			continue
		}
		list = append(list, i.object())
	}
	if n.NetChanges != "" {
		c.say("changes", n.NetChanges)
	}
	return c.rows(list), nil
}

func nodeInterface(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	for _, i := range n.Interfaces {
		if i.Name == c.path["iface"] {
			return c.one(i.object()), nil
		}
	}
	return nil, refuse("iface", "interface does not exist")
}

func (s *Service) object() object {
	return object{{"service", s.Name}, {"name", s.Name}, {"desc", s.Description}, {"state", s.State}, {"active-state", s.ActiveState}, {"unit-state", s.UnitState}}
}

func nodeServices(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, s := range n.Services {
		list = append(list, s.object())
	}
	return c.rows(list), nil
}

func nodeService(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	for _, s := range n.Services {
		if s.Name == c.path["service"] {
			return c.one(s.object()), nil
		}
	}
	return nil, fail("no such service '%s'", c.path["service"])
}

// systemLog makes the lines that every node writes, with the world's own among
// them, oldest first: one about every two minutes of the last day.
func (w *World) systemLog(n *Node, now int64) []LogLine {
	texts := [...]string{"systemd[1]: Starting Daily apt download activities...", "pvestatd[1437]: status update time (%d.214 seconds)", "pvedaemon[2211]: <root@pam> successful auth for user 'root@pam'", "pmxcfs[1320]: [status] notice: received log", "CRON[%d]: pam_unix(cron:session): session opened for user root(uid=0) by root(uid=0)", "chronyd[1190]: Selected source 10.10.0.1", "smartd[1077]: Device: /dev/sda [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 68 to 67", "postfix/qmgr[1402]: queue run"}
	first := max(now-day, n.Booted)
	var lines []LogLine
	for t := first - first%120 + 120; t <= now; t += 120 {
		h := mix(n.Load.Seed + uint64(t))
		text := texts[h%uint64(len(texts))]
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, 5+h>>8%20)
		}
		lines = append(lines, LogLine{t + int64(h>>32%100), text})
	}
	lines = append(lines, n.Syslog...)
	slices.SortStableFunc(lines, func(a, b LogLine) int { return int(a.Time - b.Time) })
	return lines
}

func (n *Node) logLine(l LogLine) string {
	return time.Unix(l.Time, 0).UTC().Format("Jan 02 15:04:05 ") + string(n.Name) + " " + l.Text
}

// nodeSyslog pages from the oldest line on; since and until are times of day.
func nodeSyslog(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	bound := func(name string, def int64) int64 {
		for _, form := range [...]string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
			if t, err := time.ParseInLocation(form, c.param(name), time.UTC); err == nil {
				return t.Unix()
			}
		}
		return def
	}
	since, until := bound("since", 0), bound("until", 1<<62)
	service := c.param("service")
	var lines []string
	for _, l := range c.world.systemLog(n, c.now.Unix()) {
		if l.Time >= since && l.Time <= until && (service == "" || strings.HasPrefix(l.Text, service)) {
			lines = append(lines, n.logLine(l))
		}
	}
	return c.page(lines, 50, false), nil
}

// nodeJournal gives lines as texts between two cursors.
func nodeJournal(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	since, until, last := c.number("since", 0), c.number("until", 1<<62), int(c.number("lastentries", 0))
	var lines []string
	for _, l := range c.world.systemLog(n, c.now.Unix()) {
		if l.Time >= since && l.Time <= until {
			lines = append(lines, n.logLine(l))
		}
	}
	if last > 0 && len(lines) > last {
		lines = lines[len(lines)-last:]
	}
	cursor := func(i int) string { return fmt.Sprintf("s=%s;i=%x", digestOf(string(n.Name))[:32], i) }
	return append(append([]string{cursor(0)}, lines...), cursor(len(lines))), nil
}

func nodeDNS(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	return c.one(configObject(&n.DNS, nil)), nil
}

func nodeTime(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	zone := n.Timezone
	if zone == "" {
		zone = "UTC"
	}
	offset := int64(0)
	if l, err := time.LoadLocation(zone); err == nil {
		_, o := c.now.In(l).Zone()
		offset = int64(o)
	}
	return c.one(object{{"timezone", zone}, {"time", c.now.Unix()}, {"localtime", c.now.Unix() + offset}}), nil
}

func nodeHosts(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	return c.one(object{{"data", n.Hosts}, {"digest", digestOf(n.Hosts)}}), nil
}

func nodeConfig(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	o := object{}
	n.Config.Each(func(k, v string) bool {
		if !c.has("property") || c.param("property") == k {
			o.put(k, v)
		}
		return true
	})
	return c.one(append(o, member{"digest", n.Config.Digest()})), nil
}

func nodeNetstat(c *call) (any, error) {
	list := []object{}
	for _, g := range c.world.GuestsOn(apidoc.Node(c.node()), "") {
		if !g.Up() || !c.seesGuest(g.ID) {
			continue
		}
		in, out, _, _ := g.counters(c.now.Unix())
		for _, k := range g.Config.Keys() {
			if indexed(k, "net") {
				list = append(list, object{{"vmid", g.ID.String()}, {"dev", k}, {"in", fmt.Sprint(in)}, {"out", fmt.Sprint(out)}})
			}
		}
	}
	return c.rows(list), nil
}

func nodeReport(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "==== general system info ====\n\n# hostname\n%s\n\n# pveversion --verbose\n", n.Name)
	for _, p := range n.Packages {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Version)
	}
	b.WriteString("\n# cat /etc/hosts\n" + n.Hosts + "\n# pvesm status\n")
	for _, s := range c.world.Storages {
		if s.On(n.Name) {
			p := s.look(n.Name)
			fmt.Fprintf(&b, "%s %s %d %d\n", s.ID, s.Type, p.Total/kib, p.Used/kib)
		}
	}
	return b.String(), nil
}

// systemTemplates are those that can be downloaded: package, version, system, headline.
var systemTemplates = [...][4]string{{"debian-13-standard", "13.1-2", "debian-13", "Debian 13"}, {"alpine-3.22-default", "20250617", "alpine", "Alpine 3.22"}, {"ubuntu-24.04-standard", "24.04-2", "ubuntu-24.04", "Ubuntu 24.04"}}

// knownTemplates are their file names.
func knownTemplates() []string {
	var names []string
	for _, t := range systemTemplates {
		names = append(names, t[0]+"_"+t[1]+"_amd64.tar.zst")
	}
	return names
}

func nodeTemplates(c *call) (any, error) {
	list := []object{}
	for _, t := range systemTemplates {
		list = append(list, object{{"package", t[0]}, {"version", t[1]}, {"os", t[2]}, {"headline", t[3]}, {"section", "system"}, {"type", "lxc"}, {"template", t[0] + "_" + t[1] + "_amd64.tar.zst"}, {"architecture", "amd64"}, {"source", "http://download.proxmox.com/images"}})
	}
	return c.rows(list), nil
}

func (p *Package) object(installed bool) object {
	o := object{{"Package", p.Name}, {"Title", p.Title}, {"Description", p.Title}, {"Section", p.Section}, {"Priority", p.Priority}, {"Arch", p.Arch}, {"Origin", p.Origin}, {"Version", p.Version}}
	o.putIf("OldVersion", p.OldVersion)
	if installed {
		o.put("CurrentState", p.State)
	}
	return o
}

func aptUpdates(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, p := range n.Updates {
		list = append(list, p.object(false))
	}
	return c.rows(list), nil
}

func aptVersions(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, p := range n.Packages {
		o := p.object(true)
		if p.Name == "proxmox-ve" {
			o.put("RunningKernel", n.Kernel)
		}
		if p.Name == "pve-manager" {
			o.put("ManagerVersion", c.world.Version.Version)
		}
		list = append(list, o)
	}
	return c.ordered(list), nil
}

func aptRepositories(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	handle, uri, component := "no-subscription", "http://download.proxmox.com/debian/pve", "pve-no-subscription"
	if n.Subscription.Status == "active" {
		handle, uri, component = "enterprise", "https://enterprise.proxmox.com/debian/pve", "pve-enterprise"
	}
	repo := func(uri, suite string, components ...string) object {
		return object{{"Types", []string{"deb"}}, {"URIs", []string{uri}}, {"Suites", []string{suite}}, {"Components", components}, {"Enabled", 1}, {"FileType", "sources"}}
	}
	return c.one(object{
		{"digest", digestOf(uri)}, {"errors", []object{}},
		{"files", []object{
			{{"path", "/etc/apt/sources.list.d/debian.sources"}, {"file-type", "sources"}, {"digest", []any{1, 2, 3}}, {"repositories", []object{repo("http://deb.debian.org/debian", "trixie", "main", "contrib"), repo("http://security.debian.org/debian-security", "trixie-security", "main")}}},
			{{"path", "/etc/apt/sources.list.d/proxmox.sources"}, {"file-type", "sources"}, {"digest", []any{4, 5, 6}}, {"repositories", []object{repo(uri, "trixie", component)}}},
		}},
		{"infos", []object{}}, {"standard-repos", []object{{{"handle", handle}, {"name", handle}, {"status", 1}}}},
	}), nil
}

func certificateInfo(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, k := range n.Certificates {
		pem := k.PEM
		if pem == "" {
			pem = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVkOiB0aGVyZSBpcyBubyBjZXJ0aWZpY2F0ZSBoZXJl\n-----END CERTIFICATE-----\n"
		}
		o := object{{"filename", k.File}, {"fingerprint", k.Fingerprint}, {"subject", k.Subject}, {"issuer", k.Issuer}, {"notbefore", k.NotBefore}, {"notafter", k.NotAfter}, {"public-key-type", k.KeyType}, {"public-key-bits", k.KeyBits}, {"pem", pem}}
		if k.SAN != nil {
			o.put("san", k.SAN)
		}
		list = append(list, o)
	}
	return c.rows(list), nil
}

// nodeSubscription shows all but the state to auditors of the node alone.
func nodeSubscription(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	s := n.Subscription
	status := s.Status
	if status == "" {
		status = "notfound"
	}
	o := object{{"status", status}, {"url", "https://www.proxmox.com/en/proxmox-virtual-environment/pricing"}}
	o.putIf("message", s.Message)
	if c.seesAll() || c.priv("/nodes/"+c.node(), "Sys.Audit") {
		o.putIf("serverid", s.Server)
		o.putIf("key", s.Key)
		o.putIf("level", s.Level)
		o.putIf("productname", s.Product)
		o.putIf("nextduedate", s.DueDate)
		o.put("sockets", max(s.Sockets, n.Sockets))
		if s.Checked > 0 {
			o.put("checktime", s.Checked)
		}
	}
	return c.one(o), nil
}
