package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "pvemcp"

// rank is the one direction of imports: a package may import only those of a
// lower rank. Packages that are not listed are refused, so that a new one finds
// its place here first.
var rank = map[string]int{
	"apidoc":                 0,
	"apidoc/words":           1,
	"internal/pverest":       2,
	"internal/sshrun":        2,
	"internal/settings":      2,
	"gen":                    3,
	"internal/pvesim":        3,
	"internal/checklines":    3,
	"internal/schemacache":   2,
	"generated":              4,
	"curated/render":         5,
	"curated/gate/audit":     5,
	"curated/gate":           6,
	"curated":                7,
	"cmd/pvegen":             9,
	"cmd/pve-mcp":            9,
	"internal/house":         10,
	"internal/bench":         10,
	"internal/bench/trivial": 10,
	"internal/mutate":        10,
}

// only narrows what some packages may import of ours.
var only = map[string][]string{
	"internal/sshrun":      {},
	"internal/settings":    {},
	"internal/pverest":     {"apidoc"},
	"internal/schemacache": {"apidoc"},
	"gen":                  {"apidoc"},
	"internal/pvesim":      {"apidoc"},
	"generated":            {"apidoc", "internal/pverest"},
	"curated/render":       {"apidoc"},
}

// simUsers may import the embedded cluster outside tests.
var simUsers = []string{"cmd/pve-mcp", "internal/bench"}

type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	Name       string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Name,Imports", module+"/...")
	out, err := cmd.Output()
	require.NoError(t, err)
	var list []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for dec.More() {
		var p goPackage
		require.NoError(t, dec.Decode(&p))
		list = append(list, p)
	}
	require.Greater(t, len(list), 8)
	return list
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		own, ok := rank[name]
		if !ok {
			t.Errorf("package %s has no place in the order of imports", name)
			continue
		}
		for _, imp := range p.Imports {
			dep, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			if rank[dep] >= own {
				t.Errorf("%s imports %s, which stands to its right", name, dep)
			}
			if allowed, narrow := only[name]; narrow && !contains(allowed, dep) {
				t.Errorf("%s may import %v of ours, not %s", name, allowed, dep)
			}
			if dep == "internal/pvesim" && !contains(simUsers, name) {
				t.Errorf("%s imports the embedded cluster, which is for cmd and tests", name)
			}
		}
	}
}

func TestEveryPackageSaysWhyItExists(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Doc) < 30 {
			t.Errorf("package %s has no package comment", p.ImportPath)
		}
		switch p.Name {
		case "util", "utils", "common", "helpers", "misc":
			t.Errorf("package %s says nothing by its name", p.ImportPath)
		}
	}
}

// apiPath finds what looks like a path of Proxmox's API.
var apiPath = regexp.MustCompile(`^/(access|cluster|nodes|pools|storage|version)(/[{a-z%]|$)`)

// Tools call generated methods or the checked raw door, never a path of their
// own. Examples in texts that the agent reads are no calls: struct tags and the
// demo's arguments are not looked at, and neither are ACL paths, which name
// what a privilege is for.
func TestNoAPIPathInTools(t *testing.T) {
	root := moduleRoot(t)
	set := token.NewFileSet()
	err := filepath.WalkDir(filepath.Join(root, "curated"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				// grantLine("/vms", …) takes ACL paths.
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "grantLine" {
					return false
				}
			}
			if f, ok := n.(*ast.Field); ok {
				_ = f.Tag
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			if err == nil && apiPath.MatchString(s) {
				t.Errorf("%s: the API path %q is written as a literal", set.Position(lit.Pos()), s)
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// Proxmox's descriptions are not ours to ship.
func TestNoProseOfProxmox(t *testing.T) {
	root := moduleRoot(t)
	for _, dir := range []string{"apidoc/facts", "generated"} {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		require.NoError(t, err)
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(root, dir, e.Name()))
			require.NoError(t, err)
			for _, key := range []string{`"verbose_description"`, `"format_description"`, `"typetext"`} {
				if strings.Contains(string(data), key+":") {
					t.Errorf("%s/%s holds %s", dir, e.Name(), key)
				}
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}
