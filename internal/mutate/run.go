package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdict is what became of one breakage.
type verdict string

const (
	noticed  verdict = "noticed"  // a test failed, as it should
	survived verdict = "SURVIVED" // all tests passed: nothing holds the property
	stale    verdict = "STALE"    // the code to break is not there any more
	faulty   verdict = "FAULTY"   // it does not compile, hangs, or its tests do not pass on sound code
)

// outcome is one breakage with its verdict.
type outcome struct {
	breakage
	verdict verdict
	detail  string // the tests that failed, or what is wrong
	took    time.Duration
}

// runner breaks a module's code, one breakage at a time for each worker.
type runner struct {
	root    string
	scratch string // for broken files
	workers int
	timeout time.Duration // of the tests of one breakage, compiling not counted
}

// buildTime bounds compiling and linking on top of the tests' own time-out.
const buildTime = 10 * time.Minute

// all tries every breakage and reports each as soon as it is known, in no
// order. The error says that it was interrupted.
func (r *runner) all(ctx context.Context, list []breakage, report func(outcome)) error {
	sound := r.sound(ctx, list)
	var mu sync.Mutex
	r.each(len(list), func(i int) {
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		o := outcome{breakage: list[i]}
		if fault := sound(list[i]); fault != "" {
			o.verdict, o.detail = faulty, fault
		} else {
			o.verdict, o.detail = r.try(ctx, i, list[i])
		}
		o.took = time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			report(o)
		}
	})
	return ctx.Err()
}

// each runs work for 0 to n-1 by all workers.
func (r *runner) each(n int, work func(i int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(1, r.workers) {
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// sound runs all named tests on the code as it is, once for each package. What
// it gives tells why a breakage's tests prove nothing; empty if they pass.
func (r *runner) sound(ctx context.Context, list []breakage) func(breakage) string {
	tests := map[string][]string{}
	for _, b := range list {
		tests[b.Package] = append(tests[b.Package], b.Tests...)
	}
	var packages []string
	for p := range tests {
		packages = append(packages, p)
		slices.Sort(tests[p])
		tests[p] = slices.Compact(tests[p])
	}
	slices.Sort(packages)
	results := make([]result, len(packages))
	r.each(len(packages), func(i int) {
		p := packages[i]
		results[i] = r.test(ctx, p, tests[p], "", r.timeout*time.Duration(min(5, len(tests[p]))))
	})
	return func(b breakage) string {
		res := results[slices.Index(packages, b.Package)]
		if res.fault != "" {
			return "on the code as it is: " + res.fault
		}
		for _, name := range b.Tests {
			if res.ended[name] != "pass" {
				how := res.ended[name]
				if how == "" {
					how = "missing"
				}
				return fmt.Sprintf("on the code as it is, %s is not passed: %s", name, how)
			}
		}
		return ""
	}
}

// try breaks the code in one place and looks whether a test fails by it.
func (r *runner) try(ctx context.Context, i int, b breakage) (verdict, string) {
	text, err := b.broken(r.root)
	if err != nil {
		return stale, err.Error()
	}
	file := filepath.Join(r.scratch, fmt.Sprintf("%d%s", i, filepath.Ext(b.File)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {b.path(r.root): file}})
	if err != nil {
		return faulty, err.Error()
	}
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(file+".json", overlay, 0o600)); err != nil {
		return faulty, err.Error()
	}
	res := r.test(ctx, b.Package, b.Tests, file+".json", r.timeout)
	var failed []string
	for _, name := range b.Tests {
		if res.ended[name] == "fail" {
			failed = append(failed, name)
		}
	}
	switch {
	case res.fault != "":
		return faulty, res.fault
	case len(failed) == 0:
		return survived, fmt.Sprintf("%s passed on broken code: %s", strings.Join(b.Tests, ", "), b.Why)
	}
	return noticed, strings.Join(failed, ", ")
}

// result is what the go command said about some tests.
type result struct {
	ended map[string]string // top-level tests: pass, fail or skip
	fault string            // why that is no verdict
}

// test runs tests of one package, with an overlay or without.
func (r *runner) test(ctx context.Context, pkg string, tests []string, overlay string, timeout time.Duration) result {
	ctx, cancel := context.WithTimeout(ctx, timeout+buildTime)
	defer cancel()
	args := []string{"test", "-json", "-vet=off", "-ldflags=-s -w", "-timeout", timeout.String(), "-run", "^(" + strings.Join(tests, "|") + ")$"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = r.root
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	res := readEvents(&stdout)
	switch {
	case res.fault != "":
	case ctx.Err() != nil:
		res.fault = "stopped: " + ctx.Err().Error()
	case err != nil && !slices.Contains(values(res.ended), "fail"):
		res.fault = "no test failed, but the go command did: " + tail(stderr.String())
	}
	return res
}

// readEvents reads the go command's stream of test events.
func readEvents(stream *bytes.Buffer) result {
	res := result{ended: map[string]string{}}
	var build strings.Builder
	dec := json.NewDecoder(stream)
	for {
		var e struct{ Action, Test, Output, FailedBuild string }
		if dec.Decode(&e) != nil {
			return res
		}
		switch {
		case e.Action == "build-output":
			build.WriteString(e.Output)
		case e.Action == "build-fail" || e.FailedBuild != "":
			res.fault = "it does not compile: " + tail(build.String())
		case strings.Contains(e.Output, "panic: test timed out after"):
			res.fault = strings.TrimSpace(e.Output)
		case e.Test != "" && !strings.Contains(e.Test, "/") && slices.Contains([]string{"pass", "fail", "skip"}, e.Action):
			res.ended[e.Test] = e.Action
		}
	}
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// tail gives the end of what a command said, on one line.
func tail(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-4):], " / ")
}
