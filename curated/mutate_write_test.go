package curated

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"pvemcp/curated/gate"
	"pvemcp/internal/pvesim"
)

// writingRig is a server in full mode before a living cluster of its own.
func writingRig(t *testing.T) *rig {
	t.Helper()
	sim, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(3, 60, 1), NoAuthDelay: true})
	require.NoError(t, err)
	t.Cleanup(func() { sim.Close() })
	return newRig(t, sim, setup{options: func(o *Options) { o.Mode, o.Unlogged, o.Now = gate.Full, true, time.Now }})
}

// written gives the bodies of the requests other than GET that f causes.
func written(r *rig, f func()) []pvesim.RequestRecord {
	before := len(r.sim.Requests())
	f()
	var out []pvesim.RequestRecord
	for _, q := range r.sim.Requests()[before:] {
		if q.Verb != "GET" {
			out = append(out, q)
		}
	}
	return out
}

// A dry run makes no change, whatever else is asked for in the same call.
func TestDryRunWithEveryFlagSendsNoWrite(t *testing.T) {
	r := writingRig(t)
	require.Empty(t, written(r, func() {
		for tool, a := range map[string]args{
			"pve_configure":       {"vmid": 116, "set": args{"cores": 3}},
			"pve_snapshot_create": {"vmid": 116, "snapname": "before"},
			"pve_raw_call":        {"verb": "POST", "path": "/pools", "params": args{"poolid": "blue"}},
		} {
			a["dry_run"], a["confirm"], a["i_understand_data_loss"] = true, true, true
			require.Contains(t, r.ok(tool, a), "Dry run", tool)
		}
	}))
}

// A change of a configuration carries the digest that was read, so that Proxmox
// refuses it when somebody else was faster.
func TestConfigureSendsTheDigestThatWasRead(t *testing.T) {
	r := writingRig(t)
	text := r.ok("pve_raw_get", args{"path": "/nodes/pve2/qemu/116/config", "fields": "digest"})
	sent := written(r, func() {
		r.ok("pve_configure", args{"vmid": 116, "set": args{"description": "new"}, "confirm": true, "i_understand_data_loss": true})
	})
	require.Len(t, sent, 1)
	form, err := url.ParseQuery(sent[0].Body)
	require.NoError(t, err)
	require.Len(t, form.Get("digest"), 40, sent[0].Body)
	require.Contains(t, text, form.Get("digest"))
}

// A task is told as done when Proxmox says that it ended well, and not before.
func TestOnlyATaskThatEndedWellIsToldAsDone(t *testing.T) {
	r := writingRig(t)
	snapshot := func(name string, wait int) (string, bool) {
		return r.call("pve_snapshot_create", args{"vmid": 116, "snapname": name, "confirm": true, "wait_seconds": wait})
	}
	text, isError := snapshot("good", 20)
	require.False(t, isError, text)
	require.Contains(t, text, "done")

	failing, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultTaskFail, Task: "qmsnapshot", Reason: "the pool is degraded"})
	require.NoError(t, err)
	text, isError = snapshot("bad", 20)
	r.sim.RemoveFault(failing)
	require.True(t, isError, text)
	require.Contains(t, text, "FAILED")
	require.Contains(t, text, "the pool is degraded")

	holding, err := r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "qmsnapshot"})
	require.NoError(t, err)
	text, _ = snapshot("held", 0)
	r.sim.RemoveFault(holding)
	require.Contains(t, text, "still running")
	require.NotContains(t, first(text), "done")
	require.Contains(t, text, "UPID:")

	require.Eventually(t, func() bool {
		text, _ := r.call("pve_snapshots", args{"vmid": 116})
		return strings.Contains(text, "held")
	}, 20*time.Second, 100*time.Millisecond)
	_, err = r.sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Status: 500, Reason: "got no answer", Method: "GET", Path: "/nodes/*/tasks/*/status"})
	require.NoError(t, err)
	text, _ = snapshot("unread", 1)
	require.Contains(t, text, "not known")
	require.NotContains(t, first(text), "done")
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Nothing but an accepted question with its switch on is consent.
func TestOnlyAPlainYesIsConsent(t *testing.T) {
	on := map[string]any{"approve": true}
	for name, c := range map[string]struct {
		answer *mcp.ElicitResult
		want   bool
	}{
		"yes":            {&mcp.ElicitResult{Action: "accept", Content: on}, true},
		"switch off":     {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, false},
		"a word":         {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": "true"}}, false},
		"no content":     {&mcp.ElicitResult{Action: "accept"}, false},
		"declined":       {&mcp.ElicitResult{Action: "decline", Content: on}, false},
		"cancelled":      {&mcp.ElicitResult{Action: "cancel", Content: on}, false},
		"another answer": {&mcp.ElicitResult{Content: on}, false},
	} {
		a := readAnswer(&mcp.CallToolParamsRaw{RequestState: "s1.x", InputResponses: mcp.InputResponseMap{askID: c.answer}})
		require.NotNil(t, a, name)
		require.Equal(t, c.want, a.accepted, name)
	}
	a := readAnswer(&mcp.CallToolParamsRaw{RequestState: "s1.x", InputResponses: mcp.InputResponseMap{"other": &mcp.ElicitResult{Action: "accept", Content: on}}})
	require.False(t, a.accepted, "the answer to another question")
	require.Nil(t, readAnswer(&mcp.CallToolParamsRaw{}), "nobody was asked")
}
