package apidoc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// form turns `a=1&b=2&b=3` into a call's parameters.
func form(text string) map[string][]string {
	params := map[string][]string{}
	for pair := range strings.SplitSeq(text, "&") {
		if pair != "" {
			k, v, _ := strings.Cut(pair, "=")
			params[k] = append(params[k], v)
		}
	}
	return params
}

func TestClassOrder(t *testing.T) {
	for i, low := range apidoc.Classes {
		parsed, err := apidoc.ParseClass(string(low))
		require.NoError(t, err)
		require.Equal(t, low, parsed)
		for _, high := range apidoc.Classes[i+1:] {
			if low.Rank() == high.Rank() {
				assert.Equal(t, low, low.Raise(high), "same rung: the first stays")
				assert.Equal(t, high, high.Raise(low), "same rung: the first stays")
				continue
			}
			assert.Less(t, low.Rank(), high.Rank())
			assert.Equal(t, high, low.Raise(high))
			assert.Equal(t, high, high.Raise(low))
		}
	}
	assert.Equal(t, apidoc.Destroy.Rank(), apidoc.Access.Rank())
	assert.Equal(t, apidoc.Read, apidoc.Class("?").Raise(apidoc.Read))
	for _, bad := range []string{"", "Destroy", "write", " read"} {
		_, err := apidoc.ParseClass(bad)
		assert.ErrorContains(t, err, "read, change, disrupt, destroy, access, shell", bad)
	}
}

// TestConditions holds the meaning of every test against present, absent, odd
// and repeated values.
func TestConditions(t *testing.T) {
	for _, c := range []struct{ cond, yes, no string }{
		// One call a word; `-` is a call without parameters.
		{"force set", "force=1 force=0 force= force=x", "- other=1 forced=1"},
		{"force unset", "- other=1", "force=1 force="},
		{"force true", "force=1 force=on force=YES force=True force=2 force= force=0&force=1", "- force=0 force=off force=No force=FALSE"},
		{"force false", "force=0 force=off force=No force=1&force=false", "- force=1 force=yes force= force=2"},
		{"force not-true", "- force=0 force=off force=1&force=0", "force=1 force=true force=2"},
		{"force not-false", "- force=1 force=on force=2 force=0&force=1", "force=0 force=off force=NO"},
		{"mode is stop", "mode=stop mode=snapshot&mode=stop", "- mode=Stop mode=stopped mode= mode=stop,suspend"},
		{"command matches suspend-*", "command=suspend-ram command=suspend-", "- command=suspend command=xsuspend-ram"},
		{"upid matches *:qmrestore:*", "upid=UPID:a:00000001:00000002:00000003:qmrestore:100:root@pam:", "upid=UPID:a:1:2:3:qmstart:100:qmrestore@pam:"},
		{"file matches a?c", "file=abc file=a/c", "file=ac file=abbc"},
		{"delete has unused*", "delete=unused0 delete=net0,unused12 delete=net0;unused0 delete=net0\x00unused0 delete=a\tunused1 delete=net0&delete=unused0", "- delete=net0 delete=xunused0 delete="},
		{"scsi[n] has /*", "scsi0=/dev/sdb scsi30=ssd=1,/dev/sdb", "- scsi=/dev/sdb scsihw=/x scsi0=local:1,mp=/x scsi0x=/dev/sda scsi-1=/dev/sda"},
		{"scsi[n] has file=/*", "scsi1=ssd=1,file=/dev/sdb", "scsi1=import-from=/x,file=local:1"},
		{"tags lacks keep*", "- tags= tags=a,b", "tags=keep tags=a;keepit tags=a&tags=keep"},
		{"net[n].link_down true", "net0=virtio,bridge=vmbr0,link_down=1 net3=link_down=on", "- net0=virtio net0=virtio,link_down=0 link_down=1 net0=xlink_down=1"},
		{"prune.keep-all not-true", "- prune=keep-last=3 prune=keep-all=0 prune=", "prune=keep-all=1 prune=keep-last=1,keep-all=yes"},
		{"crs.ha set", "crs=ha=static crs=x=1,ha=basic", "- crs=static ha=1 crs=ham=1"},
	} {
		rule, err := apidoc.ParseRule("destroy when " + c.cond)
		require.NoError(t, err)
		for want, calls := range map[bool]string{true: c.yes, false: c.no} {
			for call := range strings.SplitSeq(calls, " ") {
				assert.Equal(t, want, rule.Applies(form(strings.TrimPrefix(call, "-"))), "%s with %q", c.cond, call)
			}
		}
	}
}

func TestConditionWithoutKnownTestApplies(t *testing.T) {
	assert.True(t, apidoc.Condition{Param: "x", Op: "perhaps"}.Applies(nil))
}

func TestEveryConditionMustHold(t *testing.T) {
	rule, err := apidoc.ParseRule("destroy when delete set and force true and mode is x")
	require.NoError(t, err)
	assert.True(t, rule.Applies(form("delete=a&force=1&mode=x")))
	for _, call := range []string{"", "delete=a&force=1", "force=1&mode=x", "delete=a&force=0&mode=x"} {
		assert.False(t, rule.Applies(form(call)), call)
	}
}

func TestRulesHaveOneCanonicalForm(t *testing.T) {
	for loose, canonical := range map[string]string{
		"destroy  when\tforce   true":                           "destroy when force true",
		" shell when hookscript set ":                           "shell when hookscript set",
		"access when vms set and a-b.c-d has x*":                "access when vms set and a-b.c-d has x*",
		"disrupt when net[n].link_down true and x is and":       "disrupt when net[n].link_down true and x is and",
		"change when when is when and and is and and x lacks ,": "change when when is when and and is and and x lacks ,",
	} {
		rule, err := apidoc.ParseRule(loose)
		require.NoError(t, err, loose)
		assert.Equal(t, canonical, rule.String())
		again, err := apidoc.ParseRule(canonical)
		require.NoError(t, err)
		assert.Equal(t, rule, again)
	}
}

func TestRuleFaultsSayWhatWasExpected(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "empty",
		"destroy":                             "expected `when`",
		"destroy if force true":               "expected `when` instead of \"if\"",
		"destroy when":                        "a parameter and a test after `when`",
		"destroy when force":                  "a parameter and a test after `when`",
		"destroy when force yes":              "\"yes\" is no test",
		"destroy when delete has":             "`has` needs a value",
		"destroy when force true or x set":    "expected `and` instead of \"or\"",
		"destroy when force true and":         "a parameter and a test after `and`",
		"destroy when force true force set":   "expected `and`",
		"ruin when force true":                "class \"ruin\"",
		"read when force true":                "nothing can be raised",
		"destroy when scsi[0] set":            "expected NAME, NAME[n]",
		"destroy when a.b.c set":              "expected NAME, NAME[n]",
		"destroy when .x set":                 "expected NAME, NAME[n]",
		"destroy when x. set":                 "expected NAME, NAME[n]",
		"destroy when [n] set":                "expected NAME, NAME[n]",
		"destroy when sc[n]si set":            "expected NAME, NAME[n]",
		"destroy when delete has a b and x s": "expected `and` instead of \"b\"",
	} {
		_, err := apidoc.ParseRule(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestReach(t *testing.T) {
	for _, text := range []string{"node", "cluster when vms unset", "storage when vmid unset and x true"} {
		reach, err := apidoc.ParseReach(text)
		require.NoError(t, err)
		assert.Equal(t, text, reach.String())
	}
	for _, bad := range []string{"", "pool", "node if x set", "cluster when"} {
		_, err := apidoc.ParseReach(bad)
		assert.Error(t, err, bad)
	}
}

func TestParamRefs(t *testing.T) {
	params := form("scsi0=a&scsi12=b,x=1&scsihw=c&scsi=d&vms=1&vms=2")
	values := func(ref string) []string {
		r, err := apidoc.ParseParamRef(ref)
		require.NoError(t, err)
		return r.Values(params)
	}
	assert.ElementsMatch(t, []string{"a", "b,x=1"}, values("scsi[n]"))
	assert.Equal(t, []string{"1"}, values("scsi[n].x"))
	assert.Equal(t, []string{"d"}, values("scsi"))
	assert.Equal(t, []string{"1", "2"}, values("vms"))
	assert.Empty(t, values("none"))
	assert.Equal(t, "scsi[n]", apidoc.ParamRef("scsi[n].file").Param())
}

func TestPolicy(t *testing.T) {
	must := func(text string) apidoc.Rule {
		r, err := apidoc.ParseRule(text)
		require.NoError(t, err)
		return r
	}
	p := apidoc.Policy{
		Class: apidoc.Change,
		Raise: []apidoc.Rule{must("shell when script set"), must("disrupt when stop true"), must("destroy when force true")},
		Reach: []apidoc.Reach{
			{Scope: apidoc.ScopeNode, Conds: must("change when all true").Conds},
			{Scope: apidoc.ScopeNode, Conds: must("change when exclude set").Conds},
			{Scope: apidoc.ScopeCluster, Conds: must("change when far true").Conds},
		},
		Secrets:      []apidoc.ParamRef{"password", "key[n]"},
		SecretFields: []string{"value", "*token*"},
	}
	for call, want := range map[string]apidoc.Class{
		"": apidoc.Change, "stop=1": apidoc.Disrupt, "force=1": apidoc.Destroy,
		"stop=1&force=1": apidoc.Destroy, "force=1&script=x": apidoc.Shell, "script=x&stop=1": apidoc.Shell,
	} {
		assert.Equal(t, want, p.ClassOf(form(call)), call)
	}
	assert.Equal(t, []apidoc.Rule{p.Raise[1], p.Raise[2]}, p.RaisedBy(form("stop=1&force=1")))
	assert.Empty(t, p.Reaches(form("all=0")))
	assert.Equal(t, []apidoc.Scope{apidoc.ScopeNode}, p.Reaches(form("all=1&exclude=100")))
	assert.Equal(t, []apidoc.Scope{apidoc.ScopeNode, apidoc.ScopeCluster}, p.Reaches(form("exclude=1&far=1")))
	assert.True(t, p.Secret("password"))
	assert.True(t, p.Secret("key7"))
	assert.False(t, p.Secret("key"))
	assert.True(t, p.SecretField("influx-token"))
	assert.False(t, p.SecretField("values"))
}

// FuzzRule feeds rules and values of any form: nothing may panic, and what
// parses has one canonical form.
func FuzzRule(f *testing.F) {
	f.Add("destroy when delete has unused* and force true", "delete=unused0&force=1")
	f.Add("shell when net[n].x matches *a?*", "net0=x=1")
	f.Add("access when \x00 set", "\x00")
	f.Fuzz(func(t *testing.T, text, call string) {
		rule, err := apidoc.ParseRule(text)
		if err != nil {
			return
		}
		again, err := apidoc.ParseRule(rule.String())
		require.NoError(t, err)
		require.Equal(t, rule, again)
		params := form(call)
		require.Equal(t, rule.Applies(params), again.Applies(params))
	})
}
