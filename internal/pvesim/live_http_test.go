package pvesim

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const rootToken = "PVEAPIToken=root@pam!full=" + TokenSecret

// fetch makes a request with a token of root@pam; parameters are those of a
// form, in the query for GET and DELETE.
func fetch(t testing.TB, s *Server, method, path, form string) rawAnswer {
	t.Helper()
	return fetchAs(t, s, rootToken, method, path, form)
}

func fetchAs(t testing.TB, s *Server, token, method, path, form string) rawAnswer {
	t.Helper()
	headers := map[string]string{"Authorization": token, "Connection": "close"}
	body := ""
	if method == "GET" || method == "DELETE" {
		if form != "" {
			path += "?" + form
		}
	} else if form != "" {
		body = form
		headers["Content-Type"] = "application/x-www-form-urlencoded"
	}
	if body != "" {
		headers["Content-Length"] = itoa(len(body))
	}
	a, err := exchangeRaw(t, s, buildRequest(method, path, headers, body))
	require.NoError(t, err)
	return a
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// form writes key, value, key, value… as a form.
func form(pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

// api is fetch below /api2/json with key, value, key, value…
func api(t testing.TB, s *Server, call string, pairs ...string) rawAnswer {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	return fetch(t, s, method, "/api2/json"+path, form(pairs...))
}

// data gives what an answer has as data.
func (a rawAnswer) data(t testing.TB) any {
	t.Helper()
	var v struct{ Data any }
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), a.body)
	return v.Data
}

// ok makes a call that must succeed and gives its data.
func ok(t testing.TB, s *Server, call string, pairs ...string) any {
	t.Helper()
	a := api(t, s, call, pairs...)
	require.Equal(t, 200, a.status, "%s: %s %s", call, a.reason, a.body)
	return a.data(t)
}

// task makes a call that must give a task, waits for its end and gives its
// exit text and log.
func task(t testing.TB, s *Server, call string, pairs ...string) (status string, log []string) {
	t.Helper()
	upid, is := ok(t, s, call, pairs...).(string)
	require.True(t, is, call)
	return ended(t, s, upid)
}

// taskOK is task where the task must succeed.
func taskOK(t testing.TB, s *Server, call string, pairs ...string) (log []string) {
	t.Helper()
	status, log := task(t, s, call, pairs...)
	require.Equal(t, "OK", status, "%s: %v", call, log)
	return log
}

// fails makes a call that must be refused with that status and reason.
func fails(t testing.TB, s *Server, status int, reason, call string, pairs ...string) {
	t.Helper()
	a := api(t, s, call, pairs...)
	assert.Equal(t, status, a.status, "%s %v: %s", call, pairs, a.body)
	assert.Equal(t, reason, a.reason, "%s %v", call, pairs)
}

// refuses makes a call that must be refused for a parameter.
func refuses(t testing.TB, s *Server, param, text, call string, pairs ...string) {
	t.Helper()
	a := api(t, s, call, pairs...)
	require.Equal(t, 400, a.status, "%s: %s %s", call, a.reason, a.body)
	var v struct{ Errors map[string]string }
	require.NoError(t, json.Unmarshal([]byte(a.body), &v))
	assert.Equal(t, text, v.Errors[param], a.body)
}

// changed runs f while nothing else happens in the world.
func changed(s *Server, f func(w *World)) { s.World().Change(f) }

// dataText gives a member of an answer as text, numbers too.
func dataText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// config gives the configuration of a guest as the API tells it.
func config(t testing.TB, s *Server, path string, pairs ...string) map[string]string {
	t.Helper()
	m, is := ok(t, s, "GET "+path+"/config", pairs...).(map[string]any)
	require.True(t, is)
	out := map[string]string{}
	for k, v := range m {
		out[k] = dataText(v)
	}
	return out
}
