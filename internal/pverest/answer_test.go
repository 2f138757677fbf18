package pverest

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The statuses, reasons and bodies are those observed on pve-manager 9.2.11.
func TestStatusesBecomeErrors(t *testing.T) {
	cases := []struct {
		name, reason, body string
		call               Call
		status             int
		want               Error // what is set is compared
	}{
		{"ticket missing", "No ticket", "", get("/version"), 401,
			Error{Kind: KindUnauthorized, Message: "No ticket", Subject: "/version"}},
		{"forbidden", "Permission check failed (/vms/101, VM.Audit)",
			`{"data":null,"message":"Permission check failed (/vms/101, VM.Audit)\n"}`, get("/nodes/pve1/qemu/101/config"), 403,
			Error{Kind: KindForbidden, PermPath: "/vms/101", Privileges: []string{"VM.Audit"}, Subject: "/nodes/pve1/qemu/101", Node: "pve1",
				Message: "Permission check failed (/vms/101, VM.Audit)"}},
		{"forbidden, any of several", "Permission check failed (/vms/100, VM.Config.Disk|VM.Config.CPU)",
			`{"message":"Permission check failed (/vms/100, VM.Config.Disk|VM.Config.CPU)\n","data":null}`, post("/nodes/pve1/qemu/100/config"), 403,
			Error{Kind: KindForbidden, PermPath: "/vms/100", Privileges: []string{"VM.Config.Disk", "VM.Config.CPU"}, AnyPrivilege: true}},
		{"forbidden, reason alone", "Permission check failed (/storage/local, Datastore.AllocateTemplate)", "", post("/nodes/pve1/storage/local/upload"), 403,
			Error{Kind: KindForbidden, PermPath: "/storage/local", Privileges: []string{"Datastore.AllocateTemplate"}, Subject: "/nodes/pve1/storage/local"}},
		{"root only", "Permission check failed (user != root@pam)",
			`{"message":"Permission check failed (user != root@pam)\n","data":null}`, post("/nodes/pve1/execute"), 403,
			Error{Kind: KindForbidden, RootOnly: true, Subject: "/nodes/pve1"}},
		{"ticket only", "Permission check failed (URI '/access/password' not available with API token, need proper ticket.",
			`{"data":null,"message":"Permission check failed (URI '/access/password' not available with API token, need proper ticket.\n)\n"}`,
			Call{Verb: "PUT", Path: "/access/password"}, 403,
			Error{Kind: KindForbidden, NeedsTicket: true}},
		{"parameters", "Parameter verification failed.",
			`{"errors":{"password":"value must be at least 8 characters long"},"data":null,"message":"Parameter verification failed.\n"}`,
			Call{Verb: "PUT", Path: "/access/password"}, 400,
			Error{Kind: KindParameter, Params: map[string]string{"password": "value must be at least 8 characters long"}, Message: "Parameter verification failed."}},
		{"no such method", "Method 'GET /nosuch' not implemented",
			`{"data":null,"message":"Method 'GET /nosuch' not implemented"}`, get("/nosuch"), 501,
			Error{Kind: KindNotImplemented}},
		{"no such guest", "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
			`{"data":null,"message":"Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist\n"}`, get("/nodes/pve1/qemu/999/config"), 500,
			Error{Kind: KindNotFound}},
		{"no such node", "hostname lookup 'nope' failed - failed to get address info for: nope: Name or service not known", "", get("/nodes/nope/qemu"), 500,
			Error{Kind: KindNotFound, Node: "nope"}},
		{"no such user", "no such user ('zz@pve')", `{"message":"no such user ('zz@pve')\n","data":null}`, get("/access/users/zz@pve"), 500,
			Error{Kind: KindNotFound, Subject: "/access/users"}},
		{"locked", "VM is locked (snapshot)", `{"data":null,"message":"VM is locked (snapshot)\n"}`, post("/nodes/pve1/qemu/101/config"), 500,
			Error{Kind: KindLocked, Lock: "snapshot"}},
		{"file lock", "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
			`{"data":null,"message":"can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout\n"}`, post("/nodes/pve1/qemu/100/config"), 500,
			Error{Kind: KindLocked}},
		{"digest", "checksum mismatch (file change by other user?)",
			`{"data":null,"message":"checksum mismatch (file change by other user?)\n"}`, post("/nodes/pve1/qemu/100/config"), 500,
			Error{Kind: KindConflict, Detail: DetailDigest}},
		{"exists", "unable to create VM 100 - VM 100 already exists on node 'pve1'",
			`{"data":null,"message":"unable to create VM 100 - VM 100 already exists on node 'pve1'\n"}`, post("/nodes/pve1/qemu"), 500,
			Error{Kind: KindConflict, Detail: DetailExists}},
		{"die", "only root can set 'args' config", `{"message":"only root can set 'args' config\nsecond line\n","data":null}`, post("/nodes/pve1/qemu/100/config"), 500,
			Error{Kind: KindServer, Message: "only root can set 'args' config\nsecond line", Reason: "only root can set 'args' config"}},
		{"old server, plain body", "no such file '/nosuch'", "no such file '/nosuch'\n", get("/x"), 500,
			Error{Kind: KindNotFound, Message: "no such file '/nosuch'"}},
		{"body too large for it", "for data too large", "for data too large", post("/nodes/pve1/qemu"), 501,
			Error{Kind: KindTooLarge, Detail: DetailRequestSize}},
		{"node offline, write", "No route to host", "", post("/nodes/pve2/qemu/110/status/start"), 595,
			Error{Kind: KindNodeOffline, Node: "pve2", Message: "No route to host"}},
		{"TLS between nodes, write", "error:0A000086:SSL routines::certificate verify failed", "", post("/nodes/pve2/qemu/110/status/start"), 596,
			Error{Kind: KindProxy, Node: "pve2"}},
		{"no answer between nodes, write", "Connection timed out", "", post("/nodes/pve2/qemu/110/status/start"), 596,
			Error{Kind: KindUnknownOutcome, Node: "pve2"}},
		{"answer cut between nodes, write", "Broken pipe", "", post("/nodes/pve2/qemu/110/status/start"), 597,
			Error{Kind: KindUnknownOutcome}},
		{"answer cut between nodes, read", "Broken pipe", "", get("/nodes/pve2/qemu"), 597,
			Error{Kind: KindProxy}},
		{"gateway, write", "Gateway Timeout", "<html>nginx</html>", post("/nodes/pve1/qemu"), 504,
			Error{Kind: KindUnknownOutcome}},
		{"gateway, read", "Bad Gateway", "<html>nginx</html>", get("/nodes"), 502,
			Error{Kind: KindNotProxmox, Detail: DetailGateway}},
		{"HTML", "OK", "<!DOCTYPE html>\n<html>\n<title>Router</title>", get("/version"), 200,
			Error{Kind: KindNotProxmox, Detail: DetailHTML, Snippet: "<!DOCTYPE html> <html> <title>Router</title>"}},
		{"HTML to a write", "OK", "<html>", post("/nodes/pve1/qemu"), 200,
			Error{Kind: KindUnknownOutcome}},
		{"no envelope", "OK", `{"hello":1}`, get("/version"), 200, Error{Kind: KindNotProxmox, Detail: DetailEnvelope}},
		{"a list", "OK", `[1]`, get("/version"), 200, Error{Kind: KindNotProxmox, Detail: DetailEnvelope}},
		{"nothing", "OK", ``, get("/version"), 200, Error{Kind: KindNotProxmox, Detail: DetailEnvelope}},
		{"cut", "OK", `{"data":[{"vmid":100,"na`, get("/nodes/pve1/qemu"), 200, Error{Kind: KindTruncated}},
		{"broken inside", "OK", `{"data":[{"vmid":1x0}]}`, get("/nodes/pve1/qemu"), 200, Error{Kind: KindMalformed}},
		{"broken inside, write", "OK", `{"data":[1,]}`, post("/nodes/pve1/qemu"), 200, Error{Kind: KindUnknownOutcome}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, nil, fixed(c.status, c.reason, c.body))
			cl, _ := newTestClient(t, f)
			_, err := cl.Do(ctx5(t), c.call)
			e := asError(t, err)
			require.Equal(t, c.want.Kind, e.Kind, "%v", e)
			require.Equal(t, c.want.Detail, e.Detail)
			require.Equal(t, c.call.Op(), e.Op)
			require.Equal(t, c.status, e.Status)
			require.Equal(t, c.want.Params, e.Params)
			require.Equal(t, c.want.PermPath, e.PermPath)
			require.Equal(t, c.want.Privileges, e.Privileges)
			require.Equal(t, c.want.AnyPrivilege, e.AnyPrivilege)
			require.Equal(t, c.want.RootOnly, e.RootOnly)
			require.Equal(t, c.want.NeedsTicket, e.NeedsTicket)
			require.Equal(t, c.want.Lock, e.Lock)
			require.True(t, e.Sent)
			require.Equal(t, f.addr, e.Host)
			if c.status >= 400 {
				require.Equal(t, c.reason, e.Reason)
			}
			if c.want.Message != "" {
				require.Equal(t, c.want.Message, e.Message)
			}
			if c.want.Subject != "" {
				require.Equal(t, c.want.Subject, e.Subject)
			}
			if c.want.Node != "" {
				require.Equal(t, c.want.Node, e.Node)
			}
			if c.want.Snippet != "" {
				require.Equal(t, c.want.Snippet, e.Snippet)
			}
			if c.call.Verb != "GET" {
				require.EqualValues(t, 1, f.arrivals.Load(), "a write is sent once")
			}
		})
	}
}

func TestErrorLine(t *testing.T) {
	f := newFake(t, nil, fixed(400, "Parameter verification failed.",
		`{"errors":{"vmid":"bad\n","cores":"worse"},"data":null,"message":"Parameter verification failed.\n"}`))
	cl, _ := newTestClient(t, f)
	_, err := cl.Do(ctx5(t), post("/nodes/pve1/qemu"))
	require.EqualError(t, err, "POST /nodes/pve1/qemu: parameter: 400 Parameter verification failed. [cores: worse; vmid: bad]")

	lost := &Error{Op: "POST /x", Kind: KindUnknownOutcome, Err: &Error{Kind: KindProxy, Status: 596, Reason: "Broken pipe"}}
	require.Equal(t, "POST /x: unknown outcome: the request was sent and its answer was lost, so it may or may not have been done (proxy trouble: 596 Broken pipe)", lost.Error())
	require.True(t, IsKind(lost, KindProxy, KindUnknownOutcome))
	require.False(t, IsKind(lost, KindProxy))
	require.False(t, IsKind(nil, ""))
}

func TestReplies(t *testing.T) {
	f := newFake(t, nil, func(c net.Conn, a arrival) bool {
		switch {
		case strings.HasSuffix(a.URL.Path, "/log"):
			return answerRaw(c, 200, "OK", "Content-Type: text/plain\r\n", "line 1\n{\"line\": 2}\n")
		case strings.HasSuffix(a.URL.Path, "/tasks"):
			return answer(c, 200, "OK", `{"total":"9","data":[{"upid":"x"}],"unknown":{"data":[]}}`)
		case strings.HasSuffix(a.URL.Path, "/network"):
			return answer(c, 200, "OK", ` { "changes" : "--- a\n+++ b" , "data" : [ ] } `)
		}
		return answer(c, 200, "OK", `{"data":null}`)
	})
	cl, tr := newTestClient(t, f)

	r, err := cl.Do(ctx5(t), get("/nodes/pve1/tasks"))
	require.NoError(t, err)
	require.JSONEq(t, `[{"upid":"x"}]`, string(r.Data))
	require.NotNil(t, r.Total)
	require.EqualValues(t, 9, *r.Total)
	require.Equal(t, f.addr, r.Host)
	require.Equal(t, 1, r.Tries)

	r, err = cl.Do(ctx5(t), get("/nodes/pve1/network"))
	require.NoError(t, err)
	require.Equal(t, "--- a\n+++ b", r.Changes)
	require.Nil(t, r.Total)

	var log string
	require.NoError(t, cl.Get(ctx5(t), "/nodes/pve1/tasks/x/log", nil, &log))
	require.Equal(t, "line 1\n{\"line\": 2}\n", log)

	v := []int{7}
	require.NoError(t, cl.Get(ctx5(t), "/nodes/pve1/config", nil, &v))
	require.Nil(t, v, "null makes a slice nil, as in encoding/json")

	var wrong struct{ UPID string }
	err = cl.Get(ctx5(t), "/nodes/pve1/tasks", nil, &wrong)
	e := asError(t, err)
	require.Equal(t, KindMalformed, e.Kind)
	require.Contains(t, e.Error(), "array at data")
	require.EqualValues(t, 5, tr.Requests())
	require.EqualValues(t, 1, f.conns.Load(), "one connection is kept for all")
}

func TestDeepNestingIsRefusedFast(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"[", `{"a":`} {
		body := `{"data":` + strings.Repeat(open, 10<<20/len(open))
		f := newFake(t, nil, fixed(200, "OK", body))
		cl, _ := newTestClient(t, f)
		began := time.Now()
		_, err := cl.Do(ctx5(t), get("/nodes"))
		require.Equal(t, KindTooDeep, asError(t, err).Kind)
		require.Less(t, time.Since(began), 3*time.Second)
	}
	// As deep as allowed is read; one deeper is not.
	for extra, want := range map[int]Kind{0: "", 1: KindTooDeep} {
		n := MaxDepth + extra
		f := newFake(t, nil, fixed(200, "OK", `{"data":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`))
		cl, _ := newTestClient(t, f)
		_, err := cl.Do(ctx5(t), get("/nodes"))
		require.Equal(t, want, KindOf(err))
	}
}

func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{`{"data":null}`, `{"data":[{"a":"\\\""}],"total":3}`, `{}`, `{"data":"`, `[`, `{"data":{]}`, "", `{"data":1 2}`,
		`{"errors":{"a":1},"message":"x"}`, `{"data":[[[[`, `{"data":tru}`, `{"data":1},`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkEnvelope(t, b) })
}
