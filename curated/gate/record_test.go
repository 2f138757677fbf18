package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate/audit"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

func newLog(t testing.TB) *audit.Log {
	t.Helper()
	l, err := audit.Open(filepath.Join(t.TempDir(), "s", "audit.jsonl"), nil)
	require.NoError(t, err)
	return l
}

type logged struct {
	Event, ID, Who, Client, Cluster, Tool, Reason, Verb, Path, Class, Plan, Approval string
	Params                                                                           map[string][]string
	Outcome                                                                          audit.Result
	Status                                                                           int
	Message, UPID                                                                    string
}

func lines(t testing.TB, l *audit.Log) []logged {
	t.Helper()
	data, err := os.ReadFile(l.Path())
	require.NoError(t, err)
	var out []logged
	for text := range strings.Lines(string(data)) {
		var one logged
		require.NoError(t, json.Unmarshal([]byte(text), &one))
		out = append(out, one)
	}
	return out
}

// server answers every request with these bytes and then closes; nil bytes
// answer nothing.
func server(t testing.TB, answer string) (hosts []string, requests func() int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			req := make([]byte, 64<<10)
			if _, err := conn.Read(req); err == nil {
				n <- struct{}{}
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close() })
	return []string{"http://" + ln.Addr().String()}, func() int { return len(n) }
}

func transport(t testing.TB, hosts ...string) *pverest.Transport {
	t.Helper()
	token, err := pverest.ParseTokenID("root@pam!full", pvesim.TokenSecret)
	require.NoError(t, err)
	tr, err := pverest.NewTransport(pverest.Config{Hosts: hosts, Token: token, Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	return tr
}

func answerText(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json;charset=UTF-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
}

// What the log says of a call's end is what the client says of it, over the
// wire.
func TestOutcomes(t *testing.T) {
	const upid = "UPID:pve1:00001234:00005678:6745A3C1:qmstop:200:root@pam!full:"
	long := strings.Repeat("x", 200<<10)
	tests := []struct {
		name, answer string
		want         audit.Outcome
		kind         pverest.Kind // the client's; "" for success
	}{
		{"a task", answerText("200 OK", `{"data":"`+upid+`"}`), audit.Outcome{Result: audit.OK, Status: 200, UPID: upid}, ""},
		{"null", answerText("200 OK", `{"data":null}`), audit.Outcome{Result: audit.OK, Status: 200}, ""},
		{"the word OK", answerText("200 OK", `{"data":"OK"}`), audit.Outcome{Result: audit.OK, Status: 200}, ""},
		{"a long answer", answerText("200 OK", `{"data":"`+long+`"}`), audit.Outcome{Result: audit.OK, Status: 200}, ""},
		{"locked", answerText("500 VM is locked (backup)", `{"data":null}`), audit.Outcome{Result: audit.Refused, Status: 500, Message: "VM is locked (backup)"}, pverest.KindLocked},
		{"a message", answerText("500 x", `{"data":null,"message":"VM is locked (clone)\n"}`), audit.Outcome{Result: audit.Refused, Status: 500, Message: "VM is locked (clone)"}, pverest.KindLocked},
		{"forbidden", answerText("403 Permission check failed (/vms/200, VM.PowerMgmt)", `{"data":null}`), audit.Outcome{Result: audit.Refused, Status: 403, Message: "Permission check failed (/vms/200, VM.PowerMgmt)"}, pverest.KindForbidden},
		{"parameters", answerText("400 Parameter verification failed.", `{"data":null,"errors":{"timeout":"too long"}}`), audit.Outcome{Result: audit.Refused, Status: 400, Message: "Parameter verification failed.; timeout: too long"}, pverest.KindParameter},
		{"node offline", answerText("595 No route to host", ""), audit.Outcome{Result: audit.Refused, Status: 595, Message: "No route to host"}, pverest.KindNodeOffline},
		{"the node's answer lost", answerText("596 Connection timed out", ""), audit.Outcome{Result: audit.Unknown, Status: 596, Message: "Connection timed out"}, pverest.KindUnknownOutcome},
		{"the node's certificate", answerText("596 tls_process_server_certificate: certificate verify failed", ""), audit.Outcome{Result: audit.Refused, Status: 596, Message: "tls_process_server_certificate: certificate verify failed"}, pverest.KindProxy},
		{"the node's answer cut", answerText("597 Broken pipe", ""), audit.Outcome{Result: audit.Unknown, Status: 597, Message: "Broken pipe"}, pverest.KindUnknownOutcome},
		{"a gateway's", answerText("504 Gateway Timeout", "<html>"), audit.Outcome{Result: audit.Unknown, Status: 504, Message: "Gateway Timeout"}, pverest.KindUnknownOutcome},
		{"no answer", "", audit.Outcome{Result: audit.Unknown}, pverest.KindUnknownOutcome},
		{"cut off", answerText("200 OK", `{"data":"`+upid+`"}`)[:120], audit.Outcome{Result: audit.Unknown, Status: 200}, pverest.KindUnknownOutcome},
		{"HTML", answerText("200 OK", "<html>"), audit.Outcome{Result: audit.Unknown, Status: 200, Message: "the answer is not Proxmox's"}, pverest.KindUnknownOutcome},
		{"a redirect", answerText("302 Found", ""), audit.Outcome{Result: audit.Refused, Status: 302, Message: "Found"}, pverest.KindNotProxmox},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, requests := server(t, tt.answer)
			log := newLog(t)
			g := open(t, Options{Next: transport(t, hosts...), Audit: log, TokenID: "root@pam!full", Cluster: "home"})
			ctx := WithCaller(context.Background(), Caller{Tool: "pve_vm_action", Client: "claude 1", Reason: "it hangs"})
			params := url.Values{"timeout": {"5"}}
			ctx, err := g.Grant(ctx, judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", params), yes)
			require.NoError(t, err)
			got, err := pverest.NewClient(g).Do(ctx, pverest.Call{Verb: "POST", Path: "/nodes/pve1/qemu/200/status/stop", Params: pverest.Values(params)})
			require.Equal(t, 1, requests())
			if tt.kind == "" {
				require.NoError(t, err)
				require.Contains(t, tt.answer, string(got.Data), "the caller gets the whole answer")
			} else {
				var e *pverest.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.kind, e.Kind)
			}
			l := lines(t, log)
			require.Len(t, l, 2)
			require.Equal(t, logged{
				Event: "intent", ID: l[0].ID, Who: "root@pam!full", Client: "claude 1", Cluster: "home", Tool: "pve_vm_action", Reason: "it hangs",
				Verb: "POST", Path: "/nodes/pve1/qemu/200/status/stop", Params: map[string][]string{"timeout": {"5"}}, Class: "disrupt", Approval: "flags",
			}, l[0])
			if tt.want.Message == "" && tt.want.Result == audit.Unknown {
				require.NotEmpty(t, l[1].Message)
				l[1].Message = ""
			}
			require.Equal(t, logged{Event: "outcome", ID: l[0].ID, Outcome: tt.want.Result, Status: tt.want.Status, Message: tt.want.Message, UPID: tt.want.UPID}, l[1])
			r, err := audit.Verify(log.Path(), nil)
			require.NoError(t, err)
			require.True(t, r.Intact(), r.String())
		})
	}
}

func TestNotSentIsToldFromUnknown(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close()) // nobody listens there now
	log := newLog(t)
	g := open(t, Options{Next: transport(t, "http://"+ln.Addr().String()), Audit: log})
	ctx, err := g.Grant(context.Background(), judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil), yes)
	require.NoError(t, err)
	_, err = pverest.NewClient(g).Do(ctx, pverest.Call{Verb: "POST", Path: "/nodes/pve1/qemu/200/status/stop"})
	require.Error(t, err)
	require.Equal(t, audit.NotSent, lines(t, log)[1].Outcome)
}

func TestWhatIsLoggedWhen(t *testing.T) {
	log := newLog(t)
	below := &spy{}
	atCall := -1
	below.answer = func(*http.Request, string) (*http.Response, error) {
		atCall = len(lines(t, log))
		return reply(200, "OK", `{"data":null}`), nil
	}
	g := open(t, Options{Next: below, Audit: log, Protect: rules(t, "vmid:100")})
	ctx := context.Background()

	// Reads and refusals are no changes.
	require.NoError(t, try(t, g, ctx, "GET", "/cluster/status", nil))
	require.Error(t, try(t, g, ctx, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
	require.Error(t, grantOK(t, g, "POST", "/nodes/pve1/qemu/100/status/stop", nil))
	require.Empty(t, lines(t, log))

	granted, err := g.Grant(ctx, judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil), yes)
	require.NoError(t, err)
	require.Empty(t, lines(t, log))
	require.NoError(t, try(t, g, granted, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
	require.Equal(t, 1, atCall, "the intent is there before the call")
	require.Len(t, lines(t, log), 2)

	// A read that is not harmless is logged, too.
	granted, err = g.Grant(ctx, judge(t, g, "GET", "/nodes/pve1/query-url-metadata", url.Values{"url": {"http://x"}}), yes)
	require.NoError(t, err)
	require.NoError(t, try(t, g, granted, "GET", "/nodes/pve1/query-url-metadata", url.Values{"url": {"http://x"}}))
	require.Len(t, lines(t, log), 4)
}

func TestWhatCantBeLoggedIsNotDone(t *testing.T) {
	log := newLog(t)
	below := &spy{}
	g := open(t, Options{Next: below, Audit: log})
	granted, err := g.Grant(context.Background(), judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil), yes)
	require.NoError(t, err)
	require.NoError(t, os.Remove(log.Path()+".anchor"))
	require.NoError(t, os.WriteFile(log.Path(), []byte("x\n"), 0o600))
	err = try(t, g, granted, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	require.Equal(t, NotLogged, kindOf(t, err))
	require.ErrorContains(t, err, "anchor")
	require.Zero(t, below.count())

	called := false
	in, err := NewCommand(Command{Node: "pve1", Name: "zfs-send", Policy: apidoc.Policy{Class: apidoc.Change}})
	require.NoError(t, err)
	granted, err = g.Grant(context.Background(), in, yes)
	require.NoError(t, err)
	err = g.Do(granted, in, func(context.Context) (audit.Outcome, error) { called = true; return audit.Outcome{}, nil })
	require.Equal(t, NotLogged, kindOf(t, err))
	require.False(t, called)
}

// The change was made and its outcome can't be logged: the answer is given, the
// user is told, and the log shows a change without an end.
func TestOutcomeThatCantBeLogged(t *testing.T) {
	log := newLog(t)
	below := &spy{}
	below.answer = func(*http.Request, string) (*http.Response, error) {
		require.NoError(t, os.Chmod(log.Path(), 0o666)) // others may write to it: no more lines
		return reply(200, "OK", `{"data":null}`), nil
	}
	var told error
	g := open(t, Options{Next: below, Audit: log, Fault: func(err error) { told = err }})
	granted, err := g.Grant(context.Background(), judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil), yes)
	require.NoError(t, err)
	require.NoError(t, try(t, g, granted, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
	require.ErrorContains(t, told, "not logged")
	r, err := audit.Verify(log.Path(), nil)
	require.NoError(t, err)
	require.True(t, r.Intact(), r.String())
	require.EqualValues(t, 1, r.Unknown)
}

func TestDo(t *testing.T) {
	log := newLog(t)
	g := open(t, Options{Audit: log, Shell: ShellFull})
	policy := apidoc.Policy{Class: apidoc.Shell}
	in, err := NewCommand(Command{Node: "pve1", Guest: 200, Name: "run", Params: map[string][]string{"command": {"mysql --password hunter22 -e x"}}, Policy: policy})
	require.NoError(t, err)
	runs := 0
	run := func(context.Context) (audit.Outcome, error) {
		runs++
		return audit.Outcome{Result: audit.Refused, Status: 1, Message: "exit 1: token=abcdef"}, errors.New("exit 1")
	}
	require.Equal(t, NoGrant, kindOf(t, g.Do(context.Background(), in, run)))
	require.Zero(t, runs)
	ctx, err := g.Grant(context.Background(), in, yes)
	require.NoError(t, err)
	require.EqualError(t, g.Do(ctx, in, run), "exit 1")
	require.Equal(t, NoGrant, kindOf(t, g.Do(ctx, in, run)))
	require.Equal(t, 1, runs)
	l := lines(t, log)
	require.Len(t, l, 2)
	require.Equal(t, "SSH", l[0].Verb)
	require.Equal(t, "/nodes/pve1/200/run", l[0].Path)
	require.Equal(t, []string{"mysql --password (hidden) -e x"}, l[0].Params["command"])
	require.Equal(t, "exit 1: token=(hidden)", l[1].Message)

	ctx, err = g.Grant(context.Background(), in, yes)
	require.NoError(t, err)
	require.NoError(t, g.Do(ctx, in, func(context.Context) (audit.Outcome, error) { return audit.Outcome{}, nil }))
	require.Equal(t, audit.Unknown, lines(t, log)[3].Outcome, "who says nothing of the end does not know it")

	read, err := NewCommand(Command{Node: "pve1", Name: "list", Policy: apidoc.Policy{Class: apidoc.Read}})
	require.NoError(t, err)
	readonly := open(t, Options{Mode: ReadOnly})
	require.NoError(t, readonly.Do(context.Background(), read, func(context.Context) (audit.Outcome, error) { return audit.Outcome{}, nil }))
}

func TestPlanStandsInTheLog(t *testing.T) {
	log := newLog(t)
	g := open(t, Options{Audit: log, Approval: ByPlan})
	ctx := context.Background()
	in := judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	token, _, err := g.IssuePlan(ctx, "t", "a", "s", []*Intent{in})
	require.NoError(t, err)
	a, err := g.Redeem(ctx, token, "t", "a", "s")
	require.NoError(t, err)
	granted, err := g.Grant(ctx, in, Consent{Confirm: true, DataLoss: true, Approved: a})
	require.NoError(t, err)
	require.NoError(t, try(t, g, granted, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
	l := lines(t, log)
	require.Equal(t, a.ID(), l[0].Plan)
	require.Len(t, a.ID(), 12)
	require.Equal(t, "plan", l[0].Approval)
	data, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	require.NotContains(t, string(data), token)
}

// A secret in any secret parameter of any method is in no line of the log, no
// refusal, and nothing that is shown, also when the server echoes it.
func TestNoSecretIsLoggedOrShown(t *testing.T) {
	const secret, inner = "S3cr3t&Va/lue+ä", "1nn3rPass"
	log := newLog(t)
	var echo strings.Builder
	below := &spy{answer: func(req *http.Request, body string) (*http.Response, error) {
		plain, _ := url.QueryUnescape(body + " " + req.URL.RawQuery)
		echo.WriteString(plain)
		message, _ := json.Marshal("refused: " + plain + " " + body + " " + req.URL.RawQuery + " " + req.URL.Path)
		return reply(400, "Parameter verification failed.", `{"data":null,"message":`+string(message)+`,"errors":{"x":`+string(message)+`}}`), nil
	}}
	ctx := WithCaller(context.Background(), Caller{Tool: "pve_raw_call", Reason: "set password=" + inner + " and the token is apitoken: " + inner})
	planted := 0
	var shown strings.Builder
	for _, e := range writes(t) {
		if len(e.Policy.Secrets) == 0 {
			continue
		}
		params, set := url.Values{}, map[string]string{}
		for _, ref := range e.Policy.Secrets {
			planted++
			name, _ := wire(ref, "")
			if inPath(e.Path, name) {
				set[name] = inner
			} else {
				params[name] = []string{secret, "x=" + inner + ",y=1"}
			}
		}
		params["note"] = []string{"the password=" + inner, "https://u:" + inner + "@host/", "Authorization: Bearer " + inner + inner, "root@pam!t=" + inner}
		closed := open(t, Options{Next: below, Mode: ReadOnly})
		err := try(t, closed, ctx, e.Verb, fillPath(e.Path, set), params)
		require.Error(t, err)
		shown.WriteString(err.Error())

		g := open(t, Options{Next: below, Audit: log, Shell: ShellFull})
		in := judge(t, g, string(e.Verb), fillPath(e.Path, set), params)
		_, err = g.Grant(ctx, in, Consent{})
		require.Error(t, err)
		shown.WriteString(err.Error())
		fmt.Fprint(&shown, in.Masked(), in.shown())
		granted, err := g.Grant(ctx, in, yes)
		require.NoError(t, err)
		require.NoError(t, try(t, g, granted, e.Verb, fillPath(e.Path, set), params))
	}
	require.Greater(t, planted, 50)
	require.Contains(t, echo.String(), secret, "the server did get it")
	data, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	for where, text := range map[string]string{"log": string(data), "shown": shown.String()} {
		for _, s := range []string{secret, inner, url.QueryEscape(secret), "S3cr3t", "1nn3r"} {
			i := strings.Index(text, s)
			if i >= 0 {
				t.Fatalf("%q stands in the %s: …%s…", s, where, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
	r, err := audit.Verify(log.Path(), nil)
	require.NoError(t, err)
	require.True(t, r.Intact())
	require.EqualValues(t, r.Changes, r.Refused)
}

func TestMaskText(t *testing.T) {
	for text, want := range map[string]string{
		"password=abc":                             "password=(hidden)",
		"user=a,password=abc,server=x":             "user=a,password=(hidden),server=x",
		`{"password":"a b c","x":1}`:               `{"password":(hidden),"x":1}`,
		"cipassword: geheim":                       "cipassword: (hidden)",
		"echo x | chpasswd":                        "echo x | chpasswd",
		"curl -H 'Authorization: Bearer abcdef12'": "curl -H 'Authorization: Bearer (hidden)'",
		"PVEAPIToken=root@pam!x=aaaa-bbbb":         "PVEAPIToken=(hidden)",
		"use root@pam!x=aaaa-bbbb here":            "use root@pam!x=(hidden) here",
		"http://me:pw@host/x":                      "http://me:(hidden)@host/x",
		"mysql --password geheim -u x":             "mysql --password (hidden) -u x",
		"PVE:root@pam:4EEC61E2::rsKoApx":           "PVE:root@pam:4EEC61E2::(hidden)",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest":        "(hidden)\nrest",
		"UPID:pve1:00001234:00005678:6745A3C1:qmstart:200:root@pam!tok:":                   "UPID:pve1:00001234:00005678:6745A3C1:qmstart:200:root@pam!tok:",
		"/nodes/pve1/tasks/UPID:pve1:00001234:00005678:6745A3C1:qmstart:200:root@pam!tok:": "/nodes/pve1/tasks/UPID:pve1:00001234:00005678:6745A3C1:qmstart:200:root@pam!tok:",
		"virtio=BC:24:11:00:00:01,bridge=vmbr0":                                            "virtio=BC:24:11:00:00:01,bridge=vmbr0",
	} {
		require.Equal(t, want, maskText(text), text)
	}
	in := judge(t, open(t, Options{}), "POST", "/nodes/pve1/qemu/200/agent/exec",
		url.Values{"command": {"mysql", "--password", "geheim", "x"}, "input-data": {"all of my secrets"}})
	require.Equal(t, map[string][]string{"command": {"mysql", "--password", hidden, "x"}, "input-data": {"(17 bytes)"}}, in.Masked())
	unknown := judge(t, open(t, Options{}), "POST", "/brand/new", url.Values{"my-api-key": {"abc"}, "name": {"x"}})
	require.Equal(t, map[string][]string{"my-api-key": {hidden}, "name": {"x"}}, unknown.Masked())
}

// However much a call carries, its line is bounded, and the call is made.
func TestLongCallsAreLogged(t *testing.T) {
	log := newLog(t)
	g := open(t, Options{Audit: log})
	params := url.Values{"description": {strings.Repeat("\x01", 20<<10)}}
	for i := range 3000 {
		params.Set(fmt.Sprintf("x%04d%s", i, strings.Repeat("y", 100)), "v")
	}
	in := judge(t, g, "PUT", "/nodes/pve1/qemu/200/config", params)
	ctx, err := g.Grant(WithCaller(context.Background(), Caller{Tool: strings.Repeat("t", 9999), Client: strings.Repeat("c", 9999), Reason: strings.Repeat("r", 99999)}), in, yes)
	require.NoError(t, err)
	require.NoError(t, try(t, g, ctx, "PUT", "/nodes/pve1/qemu/200/config", params))
	l := lines(t, log)
	require.Len(t, l, 2)
	require.Contains(t, l[0].Params["description"][0], "bytes)")
	require.Contains(t, l[0].Params["(cut)"][0], "more values")
	require.Less(t, len(l[0].Reason), 600)
}

// The reader asks a cluster over HTTP.
func TestReader(t *testing.T) {
	sim, err := pvesim.Start(pvesim.Options{Seed: 1, NoAuthDelay: true})
	require.NoError(t, err)
	defer sim.Close()
	var want []GuestInfo
	sim.World().View(func(w *pvesim.World) {
		for _, g := range w.Guests() {
			want = append(want, GuestInfo{VMID: g.ID, Kind: g.Kind, Node: g.Node, Pool: g.Pool})
		}
	})
	require.NotEmpty(t, want)
	ctx := context.Background()
	r := NewReader(transport(t, sim.URL()))
	got, err := r.Guests(ctx)
	require.NoError(t, err)
	require.Len(t, got, len(want))
	byID := map[apidoc.VMID]GuestInfo{}
	tagged := 0
	for _, g := range got {
		byID[g.VMID] = g
		tagged += len(g.Tags)
	}
	require.NotZero(t, tagged)
	for _, w := range want {
		g := byID[w.VMID]
		require.Equal(t, w, GuestInfo{VMID: g.VMID, Kind: g.Kind, Node: g.Node, Pool: g.Pool})
		taken, err := r.Exists(ctx, w.VMID)
		require.NoError(t, err)
		require.True(t, taken)
	}
	taken, err := r.Exists(ctx, 987654)
	require.NoError(t, err)
	require.False(t, taken)
	complete, err := r.Complete(ctx)
	require.NoError(t, err)
	require.True(t, complete)

	// A token of one pool sees some, and knows that it does not see all.
	token, err := pverest.ParseTokenID("dev@pve!pool", pvesim.TokenSecret)
	require.NoError(t, err)
	tr, err := pverest.NewTransport(pverest.Config{Hosts: []string{sim.URL()}, Token: token, Timeout: 5 * time.Second})
	require.NoError(t, err)
	defer tr.Close()
	some := NewReader(tr)
	few, err := some.Guests(ctx)
	require.NoError(t, err)
	require.Less(t, len(few), len(got))
	complete, err = some.Complete(ctx)
	require.NoError(t, err)
	require.False(t, complete)
	for _, w := range want { // also those that it does not see
		taken, err := some.Exists(ctx, w.VMID)
		require.NoError(t, err)
		require.True(t, taken)
	}

	sim.Close()
	_, err = r.Guests(ctx)
	require.Error(t, err)
	_, err = r.Exists(ctx, want[0].VMID)
	require.Error(t, err)
	_, err = r.Complete(ctx)
	require.Error(t, err)
}

// The whole way over the wire: a tag of the cluster decides about a write.
func TestProtectionOverTheWire(t *testing.T) {
	sim, err := pvesim.Start(pvesim.Options{Seed: 1, NoAuthDelay: true})
	require.NoError(t, err)
	defer sim.Close()
	tr := transport(t, sim.URL())
	guests, err := NewReader(tr).Guests(context.Background())
	require.NoError(t, err)
	var tagged GuestInfo
	for _, g := range guests {
		if len(g.Tags) > 0 && g.Kind == apidoc.QEMU {
			tagged = g
			break
		}
	}
	require.NotZero(t, tagged.VMID)
	log := newLog(t)
	g, err := Open(Options{Mode: Full, Next: tr, Protect: rules(t, "tag:"+tagged.Tags[0]), Audit: log})
	require.NoError(t, err)
	for _, guest := range guests {
		path := fmt.Sprintf("/nodes/%s/%s/%d/status/stop", guest.Node, guest.Kind, guest.VMID)
		err := g.Check(context.Background(), judge(t, g, "POST", path, nil))
		protected := false
		for _, tag := range guest.Tags {
			protected = protected || tag == tagged.Tags[0]
		}
		if protected {
			require.Equal(t, Protected, kindOf(t, err), path)
		} else {
			require.NoError(t, err, path)
		}
	}
	require.Equal(t, Protected, kindOf(t, g.Check(context.Background(), judge(t, g, "POST", "/nodes/"+string(tagged.Node)+"/stopall", nil))))
	for _, r := range sim.Requests() {
		require.Equal(t, "GET", r.Verb)
	}
}
