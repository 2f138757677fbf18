package curated

import (
	"strings"

	"pvemcp/apidoc"
)

// sample is a value of a parameter that makes the rules which the schema hides
// say what they want for it.
type sample struct {
	value string
	what  string // what the value stands for, where that isn't any value
}

// samples by the name of the parameter; others are tried with a placeholder.
// Where a rule looks into the value, several say which value wants what.
var samples = map[string][]sample{
	"net[n]":       {{"virtio,bridge={bridge}", ""}},
	"usb[n]":       {{"mapping={id}", "a mapping"}, {"host=1234:5678", "a real device"}},
	"hostpci[n]":   {{"mapping={id}", "a mapping"}, {"0000:01:00", "a real device"}},
	"serial[n]":    {{"socket", "socket"}, {"/dev/ttyS0", "a real device"}},
	"rng0":         {{"source=/dev/urandom", ""}},
	"virtiofs[n]":  {{"dirid={id}", ""}},
	"features":     {{"nesting=1", "nesting"}, {"mount=nfs", "other flags"}},
	"unprivileged": {{"0", "0"}},
	"ostemplate":   {{"{storage}:vztmpl/t.tar.zst", ""}},
	"cpu":          {{"host", ""}},
	"mp[n]":        {{"{storage}:1", "a new volume"}, {"/srv", "a path of the host"}},
	"rootfs":       {{"{storage}:1", "a new volume"}},
}

func init() {
	disk := []sample{{"{storage}:1", "a new disk"}, {"{storage}:iso/x.iso,media=cdrom", "a CD"}}
	for _, name := range []string{"scsi[n]", "virtio[n]", "sata[n]", "ide[n]"} {
		samples[name] = disk
	}
	samples["efidisk0"], samples["tpmstate0"] = disk[:1], disk[:1]
}

// notAsked are parameters that never want anything by themselves.
var notAsked = map[string]bool{"node": true, "delete": true, "revert": true, "digest": true}

// paramDemand is what a parameter wants beyond the method's own permission.
type paramDemand struct {
	need apidoc.Need
	what string // of which values; "" of any
}

func (d paramDemand) words() string {
	w := needWords(d.need, nil)
	if d.need.Root {
		w = "root@pam only"
	}
	if d.what != "" {
		w = d.what + ": " + w
	}
	return w
}

// hiddenDemands asks the rules that the schema does not show what the call as
// such wants, and what each of its parameters adds. Placeholders stand for
// values: /storage/{storage}.
func hiddenDemands(m *apidoc.Method, version string, values []apidoc.PathValue) (always []apidoc.Need, byParam map[string][]paramDemand) {
	base := apidoc.Params{}
	for _, name := range m.PathParams() {
		base[name] = []string{"{" + name + "}"}
	}
	for _, v := range values {
		base[v.Name] = []string{v.Value}
	}
	op := string(m.Verb) + " " + m.Path
	if (op == "POST /nodes/{node}/qemu" || op == "POST /nodes/{node}/lxc") && base["vmid"] == nil {
		base["vmid"] = []string{"{vmid}"}
	}
	ask := func(params apidoc.Params) []apidoc.Need {
		return apidoc.ExtraNeeds(apidoc.Asking{Verb: m.Verb, Path: m.Path, Params: params, Version: version, Zone: zoneOf})
	}
	plain := map[string]bool{}
	for _, n := range ask(base) {
		if key := bare(n); !plain[key] {
			plain[key] = true
			always = append(always, n)
		}
	}
	byParam = map[string][]paramDemand{}
	for _, p := range declared(m.Parameters) {
		if notAsked[p.name] || base[p.name] != nil {
			continue
		}
		tries := samples[p.name]
		if tries == nil {
			tries = []sample{{value: "{" + strings.TrimSuffix(p.name, "[n]") + "}"}}
			if p.schema.Type == apidoc.Boolean {
				tries = []sample{{value: "1"}}
			}
		}
		wire := strings.Replace(p.name, "[n]", "0", 1)
		var found []paramDemand
		for _, s := range tries {
			params := make(apidoc.Params, len(base)+1)
			for k, v := range base {
				params[k] = v
			}
			params[wire] = []string{s.value}
			for _, n := range ask(params) {
				if key := bare(n); !plain[key] && !hasDemand(found, n, s.what) {
					n.Param = ""
					found = append(found, paramDemand{n, s.what})
				}
			}
		}
		if len(found) > 0 {
			byParam[p.name] = merged(found, tries)
		}
	}
	return always, byParam
}

func bare(n apidoc.Need) string {
	n.Param = ""
	return n.String()
}

func hasDemand(list []paramDemand, n apidoc.Need, what string) bool {
	for _, d := range list {
		if bare(d.need) == bare(n) && d.what == what {
			return true
		}
	}
	return false
}

// merged says a demand once that every sample made.
func merged(found []paramDemand, tries []sample) []paramDemand {
	if len(tries) < 2 {
		return found
	}
	count := map[string]int{}
	for _, d := range found {
		count[bare(d.need)]++
	}
	var out []paramDemand
	done := map[string]bool{}
	for _, d := range found {
		key := bare(d.need)
		if count[key] == len(tries) {
			if done[key] {
				continue
			}
			done[key] = true
			d.what = ""
		}
		out = append(out, d)
	}
	return out
}
