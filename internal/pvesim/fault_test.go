package pvesim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

var epochOfTests = time.Unix(1796069990, 0)

func askAs(t testing.TB, s *Server, method, path, token, form string) (rawAnswer, error) {
	t.Helper()
	h := map[string]string{}
	if token != "" {
		h["Authorization"] = "PVEAPIToken=" + token + "=" + recordedSecret
	}
	if form != "" {
		h["Content-Length"] = fmt.Sprint(len(form))
	}
	return exchangeRaw(t, s, buildRequest(method, "/api2/json"+path, h, form))
}

func TestFaults(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	const full = "root@pam!full"
	for _, c := range []struct {
		name   string
		fault  Fault
		status int // 0: no answer, or a broken one
		reason string
		within func(time.Duration) bool
		done   bool // the call was made
	}{
		{name: "offline", fault: Fault{Kind: FaultOffline, Path: "/nodes/pve1/**"}, status: 595, reason: "Connection refused"},
		{name: "offline, no route", fault: Fault{Kind: FaultOffline, Reason: "No route to host"}, status: 595, reason: "No route to host"},
		{name: "slow", fault: Fault{Kind: FaultSlow, Delay: Delay(150 * time.Millisecond)}, status: 200, reason: "OK", done: true,
			within: func(d time.Duration) bool { return d >= 150*time.Millisecond }},
		{name: "hang", fault: Fault{Kind: FaultHang, Delay: Delay(50 * time.Millisecond)}, status: 596, reason: "Connection timed out",
			within: func(d time.Duration) bool { return d >= 50*time.Millisecond }},
		{name: "drop", fault: Fault{Kind: FaultDrop}},
		{name: "lose", fault: Fault{Kind: FaultLose}, done: true},
		{name: "cut", fault: Fault{Kind: FaultCut}, done: true},
		{name: "forced", fault: Fault{Kind: FaultStatus, Status: 401, Reason: "Authentication failed!"}, status: 401, reason: "Authentication failed!"},
		{name: "body cut by a node", fault: Fault{Kind: FaultStatus, Status: 597, Reason: "Broken pipe"}, status: 597, reason: "Broken pipe"},
		{name: "html", fault: Fault{Kind: FaultHTML}, status: 200, reason: "OK"},
		{name: "redirect", fault: Fault{Kind: FaultRedirect}, status: 301, reason: "Moved Permanently"},
		{name: "nested", fault: Fault{Kind: FaultNested, Size: 1000}, status: 200, reason: "OK"},
		{name: "huge", fault: Fault{Kind: FaultHuge, Size: 1 << 20}, status: 200, reason: "OK"},
		{name: "elsewhere", fault: Fault{Kind: FaultDrop, Path: "/nodes/*/lxc"}, status: 200, reason: "OK", done: true},
		{name: "other verb", fault: Fault{Kind: FaultDrop, Method: "POST"}, status: 200, reason: "OK", done: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.ResetRequests()
			if _, err := s.AddFault(c.fault); err != nil {
				t.Fatal(err)
			}
			defer s.ClearFaults()
			began := time.Now()
			a, err := askAs(t, s, "GET", "/nodes/pve1/qemu", full, "")
			if c.status == 0 {
				if err == nil {
					t.Fatalf("answered with %d %s", a.status, a.reason)
				}
			} else if err != nil || a.status != c.status || a.reason != c.reason {
				t.Fatalf("%d %s %v", a.status, a.reason, err)
			}
			if c.within != nil && !c.within(time.Since(began)) {
				t.Errorf("after %s", time.Since(began))
			}
			r := s.Requests()
			if len(r) != 1 || (r[0].Template != "") != c.done {
				t.Errorf("recorded %+v, made: want %v", r, c.done)
			}
		})
	}
}

// TestHangingStorage: what needs the storage waits until the proxy gives up;
// meanwhile others are served, and lists show it as not active.
func TestHangingStorage(t *testing.T) {
	w := recordedWorld(t)
	w.Storage("local").Hanging = true
	s := start(t, Options{World: w, Hang: 300 * time.Millisecond})
	type result struct {
		a   rawAnswer
		err error
		d   time.Duration
	}
	hung := make(chan result, 1)
	began := time.Now()
	go func() {
		a, err := askAs(t, s, "GET", "/nodes/pve1/storage/local/content", "root@pam!full", "")
		hung <- result{a, err, time.Since(began)}
	}()
	if a, err := askAs(t, s, "POST", "/access/ticket", "", "username=u@pve&password=secret12"); err != nil || a.status != 200 {
		t.Error(a, err)
	}
	select {
	case r := <-hung:
		t.Error("did not hang:", r)
	default:
	}
	if r := <-hung; r.err != nil || r.a.status != 596 || r.a.reason != "Connection timed out" || r.d < 300*time.Millisecond {
		t.Error(r)
	}
}

func TestFaultCountsItsCalls(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	if _, err := s.AddFault(Fault{Kind: FaultStatus, Status: 500, Reason: "once", Skip: 1, Times: 2}); err != nil {
		t.Fatal(err)
	}
	var got []int
	for range 5 {
		a, err := askAs(t, s, "GET", "/version", "root@pam!full", "")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a.status)
	}
	if fmt.Sprint(got) != "[200 500 500 200 200]" {
		t.Fatal(got)
	}
	if left := s.Faults(); len(left) != 0 {
		t.Fatalf("still there: %v", left)
	}
}

// TestControl sets and reads everything as another process would.
func TestControl(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	if code, body := do("POST", "/__sim/faults", `[{"kind":"slow","delay":"1ms"},{"kind":"offline","path":"/nodes/pve1/**","times":1}]`); code != 200 || strings.TrimSpace(body) != `{"ids":[1,2]}` {
		t.Fatal(code, body)
	}
	if _, err := askAs(t, s, "GET", "/nodes/pve1/qemu", "root@pam!full", ""); err != nil {
		t.Fatal(err)
	}
	var faults []Fault
	if _, body := do("GET", "/__sim/faults", ""); json.Unmarshal([]byte(body), &faults) != nil || len(faults) != 1 || faults[0].Delay != Delay(time.Millisecond) {
		t.Fatal(body)
	}
	var records []RequestRecord
	if _, body := do("GET", "/__sim/requests", ""); json.Unmarshal([]byte(body), &records) != nil || len(records) != 1 || records[0].Status != 595 {
		t.Fatal(body)
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"DELETE", "/__sim/requests", "", 200},
		{"DELETE", "/__sim/faults/1", "", 200},
		{"DELETE", "/__sim/faults/1", "", 404},
		{"DELETE", "/__sim/faults", "", 200},
		{"POST", "/__sim/faults", `{"kind":"nosuch"}`, 400},
		{"POST", "/__sim/faults", `{"kind":"slow","delay":"1h"}`, 400},
		{"POST", "/__sim/faults", `{"kind":"status","status":7}`, 400},
		{"POST", "/__sim/faults", `{"kind":"slow","dealy":"1s"}`, 400},
		{"POST", "/__sim/faults", `[{"kind":"slow"},{"kind":"x"}]`, 400},
		{"POST", "/__sim/faults", `{`, 400},
		{"PUT", "/__sim/faults", "", 404},
	} {
		if code, body := do(c.method, c.path, c.body); code != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, body)
		}
	}
	if len(s.Faults()) != 0 || len(s.Requests()) != 0 {
		t.Fatal("half of a list of faults was set")
	}
	// A page in a browser must not steer the cluster.
	for _, header := range []string{"Host: evil.example", "Host: 127.0.0.1\r\nOrigin: http://evil.example", "X: y"} {
		a, err := exchangeRaw(t, s, "DELETE /__sim/faults HTTP/1.1\r\n"+header+"\r\n\r\n")
		if err != nil || a.status != 403 {
			t.Errorf("%s: %v %v", header, a, err)
		}
	}
}

func TestSecretsAreNotRecorded(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	if _, err := askAs(t, s, "GET", "/version", "root@pam!full", ""); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()
	if b, err := json.Marshal(r); err != nil || strings.Contains(string(b), recordedSecret) || r[0].User != "root@pam!full" {
		t.Fatalf("%s %v", b, err)
	}
}

// TestManyClients asks from many sides at once while faults come and go and the
// world changes; the race detector looks on.
func TestManyClients(t *testing.T) {
	s := start(t, Options{Seed: 7})
	paths := []string{"/cluster/resources", "/nodes", "/version", "/access/users?full=1", "/access/permissions", "/access/acl", "/nosuch"}
	stop := make(chan struct{})
	var busy sync.WaitGroup
	busy.Add(1)
	go func() {
		defer busy.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			id, err := s.AddFault(Fault{Kind: FaultSlow, Delay: Delay(time.Millisecond), Times: 1})
			if err != nil {
				t.Error(err)
				return
			}
			s.World().Change(func(w *World) {
				w.access.Grant("/vms/"+fmt.Sprint(100+i), "u@pve", "PVEAuditor")
				w.access.Users[fmt.Sprintf("x%d@pve", i)] = &User{Enabled: true}
			})
			_, _ = s.Requests(), s.Faults()
			s.RemoveFault(id)
		}
	}()
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			client := &http.Client{Timeout: time.Minute}
			for i := range 25 {
				path := paths[(c+i)%len(paths)]
				req, err := http.NewRequest("GET", s.URL()+"/api2/json"+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "PVEAPIToken=root@pam!full="+TokenSecret)
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				want := 200
				if path == "/nosuch" {
					want = 501
				}
				if err != nil || res.StatusCode != want || !json.Valid(body) {
					t.Errorf("%s: %s %v %.100s", path, res.Status, err, body)
				}
			}
		}()
	}
	clients.Wait()
	close(stop)
	busy.Wait()
	if n := len(s.Requests()); n != 200 {
		t.Errorf("%d requests recorded", n)
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/nodes/pve2/**", "/nodes/pve2/qemu/100", true},
		{"/nodes/pve2/**", "/nodes/pve2", true},
		{"/nodes/pve2/**", "/nodes/pve20", false},
		{"/nodes/*/qemu", "/nodes/a/qemu", true},
		{"/nodes/*/qemu", "/nodes/a/qemu/1", false},
		{"/nodes/pve*", "/nodes/pve7", true},
		{"/nodes/*v*7", "/nodes/pve7", true},
		{"/nodes/*v*8", "/nodes/pve7", false},
		{"/version", "/version/", true},
		{"**", "/x", true},
	} {
		if got := glob(c.pattern, c.path); got != c.want {
			t.Errorf("%s %s: %v", c.pattern, c.path, got)
		}
	}
}
