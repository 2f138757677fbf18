package pverest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseTokenID(t *testing.T) {
	for _, c := range []struct{ id, secret, want string }{
		{"root@pam!mcp", testSecret, "root@pam!mcp"},
		{" root@pam!mcp\n", " " + testSecret + "\n", "root@pam!mcp"},
		{"a@b@ldap.example!x-1.y_z", testSecret, "a@b@ldap.example!x-1.y_z"},
		{"wow!@pve!tok", testSecret, "wow!@pve!tok"},
		{"PVEAPIToken=root@pam!mcp=" + testSecret, "", "root@pam!mcp"},
		{"root@pam!mcp=" + testSecret, "", "root@pam!mcp"},
	} {
		tok, err := ParseTokenID(c.id, c.secret)
		require.NoError(t, err, c.id)
		require.Equal(t, c.want, tok.ID())
		require.Equal(t, "PVEAPIToken="+c.want+"="+testSecret, tok.header())
	}
	for _, c := range []struct{ id, secret, say string }{
		{"", testSecret, "empty"},
		{"root@pam", testSecret, `no "!NAME"`},
		{"root!mcp", testSecret, `no "@REALM"`},
		{"@pam!mcp", testSecret, "user or realm is empty"},
		{"root@!mcp", testSecret, "user or realm is empty"},
		{"root@pam!", testSecret, "no token name"},
		{"root@pam!x", testSecret, "two characters"},
		{"root@pam!1x", testSecret, "no token name"},
		{"ro:ot@pam!mcp", testSecret, "doesn't allow"},
		{"root@pam!mcp", "", "secret of token root@pam!mcp is empty"},
		{"root@pam!mcp", testSecret[:9] + " " + testSecret[9:], "position 10"},
		{"root@pam!mcp=" + testSecret, testSecret, `"="`},
	} {
		_, err := ParseTokenID(c.id, c.secret)
		require.ErrorContains(t, err, c.say)
		require.NotContains(t, err.Error(), testSecret)
		require.NotContains(t, err.Error(), testSecret[:9])
	}
}

func TestTokenCantBePrinted(t *testing.T) {
	tok := testToken(t)
	cfg := Config{Token: tok, Hosts: []string{"pve"}}
	tr := newTestTransport(t, cfg)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "token", tok, "config", cfg)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", tok, "config", cfg)
	js, err := json.Marshal(map[string]any{"token": tok, "pointer": &tok, "config": cfg})
	require.NoError(t, err)
	all := log.String() + string(js)
	for _, v := range []any{tok, &tok, cfg, &cfg, tr, struct{ inner Token }{tok}} {
		all += fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v)
	}
	require.NotContains(t, all, testSecret)
	require.NotContains(t, all, fmt.Sprintf("%x", testSecret))
	require.Contains(t, all, "root@pam!mcp="+masked)
	require.Equal(t, "root@pam", tok.User())
	require.Equal(t, "(no token)", Token{}.String())
}
