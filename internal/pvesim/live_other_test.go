package pvesim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asRoot makes a call as root@pam by ticket, which may more than any token.
func asRoot(t testing.TB, s *Server, call string, pairs ...string) rawAnswer {
	t.Helper()
	changed(s, func(w *World) { w.access.Users["root@pam"].Password = "root-secret" })
	login := ok(t, s, "POST /access/ticket", "username", "root@pam", "password", "root-secret").(map[string]any)
	ticket, csrf := login["ticket"].(string), login["CSRFPreventionToken"].(string)
	method, path, _ := strings.Cut(call, " ")
	headers := map[string]string{"Cookie": "PVEAuthCookie=" + escapeTicket(ticket), "CSRFPreventionToken": csrf, "Connection": "close"}
	path, body := "/api2/json"+path, form(pairs...)
	if method == "GET" || method == "DELETE" {
		if body != "" {
			path += "?" + body
		}
		body = ""
	} else if body != "" {
		headers["Content-Type"] = "application/x-www-form-urlencoded"
		headers["Content-Length"] = itoa(len(body))
	}
	a, err := exchangeRaw(t, s, buildRequest(method, path, headers, body))
	require.NoError(t, err)
	return a
}
