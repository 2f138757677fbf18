package gen

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// TestReadOverlayFaults has one small overlay for each thing that may be wrong
// with one, and the line and words of the answer.
func TestReadOverlayFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"no TOML":             {"a = [", 1, "line 1"},
		"same method twice":   {"[methods.\"POST /a\"]\nclass = \"change\"\n[methods.\"POST /a\"]\nclass = \"change\"\n", 3, "already"},
		"unknown table":       {"\n[method.\"POST /a\"]\nclass = \"change\"\n", 2, "unknown key"},
		"unknown key":         {"[methods.\"POST /a\"]\nclass = \"change\"\nguest = [\"vmid\"]\n", 3, "unknown key"},
		"no class":            {"[methods.\"POST /a\"]\ntask = true\n", 1, `class "": known are`},
		"unknown class":       {"[methods.\"POST /a\"]\n\nclass = \"write\"\n", 3, `class "write": known are`},
		"a write that reads":  {"[methods.\"POST /a\"]\nclass = \"read\"\n", 2, "at least a change"},
		"GET among methods":   {"[methods.\"GET /a\"]\nclass = \"change\"\n", 1, "GETs stand in [gets]"},
		"POST among GETs":     {"[gets.\"POST /a\"]\nsecrets = [\"x\"]\n", 1, "GETs stand in [gets]"},
		"no reason":           {"[gets.\"GET /a\"]\nclass = \"shell\"\n", 1, "needs a reason"},
		"not a method":        {"[methods.\"/a\"]\nclass = \"change\"\n", 1, "VERB /path"},
		"small letters":       {"[methods.\"post /a\"]\nclass = \"change\"\n", 1, "VERB /path"},
		"bad rule":            {"[methods.\"POST /a\"]\nclass = \"change\"\nraise = [\"destroy if x\"]\n", 3, "expected `when`"},
		"bad rule below":      {"[methods.\"POST /a\"]\nclass = \"change\"\nraise = [\n  \"destroy when x set\",\n  \"destroy when\",\n]\n", 3, "after `when`"},
		"untidy rule":         {"[methods.\"POST /a\"]\nclass = \"change\"\nraise = [\"destroy  when x set\"]\n", 3, `write "destroy when x set"`},
		"rule raises nothing": {"[methods.\"POST /a\"]\nclass = \"destroy\"\nraise = [\"access when x set\"]\n", 3, "does not raise destroy"},
		"rule twice":          {"[methods.\"POST /a\"]\nclass = \"change\"\nraise = [\"shell when x set\", \"shell when x set\"]\n", 3, "twice"},
		"bad reach":           {"[methods.\"POST /a\"]\nclass = \"change\"\nreach = [\"everywhere\"]\n", 3, "node, storage or cluster"},
		"bad parameter":       {"[methods.\"POST /a\"]\nclass = \"change\"\nvolumes = [\"scsi[0]\"]\n", 3, "NAME[n]"},
		"parameter twice":     {"[methods.\"POST /a\"]\nclass = \"change\"\nsecrets = [\"a\", \"a\"]\n", 3, "twice"},
		"empty field":         {"[gets.\"GET /a\"]\nsecret_fields = [\"\"]\n", 2, "empty entry"},
		"bad shape":           {"[results.\"GET /a\"]\nfields = { x = \"float\" }\n", 1, `x: "float" is no shape`},
		"two shapes in a list": {"[results.\"GET /a\"]\n[results.\"GET /a\".fields]\nx = [\"int\", \"int\"]\n", 1,
			"a list has one shape"},
		"no shape":           {"[results.\"GET /a\"]\narray = true\n", 1, "either `type` or `fields`"},
		"shape is no text":   {"[results.\"GET /a\"]\nfields = { x = 1 }\n", 1, "1 is no shape"},
		"fix without reason": {"[fixes.\"GET /a\"]\nparams.x = { type = \"integer\" }\n", 1, "needs a reason"},
		"fix of a bad type":  {"[fixes.\"GET /a\"]\nreason = \"r\"\nparams.x = { type = \"int\" }\n", 1, "no type of the schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadOverlay([]byte(c.text))
			require.ErrorContains(t, err, c.want)
			var fault *OverlayError
			require.True(t, errors.As(err, &fault), "%v", err)
			assert.Equal(t, c.line, fault.Line, "%v", err)
		})
	}
}

func TestReadOverlayTellsAllFaults(t *testing.T) {
	_, err := ReadOverlay([]byte("[methods.\"POST /a\"]\nclass = \"x\"\n\n[methods.\"POST /b\"]\nclass = \"y\"\n"))
	require.ErrorContains(t, err, "line 2: methods.\"POST /a\".class")
	require.ErrorContains(t, err, "line 5: methods.\"POST /b\".class")
}

func TestReadOverlay(t *testing.T) {
	o, err := ReadOverlay([]byte(`
[methods."POST /a/{id}"]
class = "change"
raise = ["destroy when delete has unused* and force true"]
reach = ["cluster when vms unset"]
guests = ["vms"]
spared = ["exclude"]
sids = ["sid"]
jobs = ["id"]
upids = ["upid"]
volumes = ["scsi[n]"]
pools = ["pool"]
target_nodes = ["target"]
storages = ["fleecing.storage"]
task = true
secrets = ["password"]
returns_secret = true
secret_fields = ["*token*"]
[gets."GET /a"]
class = "shell"
reason = "because"
[names]
"GET /a" = "ReadA"
[results."GET /a"]
array = true
fields = { n = "int", deep = [{ m = "map[[]string]" }] }
[fixes."GET /a"]
reason = "missing"
params.id = { type = "integer", required = true }
`))
	require.NoError(t, err)
	assert.Equal(t, map[string]Entry{"POST /a/{id}": {Line: 2, Policy: apidoc.Policy{
		Class: apidoc.Change,
		Raise: []apidoc.Rule{{Class: apidoc.Destroy, Conds: []apidoc.Condition{
			{Param: "delete", Op: apidoc.OpHas, Value: "unused*"}, {Param: "force", Op: apidoc.OpTrue}}}},
		Reach: []apidoc.Reach{{Scope: apidoc.ScopeCluster, Conds: []apidoc.Condition{{Param: "vms", Op: apidoc.OpUnset}}}},
		Refs: apidoc.Refs{
			Guests: []apidoc.ParamRef{"vms"}, Spared: []apidoc.ParamRef{"exclude"}, SIDs: []apidoc.ParamRef{"sid"},
			Jobs: []apidoc.ParamRef{"id"}, UPIDs: []apidoc.ParamRef{"upid"}, Volumes: []apidoc.ParamRef{"scsi[n]"},
			Pools: []apidoc.ParamRef{"pool"}, Nodes: []apidoc.ParamRef{"target"}, Storages: []apidoc.ParamRef{"fleecing.storage"},
		},
		Task: true, Secrets: []apidoc.ParamRef{"password"}, ReturnsSecret: true, SecretFields: []string{"*token*"},
	}}}, o.Methods)
	assert.Equal(t, map[string]Entry{"GET /a": {Line: 19, Policy: apidoc.Policy{Class: apidoc.Shell, Reason: "because"}}}, o.Gets)
	assert.Equal(t, map[string]string{"GET /a": "ReadA"}, o.Names)
	text := Shape{Kind: ShapeString}
	list := Shape{Kind: ShapeList, Elem: &text}
	deep := Shape{Kind: ShapeObject, Fields: []Field{{Name: "m", Shape: Shape{Kind: ShapeMap, Elem: &list}}}}
	row := Shape{Kind: ShapeObject, Fields: []Field{
		{Name: "deep", Shape: Shape{Kind: ShapeList, Elem: &deep}}, {Name: "n", Shape: Shape{Kind: ShapeInt}}}}
	assert.Equal(t, map[string]Result{"GET /a": {Shape: Shape{Kind: ShapeList, Elem: &row}}}, o.Results)
	assert.Equal(t, map[string]Fix{"GET /a": {Reason: "missing", Params: map[string]ParamFix{"id": {Type: "integer", Required: true}}}}, o.Fixes)
}

// TestCheckFindsEachKindOfDrift has one entry for each.
func TestCheckFindsEachKindOfDrift(t *testing.T) {
	o, err := ReadOverlay([]byte(`
[methods."POST /a/{id}"]
class = "change"
raise = ["destroy when force true", "destroy when keep not-false", "destroy when gone set and id is x"]
reach = ["node when vms unset"]
guests = ["newid"]
volumes = ["scsi[n].file"]
secrets = ["password"]
[methods."POST /old"]
class = "change"
[gets."GET /old"]
secret_fields = ["x"]
[names]
"GET /older" = "X"
[results."GET /oldest"]
type = "int"
[fixes."GET /a/{id}"]
reason = "r"
params.vmid = { required = true }
params.added = { type = "string" }
`))
	require.NoError(t, err)
	methods := []MethodInfo{
		{Verb: "GET", Path: "/a/{id}", PathParams: []string{"id"}},
		{Verb: "POST", Path: "/a/{id}", Params: []string{"force", "keep", "scsi"}, PathParams: []string{"id"},
			Defaults: map[string]string{"force": "yes", "keep": "0"}},
		{Verb: "PUT", Path: "/new"},
	}
	var lines []string
	for _, d := range o.Check(methods) {
		lines = append(lines, d.String())
	}
	assert.Equal(t, []string{
		"GET /a/{id}: no param: [fixes] corrects \"vmid\", which the method lacks",
		"POST /a/{id}: by default: `raise` (line 2) asks `force true`, but force is on by default: absent must count as on",
		"POST /a/{id}: by default: `raise` (line 2) asks `keep not-false`, but keep is not on by default",
		"POST /a/{id}: no param: `guests` (line 2) names \"newid\", which the method lacks",
		"POST /a/{id}: no param: `raise` (line 2) names \"gone\", which the method lacks",
		"POST /a/{id}: no param: `reach` (line 2) names \"vms\", which the method lacks",
		"POST /a/{id}: no param: `secrets` (line 2) names \"password\", which the method lacks",
		"POST /a/{id}: no param: `volumes` (line 2) names \"scsi[n]\", which the method lacks",
		"PUT /new: no class: [methods] must say what class it has",
		"GET /old: no method: [gets] has an entry, but the schema has no such method",
		"POST /old: no method: [methods] has an entry, but the schema has no such method",
		"GET /older: no method: [names] has an entry, but the schema has no such method",
		"GET /oldest: no method: [results] has an entry, but the schema has no such method",
	}, lines)
}

// FuzzReadOverlay feeds any text: an error or an overlay, never a panic.
func FuzzReadOverlay(f *testing.F) {
	f.Add([]byte("[methods.\"POST /a\"]\nclass = \"change\"\nraise = [\"destroy when x set\"]\n"))
	f.Add([]byte("[results.\"GET /a\"]\nfields = { x = [{ y = \"[]map[int]\" }] }\n"))
	f.Add([]byte("[gets.\"GET /a\nclass ="))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ReadOverlay(data)
		require.Equal(t, err == nil, o != nil)
	})
}

// A call either answers with its task's id or hides the task, never both.
func TestTaskIsToldOrHidden(t *testing.T) {
	_, err := ReadOverlay([]byte("[methods.\"POST /x\"]\nclass = \"change\"\ntask = true\nhidden_task = \"vzx\"\n"))
	require.ErrorContains(t, err, "hides none")
	o, err := ReadOverlay([]byte("[methods.\"POST /x\"]\nclass = \"change\"\nhidden_task = \"vzx\"\n"))
	require.NoError(t, err)
	require.Equal(t, "vzx", o.Methods["POST /x"].HiddenTask)
}
