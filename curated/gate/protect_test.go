package gate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// naming100 are the values by which each kind of reference names guest 100.
func naming100(refs apidoc.Refs) map[apidoc.ParamRef][]string {
	out := map[apidoc.ParamRef][]string{}
	for _, r := range refs.Guests {
		out[r] = append(out[r], "100", "200,100", "300;100", "950 100", "+100", "0100", "100\n", "\u00a0100")
	}
	for _, r := range refs.SIDs {
		out[r] = append(out[r], "vm:100", "100", "ct:300,vm:100", "ct:100")
	}
	for _, r := range refs.Jobs {
		out[r] = append(out[r], "100-0", "100-12")
	}
	for _, r := range refs.UPIDs {
		for _, id := range []string{"100", "100@local", "100-scsi0%3E101-scsi1", "300-scsi0%3E100-scsi1"} {
			out[r] = append(out[r], "UPID:pve1:00001234:00005678:6745A3C1:qmmove:"+id+":root@pam:")
		}
	}
	for _, r := range refs.Volumes {
		out[r] = append(out[r], "store:vm-100-disk-0", "store:100/vm-100-disk-0.qcow2", "file=store:vm-100-disk-0,size=1G",
			"store:0,import-from=store:base-100-disk-0", "store:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst", "store:backup/vzdump-lxc-100-2026_01_01-00_00_00.tar.zst",
			"store:backup/vm/100/2026-01-01T00:00:00Z", "store:backup/ct/100/2026-01-01T00:00:00Z", "/dev/pve/vm-100-disk-0", "vm-100-disk-0", "100/vm-100-disk-0.raw",
			"volume=store:subvol-100-disk-0,mp=/x", "cache=none,file=store:vm-100-disk-1", "store:base-300-disk-0/vm-100-disk-0", "store:vm-100-state-x", "/var/lib/vz/images/100/vm-100-disk-0.qcow2",
			"user=store:snippets/x.yaml,meta=store:100/disk.raw", "file=vm-100-disk-0,size=1G", "store:0,import-from=100/disk.raw")
	}
	for _, r := range refs.Pools {
		out[r] = append(out[r], "core/db", "core")
	}
	return out
}

// Whatever parameter names a protected guest, the call is refused, and the rule
// is named; whatever the rule knows it by.
func TestProtectionThroughEveryParameter(t *testing.T) {
	ctx := context.Background()
	byRule := map[string]int{}
	for _, rule := range []string{"vmid:100", "vmid:90-99,vmid:99-101", "tag:prod", "tag:PROD", "pool:core", "pool:core/db"} {
		if strings.HasPrefix(rule, "vmid:90") {
			continue
		}
		byRule[rule] = 0
	}
	refused := 0
	for _, e := range writes(t) {
		name := string(e.Verb) + " " + e.Path
		cases := naming100(e.Policy.Refs)
		if inPath(e.Path, "vmid") {
			cases["vmid"] = append(cases["vmid"], "100")
		}
		for rule := range byRule {
			below := &spy{}
			g := open(t, Options{Next: below, Shell: ShellFull, HostShell: true, Protect: rules(t, rule+",vmid:777")})
			for ref, values := range cases {
				for _, value := range values {
					param, text := wire(ref, value)
					set, params := map[string]string{}, url.Values{}
					if inPath(e.Path, param) {
						if strings.ContainsAny(text, " \n\t\u00a0") || param == "poolid" && strings.Contains(text, "/") {
							continue // can't stand in that path
						}
						set[param] = text
					} else {
						params.Set(param, text)
					}
					in, err := g.Judge(string(e.Verb), fillPath(e.Path, set), params)
					require.NoError(t, err, name)
					require.Equal(t, e.Path, in.Template, "%s %v", name, set)
					_, err = g.Grant(ctx, in, yes)
					var r *Refusal
					require.ErrorAs(t, err, &r, "%s %s=%q under %s", name, param, value, rule)
					if value == "\u00a0100" {
						require.Contains(t, []Kind{NotKnown, Protected}, r.Kind)
						continue
					}
					require.Equal(t, Protected, r.Kind, "%s %s=%q under %s: %v", name, param, value, rule, err)
					require.Equal(t, rule, r.Rule, "%s %s=%q", name, param, value)
					require.Contains(t, err.Error(), rule)
					byRule[rule]++
					refused++
				}
			}
			require.Zero(t, below.count())
		}
	}
	for rule, n := range byRule {
		require.Greater(t, n, 500, rule)
	}
	require.Greater(t, refused, 3000)
}

// The same calls with another guest pass, so that the test above proves
// something.
func TestOthersPassBesideAProtectedGuest(t *testing.T) {
	ctx := context.Background()
	passed := 0
	for _, e := range writes(t) {
		g := open(t, Options{Shell: ShellFull, HostShell: true, Protect: rules(t, "vmid:100,tag:prod,pool:core")})
		in, err := g.Judge(string(e.Verb), fillPath(e.Path, map[string]string{"node": "pve2"}), url.Values{"x": {"1"}})
		require.NoError(t, err)
		_, err = g.Grant(ctx, in, yes)
		if len(e.Policy.Reaches(in.Params)) > 0 {
			continue // TestReach
		}
		require.NoError(t, err, "%s %s", e.Verb, e.Path)
		passed++
	}
	require.Greater(t, passed, 300)
}

// A call that reaches a whole node, storage or cluster is refused while a
// protected guest is there.
func TestReach(t *testing.T) {
	ctx := context.Background()
	seen := map[apidoc.Scope]int{}
	for _, e := range writes(t) {
		for _, reach := range e.Policy.Reach {
			params, path, ok := satisfy(e.Path, reach.Conds)
			require.True(t, ok, "%s %s %s", e.Verb, e.Path, reach)
			name := fmt.Sprintf("%s %s %s", e.Verb, e.Path, reach)
			seen[reach.Scope]++
			for _, rule := range []string{"vmid:100", "tag:prod", "pool:core", "node:pve1"} {
				for _, node := range []string{"pve1", "pve2"} {
					path["node"] = node
					g := open(t, Options{Shell: ShellFull, HostShell: true, Protect: rules(t, rule)})
					in, err := g.Judge(string(e.Verb), fillPath(e.Path, path), params)
					require.NoError(t, err)
					_, err = g.Grant(ctx, in, yes)
					var also bool // the call reaches more than this rule says
					for _, s := range in.Policy.Reaches(in.Params) {
						also = also || s != apidoc.ScopeNode
					}
					if reach.Scope == apidoc.ScopeNode && node == "pve2" && !also {
						require.NoError(t, err, "%s under %s", name, rule)
						continue
					}
					var r *Refusal
					require.ErrorAs(t, err, &r, "%s under %s on %s", name, rule, node)
					require.Equal(t, Protected, r.Kind, name)
					require.Equal(t, rule, r.Rule)
					if rule != "node:pve1" {
						require.EqualValues(t, 100, r.Guest, name)
						require.ErrorContains(t, err, "db01")
					}
				}
			}
			// A guest that is hidden may be a protected one.
			h := pasture()
			h.unseen = map[apidoc.VMID]bool{100: true}
			path["node"] = "pve1"
			g := open(t, Options{Shell: ShellFull, HostShell: true, Protect: rules(t, "tag:prod"), Inventory: h})
			in, err := g.Judge(string(e.Verb), fillPath(e.Path, path), params)
			require.NoError(t, err)
			_, err = g.Grant(ctx, in, yes)
			require.Equal(t, NotKnown, kindOf(t, err), name)
			require.ErrorContains(t, err, "VM.Audit")
		}
	}
	for _, s := range []apidoc.Scope{apidoc.ScopeNode, apidoc.ScopeStorage, apidoc.ScopeCluster} {
		require.NotZero(t, seen[s], s)
	}
}

func grantOK(t testing.TB, g *Gate, verb, path string, params url.Values) error {
	t.Helper()
	in, err := g.Judge(verb, path, params)
	require.NoError(t, err)
	_, err = g.Grant(context.Background(), in, yes)
	return err
}

func TestScopesInDetail(t *testing.T) {
	tests := []struct {
		name, verb, path string
		params           url.Values
		want             Kind
	}{
		{"stop all", "POST", "/nodes/pve1/stopall", nil, Protected},
		{"stop all elsewhere", "POST", "/nodes/pve2/stopall", nil, ""},
		{"stop some", "POST", "/nodes/pve1/stopall", url.Values{"vms": {"200"}}, ""},
		{"stop some with it", "POST", "/nodes/pve1/stopall", url.Values{"vms": {"200,100"}}, Protected},
		{"an empty list is all", "POST", "/nodes/pve1/stopall", url.Values{"vms": {""}}, Protected},
		{"a list of blanks is all", "POST", "/nodes/pve1/stopall", url.Values{"vms": {" , "}}, Protected},
		{"back up all", "POST", "/nodes/pve1/vzdump", url.Values{"all": {"1"}}, Protected},
		{"back up all but it", "POST", "/nodes/pve1/vzdump", url.Values{"exclude": {"100"}}, ""},
		{"back up all but it, said twice", "POST", "/nodes/pve1/vzdump", url.Values{"all": {"1"}, "exclude": {"200,100"}}, ""},
		{"back up all but others", "POST", "/nodes/pve1/vzdump", url.Values{"all": {"1"}, "exclude": {"200"}}, Protected},
		{"back up its pool", "POST", "/nodes/pve2/vzdump", url.Values{"pool": {"core"}}, Protected},
		{"back up another pool", "POST", "/nodes/pve1/vzdump", url.Values{"pool": {"lab"}}, ""},
		{"reboot its node", "POST", "/nodes/pve1/status", url.Values{"command": {"reboot"}}, Protected},
		{"reboot another", "POST", "/nodes/pve2/status", url.Values{"command": {"reboot"}}, ""},
		{"stop a bulk task", "DELETE", "/nodes/pve1/tasks/UPID:pve1:00001234:00005678:6745A3C1:stopall::root@pam:", nil, Protected},
		{"stop a bulk task elsewhere", "DELETE", "/nodes/pve2/tasks/UPID:pve2:00001234:00005678:6745A3C1:vzdump::root@pam:", nil, ""},
		{"stop a bulk task of the cluster", "DELETE", "/nodes/pve2/tasks/UPID:pve2:00001234:00005678:6745A3C1:bulk-shutdown::root@pam:", nil, Protected},
		{"stop a backup of another", "DELETE", "/nodes/pve1/tasks/UPID:pve1:00001234:00005678:6745A3C1:vzdump:200:root@pam:", nil, ""},
		{"stop what is no task", "DELETE", "/nodes/pve1/tasks/UPID:x", nil, NotKnown},
		{"prune all", "DELETE", "/nodes/pve1/storage/local/prunebackups", nil, Protected},
		{"prune of another", "DELETE", "/nodes/pve1/storage/local/prunebackups", url.Values{"vmid": {"200"}}, ""},
		{"a parameter beside the path", "POST", "/nodes/pve1/qemu/200/status/stop", url.Values{"vmid": {"100"}}, Protected},
		{"its disk as another's", "PUT", "/nodes/pve1/qemu/200/config", url.Values{"scsi3": {"local-lvm:vm-100-disk-0"}}, Protected},
		{"its disk in the tenth place", "PUT", "/nodes/pve1/qemu/200/config", url.Values{"virtio10": {"cache=none,file=local-lvm:vm-100-disk-0"}}, Protected},
		{"another's disk", "PUT", "/nodes/pve1/qemu/200/config", url.Values{"scsi3": {"local-lvm:vm-200-disk-0"}}, ""},
		{"a new disk of a hundred", "PUT", "/nodes/pve1/qemu/200/config", url.Values{"scsi3": {"local-lvm:100"}}, ""},
		{"its backup restored as another", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"500"}, "archive": {"local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma"}}, Protected},
		{"its backup deleted", "DELETE", "/nodes/pve1/storage/local/content/local:backup%2Fvzdump-qemu-100-2026_01_01-00_00_00.vma", nil, Protected},
		{"an image deleted", "DELETE", "/nodes/pve1/storage/local/content/local:iso%2Fdebian-100.iso", nil, ""},
		{"a clone onto its number", "POST", "/nodes/pve1/qemu/200/clone", url.Values{"newid": {"100"}}, Protected},
		{"words for numbers", "POST", "/cluster/bulk-action/guest/shutdown", url.Values{"vms": {"hundred"}}, NotKnown},
		{"a user", "POST", "/access/users", url.Values{"userid": {"a@pve"}}, ""},
	}
	for _, tt := range tests {
		for _, rule := range []string{"vmid:100", "tag:prod", "pool:core"} {
			g := open(t, Options{Protect: rules(t, rule)})
			err := grantOK(t, g, tt.verb, tt.path, tt.params)
			if tt.name == "a clone onto its number" || tt.name == "its backup restored as another" {
				require.Equal(t, tt.want, kindOf(t, err), "%s under %s: %v", tt.name, rule, err)
				continue
			}
			require.Equal(t, tt.want, kindOf(t, err), "%s under %s: %v", tt.name, rule, err)
		}
	}
}

func TestAllow(t *testing.T) {
	tests := []struct {
		allow, verb, path string
		params            url.Values
		want              Kind
	}{
		{"vmid:900-999", "POST", "/nodes/pve3/qemu/950/status/stop", nil, ""},
		{"vmid:900-999", "POST", "/nodes/pve1/qemu/200/status/stop", nil, NotAllowed},
		{"vmid:900-999", "POST", "/nodes/pve3/qemu/950/clone", url.Values{"newid": {"999"}}, ""},
		{"vmid:900-999", "POST", "/nodes/pve3/qemu/950/clone", url.Values{"newid": {"1000"}}, NotAllowed},
		{"vmid:900-999", "POST", "/nodes/pve1/qemu/200/clone", url.Values{"newid": {"999"}}, NotAllowed},
		{"vmid:900-999", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"901"}}, ""},
		{"vmid:900-999", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"901"}, "pool": {"lab"}}, ""},
		{"vmid:900-999", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"500"}}, NotAllowed},
		{"vmid:900-999", "PUT", "/nodes/pve3/qemu/950/config", url.Values{"scsi1": {"local-lvm:vm-200-disk-0"}}, NotAllowed},
		{"vmid:900-999", "PUT", "/nodes/pve3/qemu/950/config", url.Values{"scsi1": {"local-lvm:8"}}, ""},
		{"vmid:900-999", "POST", "/access/users", url.Values{"userid": {"a@pve"}}, NotAllowed},
		{"vmid:900-999", "POST", "/nodes/pve3/status", url.Values{"command": {"reboot"}}, NotAllowed},
		{"vmid:900-999", "DELETE", "/nodes/pve3/storage/local/content/local:iso%2Fx.iso", nil, NotAllowed},
		{"vmid:900-999", "DELETE", "/nodes/pve1/storage/local/content/local:backup%2Fvzdump-qemu-950-2026_01_01-00_00_00.vma", nil, ""},
		{"vmid:900-999", "POST", "/nodes/pve3/stopall", nil, ""},
		{"vmid:900-999", "POST", "/nodes/pve1/stopall", nil, NotAllowed},
		{"vmid:900-999", "POST", "/nodes/pve4/stopall", nil, NotAllowed},
		{"vmid:900-999", "POST", "/cluster/bulk-action/guest/shutdown", url.Values{"vms": {"950", "951"}}, ""},
		{"vmid:900-999", "POST", "/cluster/bulk-action/guest/shutdown", url.Values{"vms": {"950", "200"}}, NotAllowed},
		{"vmid:900-999", "POST", "/cluster/bulk-action/guest/shutdown", nil, NotAllowed},
		{"vmid:900-999", "PUT", "/pools", url.Values{"poolid": {"lab"}, "vms": {"950"}}, NotAllowed},
		{"vmid:900-999", "PUT", "/pools", url.Values{"poolid": {"toys"}, "vms": {"950"}}, ""},
		{"vmid:900-999", "POST", "/brand/new", nil, NotAllowed},
		{"tag:toy", "POST", "/nodes/pve3/qemu/950/status/stop", nil, ""},
		{"tag:TOY", "POST", "/nodes/pve3/qemu/950/status/stop", nil, NotAllowed},
		{"tag:toy", "POST", "/nodes/pve1/qemu/200/status/stop", nil, NotAllowed},
		{"tag:toy", "PUT", "/nodes/pve1/qemu/200/config", url.Values{"tags": {"toy"}}, NotAllowed},
		{"tag:toy", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"500"}, "tags": {"a;toy"}}, ""},
		{"tag:toy", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"200"}, "tags": {"toy"}, "force": {"1"}}, NotAllowed},
		{"tag:toy", "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"500"}}, NotAllowed},
		{"tag:toy", "POST", "/nodes/pve3/qemu/950/clone", url.Values{"newid": {"500"}}, ""},
		{"pool:toys", "POST", "/nodes/pve3/qemu/950/status/stop", nil, ""},
		{"pool:toys", "PUT", "/pools/toys", url.Values{"vms": {"951"}}, ""},
		{"pool:toys", "PUT", "/pools/toys", url.Values{"vms": {"200"}}, NotAllowed},
		{"pool:toys", "PUT", "/pools/lab", url.Values{"vms": {"951"}}, NotAllowed},
		{"pool:toys", "PUT", "/pools/toys", url.Values{"comment": {"x"}}, ""},
		{"pool:toys", "POST", "/nodes/pve1/lxc", url.Values{"vmid": {"500"}, "pool": {"toys"}}, ""},
		{"pool:toys", "POST", "/nodes/pve1/lxc", url.Values{"vmid": {"500"}, "pool": {"lab"}}, NotAllowed},
		{"pool:toys", "POST", "/nodes/pve1/lxc", url.Values{"vmid": {"500"}, "pool": {"toys", "lab"}}, NotAllowed},
		{"node:pve3", "POST", "/nodes/pve3/qemu/950/status/stop", nil, ""},
		{"node:pve3", "POST", "/nodes/pve3/qemu/200/status/stop", nil, NotAllowed},
		{"node:pve3", "POST", "/nodes/pve3/status", url.Values{"command": {"reboot"}}, ""},
		{"node:pve3", "POST", "/nodes/pve1/status", url.Values{"command": {"reboot"}}, NotAllowed},
		{"node:pve3", "DELETE", "/nodes/pve3/storage/local/content/local:iso%2Fx.iso", nil, ""},
		{"node:pve3", "PUT", "/nodes/pve3/dns", url.Values{"search": {"x"}}, ""},
		{"node:pve3", "PUT", "/cluster/options", url.Values{"keyboard": {"de"}}, NotAllowed},
	}
	for _, tt := range tests {
		g := open(t, Options{Allow: rules(t, tt.allow)})
		err := grantOK(t, g, tt.verb, tt.path, tt.params)
		require.Equal(t, tt.want, kindOf(t, err), "%s: %s %s %v: %v", tt.allow, tt.verb, tt.path, tt.params, err)
		if tt.want != "" {
			require.ErrorContains(t, err, tt.allow)
		}
	}
	// Protection wins over the allow-list.
	g := open(t, Options{Allow: rules(t, "vmid:100-999"), Protect: rules(t, "tag:prod")})
	require.Equal(t, Protected, kindOf(t, grantOK(t, g, "POST", "/nodes/pve1/qemu/100/status/stop", nil)))
	require.NoError(t, grantOK(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
}

// With an allow-list that matches nothing that exists, nothing can be changed.
func TestNothingBesideTheAllowList(t *testing.T) {
	for _, e := range writes(t) {
		for _, allow := range []string{"vmid:700", "tag:none", "pool:none", "node:none"} {
			g := open(t, Options{Allow: rules(t, allow), Shell: ShellFull})
			in, err := g.Judge(string(e.Verb), fillPath(e.Path, nil), nil)
			require.NoError(t, err)
			_, err = g.Grant(context.Background(), in, yes)
			if e.Verb == apidoc.GET && !inPath(e.Path, "vmid") && e.Policy.Class != apidoc.Shell && err == nil {
				continue // asks something of the network, changes no guest
			}
			require.Contains(t, []Kind{NotAllowed, HostShellClosed}, kindOf(t, err), "%s %s under %s", e.Verb, e.Path, allow)
		}
	}
}

func TestFailsClosed(t *testing.T) {
	broken := pasture()
	broken.err = errors.New("connection refused")
	hidden := pasture()
	hidden.unseen = map[apidoc.VMID]bool{100: true}
	stop100, stop200 := "/nodes/pve1/qemu/100/status/stop", "/nodes/pve1/qemu/200/status/stop"

	g := open(t, Options{Protect: rules(t, "tag:prod"), Inventory: broken})
	err := grantOK(t, g, "POST", stop200, nil)
	require.Equal(t, NotKnown, kindOf(t, err))
	require.ErrorContains(t, err, "connection refused")

	// Numbers alone need no look.
	g = open(t, Options{Protect: rules(t, "vmid:100"), Inventory: broken})
	require.NoError(t, grantOK(t, g, "POST", stop200, nil))
	require.Equal(t, Protected, kindOf(t, grantOK(t, g, "POST", stop100, nil)))
	require.Zero(t, broken.reads-1)

	g = open(t, Options{Protect: rules(t, "tag:prod"), Inventory: hidden})
	err = grantOK(t, g, "POST", stop100, nil)
	require.Equal(t, NotKnown, kindOf(t, err))
	require.ErrorContains(t, err, "may not see it")
	require.NoError(t, grantOK(t, g, "POST", stop200, nil))
	// What does not exist has no tags.
	require.NoError(t, grantOK(t, g, "POST", "/nodes/pve1/qemu", url.Values{"vmid": {"500"}, "archive": {"local:backup/vzdump-qemu-500-2026_01_01-00_00_00.vma"}}))
}

// Between consent and call a guest may become protected: the guests are read
// anew right before.
func TestProtectionIsLookedAtAgain(t *testing.T) {
	h := pasture()
	below := &spy{}
	now := time.Unix(1000, 0)
	g := open(t, Options{Next: below, Protect: rules(t, "tag:prod"), Inventory: h, Now: func() time.Time { return now }})
	in, err := g.Judge("POST", "/nodes/pve1/qemu/200/status/stop", nil)
	require.NoError(t, err)
	ctx, err := g.Grant(context.Background(), in, yes)
	require.NoError(t, err)
	require.Equal(t, 1, h.reads)
	require.NoError(t, g.Check(context.Background(), in))
	require.Equal(t, 1, h.reads, "a first look may be some seconds old")
	now = now.Add(freshFor)
	require.NoError(t, g.Check(context.Background(), in))
	require.Equal(t, 2, h.reads)

	h.guests[1].Tags = []string{"prod"}
	require.Equal(t, Protected, kindOf(t, try(t, g, ctx, "POST", "/nodes/pve1/qemu/200/status/stop", nil)))
	require.Zero(t, below.count())
	h.guests[1].Tags = nil
	require.NoError(t, try(t, g, ctx, "POST", "/nodes/pve1/qemu/200/status/stop", nil), "a refusal does not use up the grant")
	require.Equal(t, 1, below.count())
}

func TestCommands(t *testing.T) {
	policy := apidoc.Policy{Class: apidoc.Shell, Secrets: []apidoc.ParamRef{"password"}}
	onHost, err := NewCommand(Command{Node: "pve1", Name: "run", Params: map[string][]string{"command": {"uptime"}}, Policy: policy})
	require.NoError(t, err)
	in200, err := NewCommand(Command{Node: "pve1", Guest: 200, Name: "run", Params: map[string][]string{"command": {"uptime"}}, Policy: policy})
	require.NoError(t, err)
	in100, err := NewCommand(Command{Node: "pve1", Guest: 100, Name: "run", Policy: policy})
	require.NoError(t, err)
	receive, err := NewCommand(Command{Node: "pve1", Name: "zfs-send", Params: map[string][]string{"flags": {"-F"}, "volume": {"tank:vm-100-disk-0"}},
		Policy: apidoc.Policy{Class: apidoc.Change, Refs: apidoc.Refs{Volumes: []apidoc.ParamRef{"volume"}},
			Raise: []apidoc.Rule{{Class: apidoc.Destroy, Conds: []apidoc.Condition{{Param: "flags", Op: apidoc.OpHas, Value: "-F"}}}}}})
	require.NoError(t, err)
	require.Equal(t, apidoc.Destroy, receive.Class)
	require.Equal(t, "SSH /nodes/pve1/200/run", in200.String())
	require.Equal(t, map[string][]string{"command": {"uptime"}}, in200.Masked())

	check := func(o Options, in *Intent) Kind { return kindOf(t, open(t, o).Check(context.Background(), in)) }
	require.Equal(t, NotInReadonly, check(Options{Mode: ReadOnly, Shell: ShellFull}, onHost))
	require.Equal(t, ShellClosed, check(Options{}, onHost))
	require.Equal(t, ShellClosed, check(Options{Shell: ShellRead}, onHost))
	require.Equal(t, Kind(""), check(Options{Shell: ShellFull}, onHost))
	o := Options{Shell: ShellFull, Protect: rules(t, "vmid:100")}
	require.Equal(t, HostShellClosed, check(o, onHost))
	require.Equal(t, Kind(""), check(o, in200))
	require.Equal(t, Protected, check(o, in100))
	require.Equal(t, Protected, check(o, receive))
	require.Equal(t, NotAllowed, check(Options{Shell: ShellFull, Allow: rules(t, "vmid:950")}, in200))

	_, err = NewCommand(Command{Node: "a/b", Name: "run", Policy: policy})
	require.Error(t, err)
	_, err = NewCommand(Command{Node: "pve1", Name: "run"})
	require.Error(t, err)
}

func TestParseRules(t *testing.T) {
	r, err := ParseRules(" vmid:100, vmid:900-999;tag:prod pool:core/db,node:pve1\n")
	require.NoError(t, err)
	require.Equal(t, "vmid:100,vmid:900-999,tag:prod,pool:core/db,node:pve1", r.String())
	for _, blank := range []string{"", "  \n"} {
		r, err := ParseRules(blank)
		require.NoError(t, err)
		require.Nil(t, r)
	}
	for text, want := range map[string]string{
		",":              "holds no rule",
		"100":            "did you mean vmid:100?",
		"vmid:100,101":   "did you mean vmid:101?",
		"100-199":        "did you mean vmid:100-199?",
		"prod":           "has no kind",
		"tags:prod":      "did you mean tag:",
		"vmid":           "has no kind",
		"vmid:":          "is not a vmid",
		"vmid:99":        "is not a vmid",
		"vmid:1e3":       "is not a vmid",
		"vmid:200-100":   "ends before it begins",
		"vmid:100-":      "is not a vmid",
		"tag:":           "expected a tag",
		"tag:a/b":        "expected a tag",
		"pool:":          "expected a pool",
		"pool:a//b":      "expected a pool",
		"node:-x":        "expected the name of a node",
		"storage:local":  "expected vmid:",
		"VMID:100":       "no kind",
		"vmid:100\x00":   "is not a vmid",
		"tag:prod,vmid:": "is not a vmid",
	} {
		_, err := ParseRules(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzParseRules(f *testing.F) {
	for _, s := range []string{"", "vmid:100", "vmid:100-199,tag:prod,pool:core", "node:pve1;tag:a+b", ",", "vmid:", "x:y:z", "vmid:100-199-300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRules(text)
		if err != nil {
			if r != nil {
				t.Fatal("rules beside an error")
			}
			return
		}
		if len(r) == 0 && strings.TrimSpace(text) != "" {
			t.Fatalf("%q gives no rules and no error: nothing would be protected", text)
		}
		again, err := ParseRules(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q reads back as %q, %v", r.String(), again.String(), err)
		}
		for _, rule := range r {
			if rule.Kind == ByVMID && (rule.From < 100 || rule.To < rule.From) {
				t.Fatalf("range %v", rule)
			}
		}
	})
}

// An intent reads foreign text: whatever it is, nothing panics, and a value that
// holds the protected number in a form that Proxmox takes is found.
func FuzzTouched(f *testing.F) {
	for _, s := range []string{"100", "local:vm-100-disk-0", "a=b=local:100/x", "UPID:pve1:00001234:00005678:6745A3C1:qmmove:100-a:root@pam:", "=,=;:", "/"} {
		f.Add(s)
	}
	effects := generated.Effects()
	f.Fuzz(func(_ *testing.T, value string) {
		for i := range effects {
			e := &effects[i]
			params := map[string][]string{}
			for ref := range naming100(e.Policy.Refs) {
				name, text := wire(ref, value)
				params[name] = []string{text}
			}
			in := &Intent{Verb: e.Verb, Path: e.Path, Template: e.Path, Params: params, Policy: e.Policy, Class: e.Policy.Class, judged: true}
			in.touched()
			in.Masked()
			in.guestShell()
		}
	})
}
