package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pvemcp/internal/pvesim"
)

const (
	token    = "root@pam!full"
	starts   = 21 // runs of each program, in turn
	maxStart = 3.5
	maxRSS   = 20
	maxSize  = 22
)

func goRun(env []string, args ...string) error {
	cmd := exec.Command("go", args...) //nolint:noctx // a build ends by itself
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// build makes the binary as it is released, and measures it.
func (b *bench) build() error {
	if err := goRun([]string{"CGO_ENABLED=0"}, "build", "-trimpath", "-ldflags", "-s -w", "-o", b.binary, "./cmd/pve-mcp"); err != nil {
		return err
	}
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.add("stripped static binary", float64(info.Size())/(1<<20), maxSize, "MiB", "")
	return goRun([]string{"CGO_ENABLED=0"}, "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(b.dir, "trivial"), "./internal/bench/trivial")
}

func serverEnv(sim *pvesim.Server) []string {
	return append(os.Environ(), "PROXMOX_HOST="+sim.URL(), "PROXMOX_TOKEN_ID="+token, "PROXMOX_TOKEN_SECRET="+pvesim.TokenSecret)
}

// start compares the time from exec to the first answer with that of the
// trivial server, run in turn.
func (b *bench) start() error {
	sim, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(1, 1, 1)})
	if err != nil {
		return err
	}
	defer sim.Close()
	var ours, trivial []time.Duration
	for range starts {
		t, err := b.startTrivial()
		if err != nil {
			return err
		}
		o, err := b.startOurs(sim)
		if err != nil {
			return err
		}
		trivial, ours = append(trivial, t), append(ours, o)
	}
	t, o := median(trivial), median(ours)
	b.add("start to the first answer / a trivial net/http program", float64(o)/float64(t), maxStart, "×", "medians of %d: %.1f ms / %.1f ms", starts, ms(o), ms(t))
	return nil
}

func (b *bench) startTrivial() (time.Duration, error) {
	cmd := exec.Command(filepath.Join(b.dir, "trivial")) //nolint:noctx // killed below
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, err
	}
	resp, err := http.Get("http://" + strings.TrimSpace(addr)) //nolint:noctx // loopback
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return time.Since(begin), err
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

func (b *bench) startOurs(sim *pvesim.Server) (time.Duration, error) {
	cmd := exec.Command(b.binary) //nolint:noctx // killed below
	cmd.Env = serverEnv(sim)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := io.WriteString(in, initialize); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(begin)
	if err == nil && !strings.Contains(line, `"protocolVersion"`) {
		err = fmt.Errorf("unexpected first answer: %.200s", line)
	}
	return took, err
}

// session runs the released binary as an agent would.
type session struct {
	*mcp.ClientSession
	cmd *exec.Cmd
}

func (b *bench) open(ctx context.Context, sim *pvesim.Server) (*session, error) {
	cmd := exec.CommandContext(ctx, b.binary)
	cmd.Env = serverEnv(sim)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	return &session{s, cmd}, nil
}

func (s *session) call(ctx context.Context, tool string, args map[string]any) (time.Duration, error) {
	begin := time.Now()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	took := time.Since(begin)
	if err == nil && res.IsError {
		text, _ := json.Marshal(res.Content)
		err = fmt.Errorf("%s: %s", tool, text)
	}
	return took, err
}

// memoryAndRequests uses the read tools at the default size for the memory, and
// at 32 × 5,000 for the number of upstream requests.
func (b *bench) memoryAndRequests() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	small, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(3, 60, 1)})
	if err != nil {
		return err
	}
	defer small.Close()
	s, err := b.open(ctx, small)
	if err != nil {
		return err
	}
	for _, tool := range []string{"pve_version", "pve_nodes", "pve_vms", "pve_containers", "pve_storage", "pve_cluster_status"} {
		if _, err := s.call(ctx, tool, nil); err != nil {
			return err
		}
	}
	rss, err := residentMiB(s.cmd.Process.Pid)
	if err != nil {
		return err
	}
	_ = s.Close()
	b.add("resident memory before the first raw call", rss, maxRSS, "MiB", "after six read tools at 3 nodes × 60 guests")

	large, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(32, 5000, 1)})
	if err != nil {
		return err
	}
	defer large.Close()
	if s, err = b.open(ctx, large); err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for _, tool := range []string{"pve_vms", "pve_containers", "pve_cluster_resources", "pve_nodes", "pve_storage"} {
		large.ResetRequests()
		took, err := s.call(ctx, tool, nil)
		if err != nil {
			return err
		}
		b.add("requests of "+tool+" at 32 nodes × 5,000 guests", float64(len(large.Requests())), 1, "requests", "%.0f ms in all", ms(took))
	}
	return nil
}

func residentMiB(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in /proc/%d/status", pid)
}

// generate times go generate over the whole tree.
func (b *bench) generate() error {
	begin := time.Now()
	if err := goRun(nil, "generate", "./..."); err != nil {
		return err
	}
	b.add("go generate", time.Since(begin).Seconds(), 5, "s", "")
	return nil
}

// coldBuild builds everything with an empty build cache.
func (b *bench) coldBuild() error {
	cache, err := os.MkdirTemp(b.dir, "gocache-")
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := goRun([]string{"GOCACHE=" + cache, "GOMAXPROCS=2"}, "build", "-p", "2", "./..."); err != nil {
		return err
	}
	b.add("go build ./... from a cold cache on 2 cores", time.Since(begin).Seconds(), 90, "s", "")
	return nil
}
