package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], breakagesTOML, ".", os.Stdout)
	stop()
	os.Exit(code)
}

// run is the program: 0 when every breakage was noticed, 1 when one was not, 2
// for wrong arguments or a list that can't be read.
func run(ctx context.Context, args []string, text, dir string, out io.Writer) int {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(out)
	only := flags.String("only", "", "names of breakages, separated by commas")
	list := flags.Bool("list", false, "list the breakages and try none")
	workers := flags.Int("j", runtime.NumCPU(), "breakages tried at once")
	timeout := flags.Duration("timeout", 2*time.Minute, "bound on the tests of one breakage")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	all, err := readBreakages(text)
	if err != nil {
		say("breakages.toml: %v", err)
		return 2
	}
	if all, err = pick(all, *only); err != nil {
		say("%v", err)
		return 2
	}
	if *list {
		for _, b := range all {
			say("%-30s  %s", b.Name, b.Why)
		}
		return 0
	}
	root, err := moduleRoot(dir)
	if err != nil {
		say("%v", err)
		return 2
	}
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		say("%v", err)
		return 2
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	r := &runner{root: root, scratch: scratch, workers: *workers, timeout: *timeout}
	began := time.Now()
	passed, failed := 0, 0
	err = r.all(ctx, all, func(o outcome) {
		if o.verdict == noticed {
			passed++
		} else {
			failed++
		}
		say("%-8s  %-30s  %5.1fs  %s", o.verdict, o.Name, o.took.Seconds(), o.detail)
	})
	if err != nil {
		say("interrupted after %d of %d", passed+failed, len(all))
		return 1
	}
	say("%s for %d breakages", time.Since(began).Round(time.Second), len(all))
	say("%d passed, %d failed", passed, failed)
	if failed > 0 {
		return 1
	}
	return 0
}

// pick gives the named breakages; all without names. The error lists names that
// there are not.
func pick(all []breakage, names string) ([]breakage, error) {
	if names == "" {
		return all, nil
	}
	var picked []breakage
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(b breakage) bool { return b.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no breakage %q; -list shows all", name)
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}
