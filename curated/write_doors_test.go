package curated

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/generated"
	"pvemcp/internal/pvesim"
)

// specimen is a call of a method whose parameters Proxmox's check would accept.
type specimen struct {
	effect generated.Effect
	path   string
	params map[string]any
	whole  bool // it passes the check
}

// sampleValues are tried for a parameter until the check has nothing against
// one of them.
var sampleValues = []string{
	"100", "1", "pve1", "nas", "x1", "x1@pve", "10.0.0.1", "vmbr9", "10.0.0.0/24", "http://127.0.0.1/x", "vm:100", "scsi0", "rootfs", "net0", "2G", "keep-last=1",
	"nas:iso/debian-13.iso", "nas:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst", "/dev/sdb", "/vms/100", "00:11:22:33:44:55", "x.iso", "100-0", "pve1:100", "a=b", "hourly",
	"2026-01-01", "Europe/Berlin", "a@example.com", "AA:BB", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", runningTask, "12345678", strings.Repeat("a", 40), strings.Repeat("0", 64), "x1@pve!t", "PVEAuditor", "example.com", "pve2-abcdefghijk",
}

// specimens gives a call for every method that is not a harmless read, on guest
// 100 wherever one is named in the path.
var specimens = sync.OnceValue(func() []specimen {
	schema, err := apidoc.Snapshot(apidoc.Newest)
	if err != nil {
		panic(err)
	}
	var out []specimen
	for _, e := range generated.Effects() {
		if e.Verb == apidoc.GET && e.Policy.Class == apidoc.Read {
			continue
		}
		s := specimen{effect: e, params: map[string]any{}}
		segments := strings.Split(strings.Trim(e.Path, "/"), "/")
		for i, part := range segments {
			name, isParam := strings.CutPrefix(part, "{")
			if !isParam {
				continue
			}
			value := map[string]string{"node": "pve1", "vmid": "100", "upid": runningTask, "volume": "nas:iso/debian-13.iso", "storage": "nas", "sid": "vm:100", "poolid": "dev", "pool": "dev", "pos": "0", "userid": "low@pve", "tokenid": "audit", "cidr": "10.0.0.1", "snapname": "clean", "delay": "1", "osdid": "0", "service": "cron", "flag": "noout", "order": "1", "subnet": "z1-10.0.0.0-24"}[strings.TrimSuffix(name, "}")]
			if value == "" {
				value = "x1"
			}
			if name == "id}" && strings.Contains(e.Path, "replication") {
				value = "100-0"
			}
			segments[i] = value
		}
		s.path = apidoc.JoinPath(segments)
		if match, err := schema.Lookup(e.Verb, s.path); err == nil {
			if m, err := match.Method(); err == nil {
				s.whole = s.complete(m, match.Values)
			}
		}
		out = append(out, s)
	}
	return out
})

// complete gives values to the parameters that the check misses.
func (s *specimen) complete(m *apidoc.Method, values []apidoc.PathValue) bool {
	params := apidoc.Params{}
	for range 12 {
		fault := m.Check(values, params)
		if fault == nil {
			for name, v := range params {
				s.params[name] = v[0]
			}
			return true
		}
		name := fault.Faults[0].Param
		candidates := sampleValues
		if p, ok := m.Property(name); ok && len(p.Enum) > 0 {
			candidates = p.Enum
		}
		found := slices.ContainsFunc(candidates, func(v string) bool {
			params[name] = []string{v}
			f := m.Check(values, params)
			return f == nil || !slices.Contains(f.Params(), name)
		})
		if !found {
			return false
		}
	}
	return false
}

func (s *specimen) raw(more ...any) args {
	return with(args{"verb": string(s.effect.Verb), "path": s.path, "params": s.params}, more...)
}

// exposedArgs are the same call for the method's own tool.
func (s *specimen) exposedArgs(more ...any) args {
	out := args{}
	for k, v := range s.params {
		out[k] = v
	}
	want := strings.Split(strings.Trim(s.effect.Path, "/"), "/")
	have := strings.Split(strings.Trim(s.path, "/"), "/")
	for i, part := range want {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			v := have[i]
			if i == len(want)-1 {
				v = strings.Join(have[i:], "/")
			}
			out[strings.TrimSuffix(name, "}")] = v
		}
	}
	return with(out, more...)
}

func (s *specimen) String() string { return string(s.effect.Verb) + " " + s.effect.Path }

// exposedBy gives servers that offer the methods as tools, as many as are needed.
func exposedBy(t *testing.T, sim *pvesim.Server, list []specimen, change func(*Options), f func(r *rig, s *specimen)) {
	t.Helper()
	for group := range slices.Chunk(list, maxExposed) {
		var patterns []string
		for i := range group {
			patterns = append(patterns, group[i].String())
		}
		r := labRig(t, live{sim: sim, options: func(o *Options) {
			o.Expose = strings.Join(patterns, ",")
			change(o)
		}})
		for i := range group {
			f(r, &group[i])
		}
	}
}

// sentNothing holds that f sends nothing but reads that are harmless.
func sentNothing(r *rig, what string, f func()) {
	r.t.Helper()
	before := len(r.sim.Requests())
	f()
	for _, q := range r.sim.Requests()[before:] {
		if err := harmless(q); err != nil {
			r.t.Fatalf("%s sent %s %s: %v", what, q.Verb, q.Target, err)
		}
	}
}

// Every method that is no harmless read, through both doors for any method: shut
// in readonly, shut without confirmation, shut for a shell, whatever flags are
// set.
func TestEveryMethodThroughEveryDoor(t *testing.T) {
	list := specimens()
	writes, whole := 0, 0
	for i := range list {
		if list[i].effect.Verb != apidoc.GET {
			writes++
		}
		if list[i].whole {
			whole++
		} else {
			t.Logf("no valid specimen: %s", &list[i])
		}
	}
	require.GreaterOrEqual(t, writes, 335)
	require.Greater(t, whole, len(list)*9/10, "specimens that pass the check")
	flags := []any{"confirm", true, "i_understand_data_loss", true}
	sim := labSim(t, 0)

	t.Run("raw", func(t *testing.T) {
		readonly := labRig(t, live{sim: sim, mode: gate.ReadOnly})
		full := labRig(t, live{sim: sim})
		for i := range list {
			s := &list[i]
			sentNothing(readonly, s.String(), func() {
				readonly.fails("pve_raw_call", s.raw(flags...), "readonly")
				if s.effect.Verb == apidoc.GET {
					text := readonly.fails("pve_raw_get", args{"path": s.path, "query": s.params})
					if s.whole {
						assert.Contains(t, text, "Nothing was sent", s)
					}
				}
			})
			sentNothing(full, s.String(), func() {
				if s.effect.Verb == apidoc.GET {
					full.call("pve_raw_get", args{"path": s.path, "query": s.params})
					return
				}
				text := full.fails("pve_raw_call", s.raw())
				text2 := full.fails("pve_raw_call", s.raw("i_understand_data_loss", true))
				if !s.whole || strings.Contains(text, notByToken) {
					return
				}
				switch class := s.class(); {
				case class == apidoc.Shell:
					assert.Contains(t, text, "PROXMOX_SHELL", s)
					full.fails("pve_raw_call", s.raw(flags...), "PROXMOX_SHELL")
				case class.Rank() >= apidoc.Destroy.Rank():
					assert.Contains(t, text+text2, "confirm=true", s)
					full.fails("pve_raw_call", s.raw("confirm", true), "i_understand_data_loss=true")
				default:
					assert.Contains(t, text+text2, "confirm=true", s)
				}
			})
		}
	})

	t.Run("exposed", func(t *testing.T) {
		exposedBy(t, sim, list, func(o *Options) { o.Mode = gate.ReadOnly }, func(r *rig, s *specimen) {
			sentNothing(r, s.String(), func() { r.call(exposedName(exposedMethod{s.effect.Verb, s.effect.Path}), s.exposedArgs(flags...)) })
		})
		offered := 0
		exposedBy(t, sim, list, func(*Options) {}, func(r *rig, s *specimen) {
			name := exposedName(exposedMethod{s.effect.Verb, s.effect.Path})
			sentNothing(r, s.String(), func() {
				text := r.fails(name, s.exposedArgs())
				if r.server.byName[name] == nil {
					assert.Contains(t, text, "is not offered", s)
					return
				}
				offered++
				if strings.Contains(text, notByToken) {
					return
				}
				if s.whole {
					assert.Contains(t, text, "confirm=true", s)
				}
				if s.class().Rank() >= apidoc.Destroy.Rank() {
					r.fails(name, s.exposedArgs("confirm", true))
				}
			})
		})
		assert.Greater(t, offered, 250)
	})
}

// notByToken ends the refusal of what no token may do.
const notByToken = "Nothing was sent. The way round: "

// touches100 tells whether the call names guest 100, by its path or by a
// parameter that may.
func (s *specimen) touches100() bool {
	if strings.Contains(s.effect.Path, "{vmid}") || strings.Contains(s.effect.Path, "{sid}") || strings.Contains(s.path, "100-0") {
		return true
	}
	refs := s.effect.Policy.Refs
	for _, ref := range slices.Concat(refs.Guests, refs.SIDs, refs.Jobs) {
		if v := fmt.Sprint(s.params[string(ref)]); v == "100" || v == "vm:100" || v == "100-0" {
			return true
		}
	}
	return false
}

// class is what the specimen's call is judged as.
func (s *specimen) class() apidoc.Class {
	params := map[string][]string{}
	for k, v := range s.exposedArgs() {
		params[k] = []string{fmt.Sprint(v)}
	}
	return s.effect.Policy.ClassOf(params)
}

// With a guest protected, nothing that touches it is sent, whoever agrees, and
// shells of hosts are not either; and with an allow-list, nothing beside it.
func TestProtectionThroughEveryDoor(t *testing.T) {
	var list []specimen
	for _, s := range specimens() {
		if s.whole && s.touches100() {
			list = append(list, s)
		}
	}
	require.Greater(t, len(list), 100)
	flags := []any{"confirm", true, "i_understand_data_loss", true, "wait_seconds", 0}
	sim := labSim(t, 0)
	for _, c := range []struct{ protect, allow string }{{"vmid:100", ""}, {"tag:prod", ""}, {"pool:dev", ""}, {"", "vmid:111"}} {
		t.Run(c.protect+c.allow, func(t *testing.T) {
			rules := func(o *Options) {
				var err error
				o.Shell = gate.ShellFull
				o.Protect, err = gate.ParseRules(c.protect)
				require.NoError(t, err)
				o.Allow, err = gate.ParseRules(c.allow)
				require.NoError(t, err)
			}
			r := labRig(t, live{sim: sim, options: rules})
			for i := range list {
				s := &list[i]
				sentNothing(r, s.String(), func() {
					if s.effect.Verb != apidoc.GET {
						text := r.fails("pve_raw_call", s.raw(flags...))
						assert.Regexp(t, `PROXMOX_(PROTECT|ALLOW|HOST_SHELL)`, text, s)
						r.fails("pve_raw_call", s.raw("dry_run", true))
					}
				})
			}
			if c.protect != "vmid:100" {
				return
			}
			exposedBy(t, sim, list, rules, func(r *rig, s *specimen) {
				sentNothing(r, s.String(), func() {
					r.fails(exposedName(exposedMethod{s.effect.Verb, s.effect.Path}), s.exposedArgs(flags...))
				})
			})
		})
	}
	// The same for every tool: all cases that name the guest, and all over all
	// guests.
	rules, err := gate.ParseRules("vmid:100-114")
	require.NoError(t, err)
	r := labRig(t, live{sim: sim, options: func(o *Options) { o.Protect, o.Expose = rules, exposedPattern }})
	for _, c := range writeCases() {
		switch c.name { // these name none of them
		case "raw_access", "exposed_acl", "task_stop", "create_vm", "create_vm_start", "create_ct", "clone_full", "clone_linked", "clone_ct", "restore_new", "restore_new_ct":
			continue
		}
		sentNothing(r, c.name, func() { r.fails(c.tool, c.consented(), "PROXMOX_PROTECT") })
	}
}
