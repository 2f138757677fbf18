package curated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/internal/pvesim"
)

// sizes are a small cluster and the greatest that the product is made for.
var sizes = [][2]int{{3, 60}, {32, 5000}}

// cost is a call and the most requests that it may send, at any size; -1
// stands for one per node and one more.
type cost struct {
	tool string
	args args
	most int
}

var costs = []cost{
	{"pve_vms", nil, 1},
	{"pve_vms", args{"node": "pve1", "status": "running", "name": "web", "tag": "prod", "pool": "production", "vmids": "100-999"}, 1},
	{"pve_vms", args{"sort": "name", "limit": 3}, 1},
	{"pve_containers", nil, 1},
	{"pve_containers", args{"pool": "production", "status": "stopped"}, 1},
	{"pve_cluster_resources", nil, 1},
	{"pve_cluster_resources", args{"type": "storage"}, 1},
	{"pve_cluster_resources", args{"node": "pve2"}, 1},
	{"pve_nodes", nil, 1},
	{"pve_nodes", args{"status": "offline"}, 1},
	{"pve_storage", nil, 1},
	{"pve_storage", args{"node": "pve1"}, 1},
	{"pve_version", nil, 1},
	{"pve_cluster_status", nil, 1},
	{"pve_health", nil, 8},
	{"pve_node_info", args{"node": "pve1"}, 1},
	{"pve_vm_info", args{"vmid": 0}, 5},
	{"pve_vm_info", args{"vmid": 0, "config": true}, 5},
	{"pve_container_info", args{"vmid": 0}, 5},
	{"pve_storage_content", args{"storage": "nfs-data", "content": "iso"}, 2},
	{"pve_storage_content", args{"storage": "local", "node": "pve1"}, 1},
	{"pve_tasks", nil, 1},
	{"pve_tasks", args{"status": "running"}, 1},
	{"pve_tasks", args{"node": "pve1"}, 1},
	{"pve_tasks", args{"type": "vzdump"}, -1},
	{"pve_raw_get", args{"path": "/cluster/resources"}, 2}, // the first one asks for the version, to check by its schema
}

// in gives the arguments for a cluster: vmid 0 stands for any running guest of
// the kind that the tool is about.
func (c cost) in(sim *pvesim.Server) args {
	if c.args["vmid"] == nil {
		return c.args
	}
	kind := apidoc.QEMU
	if c.tool == "pve_container_info" {
		kind = apidoc.LXC
	}
	a := maps.Clone(c.args)
	sim.World().View(func(w *pvesim.World) {
		for _, g := range w.Guests() {
			if n := w.Node(g.Node); g.Kind == kind && g.State == pvesim.Running && n.Online {
				a["vmid"] = int(g.ID)
				return
			}
		}
	})
	return a
}

// TestRequestCounts: what a call costs upstream does not grow with the cluster,
// but where Proxmox knows no other way.
func TestRequestCounts(t *testing.T) {
	for _, size := range sizes {
		for _, protocol := range protocols {
			if size[0] > 3 && protocol != protocols[1] {
				continue // the protocol changes nothing about what goes to Proxmox
			}
			r := newRig(t, sharedSim(t, size[0], size[1]), setup{protocol: protocol})
			for _, c := range costs {
				if size[0] > 3 && c.tool == "pve_vms" && c.args["sort"] != nil {
					continue
				}
				t.Run(fmt.Sprintf("%dx%d/%s/%s %v", size[0], size[1], protocol, c.tool, jsonOf(t, c.args)), func(t *testing.T) {
					most := c.most
					if most < 0 {
						most = size[0] + 1
					}
					asked := r.on(t).asked(func() { r.on(t).ok(c.tool, c.in(r.sim)) })
					require.NotEmpty(t, asked)
					assert.LessOrEqual(t, len(asked), most, strings.Join(asked, "\n"))
				})
			}
		}
	}
}

// replay answers a read that was answered before with the same bytes, so that
// many budgets cost one look at a large cluster.
type replay struct {
	next http.RoundTripper
	mu   sync.Mutex
	by   map[string]*replayed
}

type replayed struct {
	res  *http.Response
	body []byte
}

func (p *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := req.URL.String()
	known := p.by[key]
	if known == nil {
		res, err := p.next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			return nil, err
		}
		known = &replayed{res, body}
		p.by[key] = known
	}
	res := *known.res
	res.Request, res.Body, res.Header = req, io.NopCloser(bytes.NewReader(known.body)), known.res.Header.Clone()
	return &res, nil
}

// replaying is a rig whose reads reach the cluster once each.
func replaying(t testing.TB, sim *pvesim.Server) *rig {
	t.Helper()
	return newRig(t, sim, setup{options: func(o *Options) { o.Transport = &replay{next: o.Transport, by: map[string]*replayed{}} }})
}

// TestBudgets: whatever is asked and however large the cluster is, no answer is
// larger than its budget, by the real count; JSON stays valid.
func TestBudgets(t *testing.T) {
	most, worst := 0.0, ""
	for _, size := range sizes {
		r := replaying(t, sharedSim(t, size[0], size[1]))
		for _, c := range costs {
			if size[0] > 3 && c.most == 1 && len(c.args) > 0 {
				continue // less of the same, from the same large answers
			}
			for _, format := range []string{"text", "json"} {
				for _, budget := range []int{0, 150, 5000} {
					if size[0] > 3 && (budget > 150 || budget > 0 && format == "text") {
						continue // these say nothing new there and cost time
					}
					a := args{"format": format}
					maps.Copy(a, c.in(r.sim))
					allowed := budget
					if budget > 0 {
						a["max_tokens"] = budget
					} else {
						allowed = 2000
					}
					text := r.ok(c.tool, a)
					n := tokens(t, text)
					if use := float64(n) / float64(allowed); use > most {
						most, worst = use, c.tool+" "+jsonOf(t, a)
					}
					assert.LessOrEqual(t, n, allowed, "%dx%d %s %s: %d tokens\n%s", size[0], size[1], c.tool, jsonOf(t, a), n, text)
					if format == "json" {
						object(t, text)
					}
				}
			}
		}
	}
	t.Logf("fullest answer: %.1f %% of its budget, %s", 100*most, worst)
}
