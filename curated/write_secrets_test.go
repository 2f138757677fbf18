package curated

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/curated/gate/audit"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

// audited is a rig that logs its changes into a file.
func audited(t testing.TB, l live) (*rig, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	log, err := audit.Open(file, []byte("key"))
	require.NoError(t, err)
	more := l.options
	l.options = func(o *Options) {
		o.Audit, o.Unlogged, o.AuditLog, o.AuditKey = log, false, file, []byte("key")
		o.Toolsets = []string{"core", "guests", "audit"}
		if more != nil {
			more(o)
		}
	}
	return labRig(t, l), file
}

// planted are the secrets that the tests below plant, in texts that no other
// word is like.
const (
	planted     = "Pl4nt3dS3cr3t"
	plantedInto = "1nn3rPl4nt3d"
)

// noPlanted searches a text for them, in any form.
func noPlanted(t testing.TB, where, text string) {
	t.Helper()
	for _, s := range []string{planted, plantedInto} {
		for _, form := range []string{s, url.QueryEscape(s), strings.ToLower(s)} {
			if i := strings.Index(strings.ToLower(text), strings.ToLower(form)); i >= 0 {
				t.Errorf("a secret stands in %s: …%s…", where, text[max(0, i-150):min(len(text), i+80)])
				return
			}
		}
	}
}

// reasons hold what looks like a secret, as people paste it.
var reasons = []string{
	"because Authorization: PVEAPIToken=root@pam!x=" + planted,
	"Authorization: Bearer " + planted + planted,
	"set password=" + planted + " as asked", "use --password " + planted, `{"secret":"` + planted + `"}`,
	"https://admin:" + planted + "@example.com/", "root@pam!t=" + planted, "PVE:root@pam:6745A3C1::" + planted,
	"-----BEGIN PRIVATE KEY-----\n" + planted + "\n-----END PRIVATE KEY-----",
}

// Secrets in any secret parameter of any method, through any door: in no
// answer, log, audit line.
func TestNoPlantedSecretSlipsOut(t *testing.T) {
	r, file := audited(t, live{options: func(o *Options) { o.Shell = gate.ShellFull }})
	flags := []any{"confirm", true, "i_understand_data_loss", true, "wait_seconds", 0}
	schema, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	calls, sent := 0, 0
	try := func(tool string, a args) {
		for _, way := range []args{with(a, "dry_run", true), a, with(a, flags...)} {
			text, _ := r.call(tool, with(way, "reason", reasons[calls%len(reasons)]))
			calls++
			noPlanted(t, fmt.Sprintf("the answer of %s %v", tool, a["path"]), text)
		}
	}
	for _, s := range specimens() {
		if s.effect.Verb == apidoc.GET {
			continue
		}
		match, err := schema.Lookup(s.effect.Verb, s.path)
		if err != nil {
			continue
		}
		m, err := match.Method()
		require.NoError(t, err)
		params := map[string]any{}
		for k, v := range s.params {
			params[k] = v
		}
		secret := false
		for _, name := range m.Parameters.Names() {
			ref := strings.Replace(name, "[n]", "0", 1)
			if s.effect.Policy.Secret(ref) || pverest.IsSecretParam(ref) {
				params[ref], secret = planted, true
			}
		}
		if !secret {
			continue
		}
		before := len(writesAfter(r.sim, 0))
		whole := args{"verb": string(s.effect.Verb), "path": s.path, "params": params}
		try("pve_raw_call", whole)
		// In forms that are no text, too.
		for name, v := range params {
			if v == planted {
				for _, form := range []any{[]any{planted, planted}, args{planted: planted}, args{"a": []any{planted}}, "x=" + planted + ",y=" + planted, planted + "\"" + planted, planted + "\x00"} {
					text, _ := r.call("pve_raw_call", with(whole, "params", with(params, name, form)))
					noPlanted(t, fmt.Sprintf("a refusal of %s with %s=%v", &s, name, form), text)
				}
			}
		}
		// Also where the call is refused for other parameters, or unknown ones.
		params["no-such"] = planted
		text, _ := r.call("pve_raw_call", args{"verb": string(s.effect.Verb), "path": s.path, "params": params})
		noPlanted(t, "a refusal of "+s.String(), text)
		sent += len(writesAfter(r.sim, 0)) - before
	}
	// Through the tools that have such parameters.
	for tool, a := range map[string]args{
		"pve_create":    {"kind": "lxc", "node": "pve1", "vmid": 150, "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "disk": "tank:1", "password": planted},
		"pve_configure": {"vmid": 111, "set": args{"cipassword": planted, "description": "the password=" + plantedInto}},
		"pve_backup":    {"vmid": 101, "storage": "nas", "notes": "apitoken: " + plantedInto},
	} {
		try(tool, a)
	}
	// Where an argument of a tool is of another type.
	for _, form := range []any{[]any{planted, planted}, args{"a": planted}, []any{args{"b": planted}}, planted + "\x00"} {
		text, _ := r.call("pve_create", args{"kind": "lxc", "node": "pve1", "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "password": form, "dry_run": true})
		noPlanted(t, fmt.Sprintf("pve_create with %v", form), text)
	}
	t.Logf("%d calls with secrets, %d changes sent", calls, sent)
	require.Greater(t, calls, 90)
	require.Greater(t, sent, 15)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	noPlanted(t, "the audit log", string(text))
	noPlanted(t, "the log", r.log.String())
	report, err := audit.Verify(file, []byte("key"))
	require.NoError(t, err)
	require.True(t, report.Intact(), report.String())
}

// A server that echoes a secret in its refusal does not get it into our answer.
func TestEchoedSecrets(t *testing.T) {
	r, file := audited(t, live{})
	both := []any{"confirm", true, "i_understand_data_loss", true}
	for _, f := range []pvesim.Fault{
		{Status: 400, Reason: "bad password '" + planted + "'", Body: `{"data":null,"errors":{"password":"value '` + planted + `' is too weak"}}`},
		{Status: 500, Reason: "can't set password=" + planted},
		{Status: 403, Reason: "Permission check failed (" + planted + ")"},
		{Status: 501, Reason: "no such " + planted},
	} {
		f.Kind, f.Method, f.Times = pvesim.FaultStatus, "POST", 1
		r.fault(f)
		text, isError := r.call("pve_raw_call", args{"verb": "POST", "path": "/access/users", "params": args{"userid": "new@pve", "password": planted}, "confirm": true, "i_understand_data_loss": true})
		require.True(t, isError)
		noPlanted(t, fmt.Sprintf("the answer to %d", f.Status), text)
		r.fault(f)
		text, isError = r.call("pve_create", with(args{"kind": "lxc", "node": "pve1", "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "password": planted}, both...))
		require.True(t, isError)
		noPlanted(t, fmt.Sprintf("the answer of pve_create to %d", f.Status), text)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	noPlanted(t, "the audit log", string(text))
	noPlanted(t, "the log", r.log.String())
}

// panicsOnWrites is a connection that panics with a secret on its lips.
type panicsOnWrites struct{ http.RoundTripper }

func (p panicsOnWrites) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		panic("password=" + planted)
	}
	return p.RoundTripper.RoundTrip(req)
}

// A fault of ours in the middle of a change tells no secret, ends no session and
// stands in the log as a change whose end is not known.
func TestPanicInAChange(t *testing.T) {
	r, file := audited(t, live{options: func(o *Options) { o.Transport = panicsOnWrites{o.Transport} }})
	text := r.fails("pve_create", args{"kind": "lxc", "node": "pve1", "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "password": planted, "confirm": true}, "a fault of pve-mcp itself", "whether it changed anything is not known")
	noPlanted(t, "the answer", text)
	noPlanted(t, "the log", r.log.String())
	require.Contains(t, r.log.String(), "a tool panicked")
	log, err := os.ReadFile(file)
	require.NoError(t, err)
	noPlanted(t, "the audit log", string(log))
	r.ok("pve_version", nil)
	report, err := audit.Verify(file, []byte("key"))
	require.NoError(t, err)
	require.True(t, report.Intact(), report.String())
	require.EqualValues(t, 1, report.Unknown)
}

// The one secret that is shown is a new token's, to who made it, once.
func TestNewTokenIsShownOnce(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r, file := audited(t, live{protocol: protocol})
			text := r.ok("pve_raw_call", args{"verb": "POST", "path": "/access/users/low@pve/token/fresh", "confirm": true, "i_understand_data_loss": true, "reason": "a token"})
			var secret string
			for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("\"{},: \n`", c) }) {
				if len(word) == 36 && strings.Count(word, "-") == 4 {
					secret = word
				}
			}
			require.NotEmpty(t, secret, text)
			require.Equal(t, 1, strings.Count(text, secret))
			for _, later := range []string{
				r.ok("pve_raw_get", args{"path": "/access/users/low@pve/token"}),
				r.ok("pve_raw_get", args{"path": "/access/users/low@pve/token/fresh"}),
				r.log.String(),
			} {
				require.NotContains(t, later, secret)
			}
			log, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(log), secret)
		})
	}
}

// The log of a session tells who did what, why, by which call, with which end,
// and holds together.
func TestAuditOfASession(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r, file := audited(t, live{protocol: protocol, options: func(o *Options) { o.Expose = exposedPattern }})
			r.ok("pve_vm_action", with(startZed, "reason", "monday"))
			r.ok("pve_configure", args{"vmid": 111, "set": args{"cipassword": planted, "cores": 2}, "confirm": true, "reason": "more cores"})
			r.ok("pve_create", args{"kind": "qemu", "node": "pve1", "start": true, "confirm": true})
			r.fails("pve_raw_call", args{"verb": "POST", "path": "/access/users", "params": args{"userid": "low@pve"}, "confirm": true, "i_understand_data_loss": true})
			r.ok("pve_put_access_acl", args{"path": "/vms/100", "roles": "PVEAuditor", "users": "low@pve", "confirm": true, "i_understand_data_loss": true})
			end := r.fault(pvesim.Fault{Kind: pvesim.FaultLose, Method: "DELETE"})
			r.fails("pve_delete", args{"vmid": 110, "confirm": true, "i_understand_data_loss": true}, "answer was lost")
			end()
			// None of these is a change.
			r.ok("pve_vms", nil)
			r.ok("pve_delete", args{"vmid": 111, "dry_run": true})
			r.fails("pve_delete", args{"vmid": 111, "confirm": true})

			type entry struct {
				Event, ID, Who, Client, Tool, Reason, Verb, Path, Class, Approval, Outcome, UPID string
				Params                                                                           map[string][]string
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			noPlanted(t, "the audit log", string(text))
			outcome := map[string]entry{}
			var intents []entry
			for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
				var e entry
				require.NoError(t, json.Unmarshal([]byte(line), &e))
				if e.Event == "outcome" {
					outcome[e.ID] = e
				} else {
					require.Equal(t, "intent", e.Event)
					require.Equal(t, fullToken, e.Who)
					require.Equal(t, "test 1", e.Client)
					require.Equal(t, "flags", e.Approval)
					intents = append(intents, e)
				}
			}
			var got []string
			for _, e := range intents {
				o := outcome[e.ID]
				upid := "-"
				if o.UPID != "" {
					p, err := apidoc.ParseUPID(o.UPID)
					require.NoError(t, err)
					upid = p.Type
				}
				got = append(got, strings.Join([]string{e.Tool, e.Verb, e.Path, e.Class, o.Outcome, upid, e.Reason}, " "))
			}
			require.Equal(t, []string{
				"pve_vm_action POST /nodes/pve1/qemu/101/status/start change ok qmstart monday",
				"pve_configure PUT /nodes/pve1/qemu/111/config change ok - more cores",
				"pve_create POST /nodes/pve1/qemu change ok qmcreate ",
				"pve_create POST /nodes/pve1/qemu/115/status/start change ok qmstart ",
				"pve_raw_call POST /access/users access refused - ",
				"pve_put_access_acl PUT /access/acl access ok - ",
				"pve_delete DELETE /nodes/pve1/lxc/110 destroy unknown - ",
			}, got)
			require.Equal(t, []string{"(hidden)"}, intents[1].Params["cipassword"])
			require.Equal(t, []string{"2"}, intents[1].Params["cores"])

			report, err := audit.Verify(file, []byte("key"))
			require.NoError(t, err)
			require.True(t, report.Intact(), report.String())
			require.EqualValues(t, len(intents), report.Changes)
			answer := r.ok("pve_audit_verify", nil)
			require.Contains(t, answer, "intact")

			// What is tampered with is found, and what can't be logged is not done.
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "monday", "sunday", 1)), 0o600))
			answer, isError := r.call("pve_audit_verify", nil)
			require.True(t, isError)
			require.Contains(t, answer, "NOT intact")
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
			require.Empty(t, r.writes(func() {
				r.fails("pve_vm_action", args{"vmid": 100, "action": "stop", "confirm": true}, "could not be written to the audit log", "Nothing was sent")
			}))
		})
	}
}

// In full mode the list of tools stays within its budget, with everything that
// is declared by default, and the hints say what the classes say.
func TestFullToolList(t *testing.T) {
	for _, approval := range []gate.Approval{gate.ByFlags, gate.ByPlan, gate.ByAsk} {
		for _, protocol := range protocols {
			r := labRig(t, live{protocol: protocol, approval: approval})
			list, err := r.session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			n := tokens(t, jsonOf(t, list))
			t.Logf("%s, %s: %d tools, %d tokens", approval, protocol, len(list.Tools), n)
			assert.LessOrEqual(t, n, 5500)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				e, a := r.server.byName[tool.Name], tool.Annotations
				require.NotNil(t, a, tool.Name)
				assert.Equal(t, e.class == apidoc.Read, a.ReadOnlyHint, tool.Name)
				destructive := a.DestructiveHint == nil || *a.DestructiveHint
				if e.class != apidoc.Read {
					assert.Equal(t, e.class != apidoc.Change, destructive, tool.Name)
				}
				schema := jsonOf(t, tool.InputSchema)
				if e.class == apidoc.Read {
					assert.NotContains(t, schema, `"confirm"`, tool.Name)
					continue
				}
				for _, flag := range []string{"confirm", "dry_run", "reason", "wait_seconds"} {
					assert.Contains(t, schema, `"`+flag+`"`, tool.Name)
				}
				assert.Equal(t, approval == gate.ByPlan, strings.Contains(schema, `"plan"`), tool.Name)
				if e.class.Rank() >= apidoc.Destroy.Rank() {
					assert.Contains(t, schema, `"i_understand_data_loss"`, tool.Name)
				}
			}
			for _, c := range writeCases() {
				if !strings.HasPrefix(c.name, "exposed") {
					assert.Contains(t, names, c.tool)
				}
			}
		}
	}
}
