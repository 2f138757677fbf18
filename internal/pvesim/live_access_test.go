package pvesim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUsersAndGroups(t *testing.T) {
	w := small(t, "")
	s := quick(t, w)
	assert.Nil(t, ok(t, s, "POST /access/groups", "groupid", "team", "comment", "us"))
	fails(t, s, 500, "create group failed: group 'team' already exists", "POST /access/groups", "groupid", "team")
	assert.Nil(t, ok(t, s, "POST /access/users", "userid", "eve@pve", "password", "long-enough", "groups", "team", "email", "e@example.org", "expire", "2000000000"))
	fails(t, s, 500, "create user failed: user 'eve@pve' already exists", "POST /access/users", "userid", "eve@pve")
	fails(t, s, 500, "create user failed: no such group 'nope'", "POST /access/users", "userid", "x1@pve", "groups", "nope")
	fails(t, s, 500, "create user failed: auth domain 'corp' does not exist", "POST /access/users", "userid", "x1@corp", "password", "long-enough")
	eve := ok(t, s, "GET /access/users/eve@pve").(map[string]any)
	assert.Equal(t, "e@example.org", eve["email"])
	assert.Equal(t, []any{"team"}, eve["groups"])
	assert.Equal(t, "2000000000", dataText(eve["expire"]))
	assert.Equal(t, 200, api(t, s, "POST /access/ticket", "username", "eve@pve", "password", "long-enough").status)

	ok(t, s, "POST /access/groups", "groupid", "more")
	ok(t, s, "PUT /access/users/eve@pve", "groups", "more", "append", "1", "enable", "0")
	assert.Equal(t, []any{"more", "team"}, ok(t, s, "GET /access/users/eve@pve").(map[string]any)["groups"])
	assert.Equal(t, 401, api(t, s, "POST /access/ticket", "username", "eve@pve", "password", "long-enough").status, "disabled")
	fails(t, s, 500, "update user failed: no such user ('zz@pve')", "PUT /access/users/zz@pve", "comment", "x")
	ok(t, s, "PUT /access/acl", "path", "/vms", "roles", "PVEAuditor", "users", "eve@pve")
	ok(t, s, "PUT /access/acl", "path", "/vms", "roles", "PVEAuditor", "groups", "team")
	ok(t, s, "DELETE /access/groups/team")
	assert.Equal(t, []any{"more"}, ok(t, s, "GET /access/users/eve@pve").(map[string]any)["groups"])
	ok(t, s, "POST /access/users/eve@pve/token/ci")
	ok(t, s, "DELETE /access/users/eve@pve")
	w.View(func(w *World) {
		assert.Empty(t, w.access.tokensOf("eve@pve"))
		for _, e := range w.access.ACL {
			assert.NotContains(t, e.Who, "eve")
			assert.NotEqual(t, "team", e.Who)
		}
	})
	fails(t, s, 500, "delete user failed: no such user ('eve@pve')", "DELETE /access/users/eve@pve")

	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "create group failed: error during cfs-locked 'file-user_cfg' operation: no quorum!", "POST /access/groups", "groupid", "late")
}

func TestTokensShowTheirSecretOnce(t *testing.T) {
	s := quick(t, small(t, ""))
	made := ok(t, s, "POST /access/users/ops@pve/token/ci", "privsep", "0", "comment", "builds").(map[string]any)
	assert.Equal(t, "ops@pve!ci", made["full-tokenid"])
	assert.Equal(t, map[string]any{"privsep": "0", "comment": "builds"}, made["info"])
	secret := made["value"].(string)
	assert.Len(t, secret, 36)
	use := func(secret string) int {
		return fetchAs(t, s, "PVEAPIToken=ops@pve!ci="+secret, "GET", "/api2/json/version", "").status
	}
	assert.Equal(t, 200, use(secret))
	assert.NotContains(t, api(t, s, "GET /access/users/ops@pve/token/ci").body, secret)
	refuses(t, s, "tokenid", "Token already exists.", "POST /access/users/ops@pve/token/ci")
	fails(t, s, 500, "no such user ('zz@pve')", "POST /access/users/zz@pve/token/ci")

	again := ok(t, s, "PUT /access/users/ops@pve/token/ci", "regenerate", "1").(map[string]any)
	assert.Equal(t, 401, use(secret))
	assert.Equal(t, 200, use(again["value"].(string)))
	changed := ok(t, s, "PUT /access/users/ops@pve/token/ci", "comment", "new").(map[string]any)
	assert.NotContains(t, changed, "value")
	ok(t, s, "PUT /access/acl", "path", "/vms/100", "roles", "PVEVMUser", "tokens", "ops@pve!ci")
	ok(t, s, "DELETE /access/users/ops@pve/token/ci")
	assert.Equal(t, 401, use(again["value"].(string)))
	assert.NotContains(t, api(t, s, "GET /access/acl").body, "ops@pve!ci")
	fails(t, s, 500, "no such token 'ci' for user 'ops@pve'", "DELETE /access/users/ops@pve/token/ci")
}

func TestACLAndRoles(t *testing.T) {
	s := quick(t, small(t, ""))
	ops := "PVEAPIToken=ops@pve!tt=" + TokenSecret
	see := func() int { return fetchAs(t, s, ops, "GET", "/api2/json/nodes/n1/qemu/100/config", "").status }
	assert.Equal(t, 403, see())
	ok(t, s, "POST /access/roles", "roleid", "Look", "privs", "VM.Audit")
	ok(t, s, "PUT /access/acl", "path", "/vms/100/", "roles", "Look", "users", "ops@pve")
	assert.Equal(t, 200, see())
	ok(t, s, "PUT /access/acl", "path", "/vms/100", "roles", "Look", "users", "ops@pve", "propagate", "0")
	assert.Equal(t, 1, strings.Count(api(t, s, "GET /access/acl").body, `"Look"`), "it is one entry still")
	ok(t, s, "PUT /access/acl", "path", "/vms/100", "roles", "Look", "users", "ops@pve", "delete", "1")
	assert.Equal(t, 403, see())

	refuses(t, s, "path", "invalid ACL path '/nosuch'", "PUT /access/acl", "path", "/nosuch", "roles", "Look", "users", "ops@pve")
	refuses(t, s, "users", "either 'users', 'groups' or 'tokens' is required.", "PUT /access/acl", "path", "/", "roles", "Look")
	fails(t, s, 500, "ACL update failed: user 'zz@pve' does not exist", "PUT /access/acl", "path", "/", "roles", "Look", "users", "zz@pve")
	fails(t, s, 500, "ACL update failed: role 'Nope' does not exist", "PUT /access/acl", "path", "/", "roles", "Nope", "users", "ops@pve")

	refuses(t, s, "privs", "invalid format - invalid privilege 'VM.Monitor'\n", "POST /access/roles", "roleid", "Old", "privs", "VM.Monitor")
	refuses(t, s, "roleid", "cannot use role ID starting with the (case-insensitive) 'PVE' namespace", "POST /access/roles", "roleid", "pveMine")
	fails(t, s, 500, "update role failed: auto-generated role 'PVEAuditor' cannot be modified", "PUT /access/roles/PVEAuditor", "privs", "VM.Audit")
	ok(t, s, "PUT /access/roles/Look", "privs", "VM.Console", "append", "1")
	assert.Len(t, ok(t, s, "GET /access/roles/Look"), 2)
	ok(t, s, "PUT /access/acl", "path", "/vms", "roles", "Look", "users", "ops@pve")
	ok(t, s, "DELETE /access/roles/Look")
	assert.NotContains(t, api(t, s, "GET /access/acl").body, `"Look"`)
}

func TestRealms(t *testing.T) {
	s := quick(t, small(t, ""))
	fails(t, s, 500, "missing value for required option 'user_attr'", "POST /access/domains", "realm", "corp", "type", "ldap", "server1", "a", "base_dn", "dc=x")
	ok(t, s, "POST /access/domains", "realm", "corp", "type", "ldap", "server1", "a", "base_dn", "dc=x", "user_attr", "uid", "default", "1", "password", "hidden")
	corp := ok(t, s, "GET /access/domains/corp").(map[string]any)
	assert.Equal(t, "dc=x", corp["base_dn"])
	assert.NotContains(t, corp, "password")
	fails(t, s, 500, "add auth server failed: domain 'corp' already exists", "POST /access/domains", "realm", "corp", "type", "ldap", "server1", "a", "base_dn", "dc=x", "user_attr", "uid")
	ok(t, s, "PUT /access/domains/corp", "comment", "directory", "delete", "default")
	upid := ok(t, s, "POST /access/domains/corp/sync").(string)
	assert.Contains(t, upid, ":auth-realm-sync:corp:")
	status, _ := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	fails(t, s, 500, "Cannot sync users from 'pve' realm type!", "POST /access/domains/pve/sync")
	ok(t, s, "DELETE /access/domains/corp")
	fails(t, s, 500, "update auth server failed: domain 'corp' does not exist", "PUT /access/domains/corp", "comment", "x")
}

func TestPasswordsAndFactors(t *testing.T) {
	s := quick(t, small(t, ""))
	fails(t, s, 403, "Permission check failed (URI '/access/password' not available with API token, need proper ticket.", "PUT /access/password", "userid", "ops@pve", "password", "new-secret")
	a := asRoot(t, s, "PUT /access/password", "userid", "ops@pve", "password", "new-secret")
	require.Equal(t, 200, a.status, a.body)
	assert.Equal(t, 200, api(t, s, "POST /access/ticket", "username", "ops@pve", "password", "new-secret").status)
	made := asRoot(t, s, "POST /access/tfa/ops@pve", "type", "totp", "description", "phone", "totp", "otpauth://x", "value", "123456", "password", "root-secret")
	require.Equal(t, 200, made.status, made.body)
	id := made.data(t).(map[string]any)["id"].(string)
	keys := asRoot(t, s, "POST /access/tfa/ops@pve", "type", "recovery", "password", "root-secret").data(t).(map[string]any)
	assert.Len(t, keys["recovery"], 10)
	assert.Len(t, ok(t, s, "GET /access/tfa/ops@pve"), 2)
	assert.Equal(t, 200, asRoot(t, s, "DELETE /access/tfa/ops@pve/"+id, "password", "root-secret").status)
	assert.Equal(t, 404, asRoot(t, s, "DELETE /access/tfa/ops@pve/"+id, "password", "root-secret").status)
	assert.Len(t, ok(t, s, "GET /access/tfa/ops@pve"), 1)
}
