// Command bench measures what the project promises about its speed and size and
// prints each figure with its limit. It exists so that anyone can see the
// figures with one command (make bench); where a machine's speed would decide,
// the figure is a ratio within one run. It exits with 1 if a limit is missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// figure is one measured promise.
type figure struct {
	name   string
	value  float64
	limit  float64 // at most this
	unit   string
	detail string
}

func main() {
	quick := flag.Bool("quick", false, "leave out the cold build, which takes a minute or two")
	search := flag.Bool("first-search", false, "print how long the first API search of this process takes, and nothing else")
	flag.Parse()
	if *search {
		printFirstSearch()
		return
	}
	missed, err := measure(*quick)
	if err != nil {
		fail(err)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// measure takes and prints all figures, and gives how many missed their limit.
func measure(quick bool) (missed int, err error) {
	dir, err := os.MkdirTemp("", "pve-mcp-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := &bench{dir: dir, binary: filepath.Join(dir, "pve-mcp")}
	steps := []func() error{b.build, b.start, b.memoryAndRequests, b.rawCalls, b.library, b.generate}
	if !quick {
		steps = append(steps, b.coldBuild)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return 0, err
		}
	}
	for _, f := range b.figures {
		mark := "ok"
		if f.value > f.limit {
			mark, missed = "MISSED", missed+1
		}
		fmt.Printf("%-58s %9.2f %-8s limit %7.2f  %s", f.name, f.value, f.unit, f.limit, mark)
		if f.detail != "" {
			fmt.Printf("  (%s)", f.detail)
		}
		fmt.Println()
	}
	if missed > 0 {
		fmt.Printf("%d of %d figures missed\n", missed, len(b.figures))
		return missed, nil
	}
	fmt.Printf("%d figures, all within their limits\n", len(b.figures))
	return 0, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// bench gathers the figures of one run.
type bench struct {
	dir, binary string
	figures     []figure
}

func (b *bench) add(name string, value, limit float64, unit, detail string, args ...any) {
	b.figures = append(b.figures, figure{name, value, limit, unit, fmt.Sprintf(detail, args...)})
}

func median(times []time.Duration) time.Duration {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	return times[len(times)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
