package pvesim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPools(t *testing.T) {
	s := quick(t, small(t, ""))
	assert.Nil(t, ok(t, s, "POST /pools", "poolid", "p1"))
	fails(t, s, 500, "create pool failed: pool 'p1' already exists", "POST /pools", "poolid", "p1")
	fails(t, s, 500, "create pool failed: parent 'no' of pool 'no/sub' does not exist", "POST /pools", "poolid", "no/sub")
	ok(t, s, "PUT /pools", "poolid", "p1", "vms", "101", "storage", "nas", "comment", "mine")
	fails(t, s, 500, "update pools failed: VM 100 belongs already to pool 'dev' and 'allow-move' is not set", "PUT /pools", "poolid", "p1", "vms", "100")
	ok(t, s, "PUT /pools", "poolid", "p1", "vms", "100", "allow-move", "1")
	assert.Contains(t, api(t, s, "GET /pools", "poolid", "p1").body, `"qemu/100"`)
	fails(t, s, 500, "delete pool failed: pool 'p1' is not empty (contains VM 100)", "DELETE /pools", "poolid", "p1")
	ok(t, s, "PUT /pools/p1", "vms", "100,101", "delete", "1")
	fails(t, s, 500, "update pools failed: VM 100 is not a pool member", "PUT /pools/p1", "vms", "100", "delete", "1")
	fails(t, s, 500, "delete pool failed: pool 'p1' is not empty (contains storage 'nas')", "DELETE /pools", "poolid", "p1")
	ok(t, s, "PUT /pools/p1", "storage", "nas", "delete", "1")
	ok(t, s, "DELETE /pools", "poolid", "p1")
	fails(t, s, 500, "delete pool failed: pool 'p1' does not exist", "DELETE /pools/p1")
}

func TestFirewallChanges(t *testing.T) {
	s := quick(t, small(t, ""))
	for _, at := range []string{"/nodes/n1/qemu/100/firewall", "/nodes/n1/lxc/102/firewall", "/cluster/firewall", "/nodes/n1/firewall"} {
		refuses(t, s, "proto", "missing property - 'dport' requires this property", "POST "+at+"/rules", "action", "ACCEPT", "type", "in", "dport", "80")
		ok(t, s, "POST "+at+"/rules", "action", "ACCEPT", "type", "in", "dport", "80", "proto", "tcp")
		ok(t, s, "POST "+at+"/rules", "action", "DROP", "type", "in", "enable", "1")
		rules := ok(t, s, "GET "+at+"/rules").([]any)
		assert.Len(t, rules, 2, at)
		first := rules[0].(map[string]any)
		assert.Equal(t, "DROP", first["action"], "a new rule is the first")
		assert.Equal(t, "0", dataText(rules[1].(map[string]any)["enable"]), "and is off unless said")
		fails(t, s, 500, "detected modified configuration - file changed by other user? Try again.", "PUT "+at+"/rules/0", "enable", "0", "digest", strings.Repeat("0", 40))
		ok(t, s, "PUT "+at+"/rules/0", "moveto", "2", "digest", first["digest"].(string))
		ok(t, s, "PUT "+at+"/rules/0", "dport", "443", "delete", "comment")
		rules = ok(t, s, "GET "+at+"/rules").([]any)
		assert.Equal(t, "443", rules[0].(map[string]any)["dport"])
		ok(t, s, "DELETE "+at+"/rules/1")
		fails(t, s, 500, "no rule at position 1", "DELETE "+at+"/rules/1")
		refuses(t, s, "action", "unknown action 'MAYBE'", "POST "+at+"/rules", "action", "MAYBE", "type", "in")
		ok(t, s, "PUT "+at+"/options", "enable", "1")
		assert.Equal(t, "1", dataText(ok(t, s, "GET "+at+"/options").(map[string]any)["enable"]))
		if at == "/nodes/n1/firewall" {
			continue
		}
		ok(t, s, "POST "+at+"/aliases", "name", "gate", "cidr", "192.0.2.1")
		refuses(t, s, "name", "alias 'gate' already exists", "POST "+at+"/aliases", "name", "gate", "cidr", "192.0.2.1")
		ok(t, s, "PUT "+at+"/aliases/gate", "cidr", "192.0.2.2", "rename", "door")
		assert.Equal(t, "192.0.2.2", ok(t, s, "GET "+at+"/aliases/door").(map[string]any)["cidr"])
		ok(t, s, "DELETE "+at+"/aliases/door")
		refuses(t, s, "name", "no such alias", "PUT "+at+"/aliases/door", "cidr", "192.0.2.2")
		ok(t, s, "POST "+at+"/ipset", "name", "good")
		ok(t, s, "POST "+at+"/ipset/good", "cidr", "192.0.2.0/24")
		refuses(t, s, "cidr", "address '192.0.2.0/24' already exists", "POST "+at+"/ipset/good", "cidr", "192.0.2.0/24")
		ok(t, s, "PUT "+at+"/ipset/good/192.0.2.0%2F24", "comment", "ours", "nomatch", "1")
		assert.Contains(t, api(t, s, "GET "+at+"/ipset/good").body, `"ours"`)
		fails(t, s, 500, "IPSet 'good' is not empty", "DELETE "+at+"/ipset/good")
		ok(t, s, "DELETE "+at+"/ipset/good/192.0.2.0%2F24")
		ok(t, s, "POST "+at+"/ipset", "name", "best", "rename", "good")
		ok(t, s, "DELETE "+at+"/ipset/best")
	}
	ok(t, s, "POST /cluster/firewall/groups", "group", "web")
	ok(t, s, "POST /cluster/firewall/groups/web", "action", "ACCEPT", "type", "in", "macro", "HTTP")
	ok(t, s, "POST /nodes/n1/qemu/100/firewall/rules", "action", "web", "type", "group")
	fails(t, s, 500, "Security group 'web' is not empty", "DELETE /cluster/firewall/groups/web")
	ok(t, s, "DELETE /cluster/firewall/groups/web/0")
	ok(t, s, "DELETE /cluster/firewall/groups/web")
	fails(t, s, 500, "no such security group 'web'", "POST /cluster/firewall/groups/web", "action", "ACCEPT", "type", "in")
}

func TestBackupJobDefinitions(t *testing.T) {
	w := small(t, "")
	s := quick(t, w)
	refuses(t, s, "vmid", "property is missing", "POST /cluster/backup", "schedule", "daily", "storage", "nas")
	refuses(t, s, "all", "option conflicts with option 'vmid'", "POST /cluster/backup", "schedule", "daily", "all", "1", "vmid", "100")
	fails(t, s, 500, "storage 'nope' does not exist", "POST /cluster/backup", "schedule", "daily", "all", "1", "storage", "nope")
	assert.Nil(t, ok(t, s, "POST /cluster/backup", "id", "nightly", "schedule", "mon..fri 02:30", "all", "1", "storage", "nas", "prune-backups", "keep-last=3", "exclude", "101"))
	fails(t, s, 500, "Job 'nightly' already exists", "POST /cluster/backup", "id", "nightly", "schedule", "daily", "all", "1")
	job := ok(t, s, "GET /cluster/backup/nightly").(map[string]any)
	assert.Equal(t, map[string]any{"keep-last": "3"}, job["prune-backups"])
	w.View(func(w *World) {
		assert.Equal(t, "Tue 2026-12-01 02:30", time.Unix(w.Job("nightly").NextRun, 0).UTC().Format("Mon 2006-01-02 15:04"))
		assert.True(t, w.Job("nightly").Includes(w.Guest(100)))
		assert.False(t, w.Job("nightly").Includes(w.Guest(101)))
	})
	ok(t, s, "PUT /cluster/backup/nightly", "vmid", "102", "delete", "comment")
	w.View(func(w *World) {
		assert.False(t, w.Job("nightly").Includes(w.Guest(100)))
		assert.True(t, w.Job("nightly").Includes(w.Guest(102)))
	})
	ok(t, s, "PUT /cluster/backup/nightly", "enabled", "0")
	assert.Equal(t, "0", dataText(ok(t, s, "GET /cluster/backup/nightly").(map[string]any)["enabled"]))
	ok(t, s, "DELETE /cluster/backup/nightly")
	refuses(t, s, "id", "No such job 'nightly'", "DELETE /cluster/backup/nightly")
	ok(t, s, "POST /cluster/backup", "schedule", "daily", "all", "1")
	w.View(func(w *World) { assert.Regexp(t, `^backup-[0-9a-f]{8}-[0-9a-f]{4}$`, w.Jobs[len(w.Jobs)-1].ID) })
}

func TestNextRun(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 30, 10, 0, time.UTC) // a Monday
	for schedule, want := range map[string]string{
		"daily": "12-01 00:00", "hourly": "11-30 09:00", "weekly": "12-07 00:00", "monthly": "12-01 00:00",
		"21:00": "11-30 21:00", "sat 03:00": "12-05 03:00", "mon..fri 8..17:0/15": "11-30 08:45", "*/5": "11-30 08:35", "sun,wed 6:30": "12-02 06:30",
	} {
		assert.Equal(t, want, time.Unix(nextRun(schedule, now), 0).UTC().Format("01-02 15:04"), schedule)
	}
	assert.Zero(t, nextRun("whenever", now))
}
