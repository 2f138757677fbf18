package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func place(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state", "audit.jsonl")
}

func entry(i int) Entry {
	return Entry{Who: "bot@pve!t", Client: "test 1", Tool: "pve_raw_call", Reason: "because", Verb: "POST",
		Path: fmt.Sprintf("/nodes/pve1/qemu/%d/status/stop", 100+i), Params: map[string][]string{"node": {"pve1"}}, Class: "disrupt"}
}

// fill makes n changes, each with an outcome.
func fill(t testing.TB, path string, key []byte, n int) {
	t.Helper()
	l, err := Open(path, key)
	require.NoError(t, err)
	for i := range n {
		p, err := l.Begin(entry(i))
		require.NoError(t, err)
		require.NoError(t, p.End(Outcome{Result: OK, Status: 200, UPID: "UPID:pve1:00000001:00000001:00000001:qmstop:100:bot@pve:"}))
	}
}

func verify(t testing.TB, path string, key []byte) Report {
	t.Helper()
	r, err := Verify(path, key)
	require.NoError(t, err)
	return r
}

// quick replaces the sync by nothing where only order and content matter.
func quick(t testing.TB) {
	t.Helper()
	saved := syncFile
	syncFile = func(*os.File) error { return nil }
	t.Cleanup(func() { syncFile = saved })
}

func TestChangeIsTwoLinesThatVerify(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("k3y")} {
		path := place(t)
		l, err := Open(path, key)
		require.NoError(t, err)
		l.now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.FixedZone("x", 3600)) }
		p, err := l.Begin(entry(0))
		require.NoError(t, err)

		r := verify(t, path, key)
		require.True(t, r.Intact(), r.String())
		require.EqualValues(t, 1, r.Unknown)
		require.Equal(t, "/nodes/pve1/qemu/100/status/stop", r.Opens[0].Path)
		require.False(t, r.Opens[0].Lost)

		require.NoError(t, p.End(Outcome{Result: Refused, Status: 500, Message: "VM is locked (backup)"}))
		r = verify(t, path, key)
		require.True(t, r.Intact(), r.String())
		require.EqualValues(t, 2, r.Lines)
		require.EqualValues(t, 1, r.Refused)
		require.Zero(t, r.Unknown)

		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var first struct{ Time, Event, Who, Client, Tool, Reason, Verb, Path, Class, Prev, Hash string }
		require.NoError(t, json.Unmarshal(bytes.Split(data, []byte("\n"))[0], &first))
		require.Equal(t, "2026-03-01T11:00:00.005Z", first.Time)
		require.Equal(t, genesis, first.Prev)
		require.Equal(t, "because", first.Reason)
		require.Len(t, first.Hash, 64)

		if runtime.GOOS != "windows" {
			for _, f := range []string{path, path + ".anchor", path + ".lock"} {
				info, err := os.Stat(f)
				require.NoError(t, err)
				require.EqualValues(t, 0o600, info.Mode().Perm(), f)
			}
			info, err := os.Stat(filepath.Dir(path))
			require.NoError(t, err)
			require.EqualValues(t, 0o700, info.Mode().Perm())
		}
	}
}

func TestIntentIsOnDiskBeforeBeginReturns(t *testing.T) {
	path := place(t)
	l, err := Open(path, nil)
	require.NoError(t, err)
	var synced []string
	saved := syncFile
	syncFile = func(f *os.File) error { synced = append(synced, filepath.Base(f.Name())); return nil }
	defer func() { syncFile = saved }()
	p, err := l.Begin(entry(0))
	require.NoError(t, err)
	require.Equal(t, []string{"audit.jsonl.anchor", "audit.jsonl"}, synced)
	synced = nil
	require.NoError(t, p.End(Outcome{Result: OK}))
	require.Equal(t, []string{"audit.jsonl.anchor", "audit.jsonl"}, synced)

	for _, fails := range []string{"audit.jsonl.anchor", "audit.jsonl"} {
		syncFile = func(f *os.File) error {
			if filepath.Base(f.Name()) == fails {
				return fmt.Errorf("disk says no")
			}
			return nil
		}
		_, err = l.Begin(entry(0))
		require.ErrorContains(t, err, "disk says no")
	}
	syncFile = saved
	fillMore(t, l, 2)
	r := verify(t, path, nil)
	require.True(t, r.Intact(), r.String())
}

func fillMore(t testing.TB, l *Log, n int) {
	t.Helper()
	for i := range n {
		p, err := l.Begin(entry(i))
		require.NoError(t, err)
		require.NoError(t, p.End(Outcome{Result: OK}))
	}
}

func TestConcurrentWritersInOneProcess(t *testing.T) {
	quick(t)
	path := place(t)
	a, err := Open(path, nil)
	require.NoError(t, err)
	b, err := Open(path, nil)
	require.NoError(t, err)
	var wg sync.WaitGroup
	var failed atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			l := []*Log{a, b}[i%2]
			for j := range 25 {
				p, err := l.Begin(entry(j))
				if err != nil || p.End(Outcome{Result: OK}) != nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, failed.Load())
	r := verify(t, path, nil)
	require.True(t, r.Intact(), r.String())
	require.EqualValues(t, 200, r.OK)
}

func TestTampering(t *testing.T) {
	quick(t)
	const changes = 6 // twelve lines
	forged := func(c chain, seq uint64, prev string) string {
		text, _, err := c.encode(line{Event: eventIntent, Seq: seq, ID: "forged", Verb: "POST", Path: "/x", Time: "2026-01-01T00:00:00.000Z", Prev: prev})
		require.NoError(t, err)
		return string(text)
	}
	hashOf := func(l string) string { return l[len(l)-67 : len(l)-3] }
	tests := []struct {
		name string
		edit func(lines []string) []string
		kind FaultKind
		line int64
		n    int64 // faults; 0 for any
	}{
		{"a word edited", func(l []string) []string { l[3] = strings.Replace(l[3], "ok", "no", 1); return l }, Edited, 4, 1},
		{"a path edited", func(l []string) []string { l[4] = strings.Replace(l[4], "/102/", "/999/", 1); return l }, Edited, 5, 1},
		{"the last line edited", func(l []string) []string { l[11] = strings.Replace(l[11], "ok", "no", 1); return l }, Edited, 12, 1},
		{"the first line edited", func(l []string) []string { l[0] = strings.Replace(l[0], "because", "becausE", 1); return l }, Edited, 1, 1},
		{"a hash edited", func(l []string) []string {
			l[5] = strings.Replace(l[5], hashOf(l[5]), strings.Repeat("a", 64), 1)
			return l
		}, Edited, 6, 1},
		{"a line removed", func(l []string) []string { return append(l[:5:5], l[6:]...) }, Removed, 6, 0},
		{"a change removed", func(l []string) []string { return append(l[:4:4], l[6:]...) }, Removed, 5, 0},
		{"the first change removed", func(l []string) []string { return l[2:] }, Removed, 1, 0},
		{"two lines swapped", func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, Removed, 5, 0},
		{"a line twice", func(l []string) []string { return append(l[:6:6], append([]string{l[5]}, l[6:]...)...) }, Reordered, 7, 0},
		{"a line made garbage", func(l []string) []string { l[7] = "garbage\n"; return l }, Foreign, 8, 1},
		{"a line emptied", func(l []string) []string { l[7] = "\n"; return l }, Foreign, 8, 1},
		{"garbage between", func(l []string) []string { return append(l[:6:6], append([]string{"garbage\n"}, l[6:]...)...) }, Foreign, 7, 0},
		{"a line of a mile", func(l []string) []string {
			return append(l[:6:6], append([]string{strings.Repeat("x", 3*maxLine) + "\n"}, l[6:]...)...)
		}, Foreign, 7, 0},
		{"a forged line between", func(l []string) []string {
			return append(l[:6:6], append([]string{forged(chain{}, 7, hashOf(l[5]))}, l[6:]...)...)
		}, "", 0, 0},
		{"the end cut off", func(l []string) []string { return l[:10] }, CutOff, 0, 1},
		{"the last line cut off", func(l []string) []string { return l[:11] }, CutOff, 0, 1},
		{"half the last line cut off", func(l []string) []string { l[11] = l[11][:20]; return l }, "", 0, 0},
		{"the last newline cut off", func(l []string) []string { l[11] = strings.TrimSuffix(l[11], "\n"); return l }, "", 0, 0},
		{"all cut off", func(l []string) []string { return nil }, CutOff, 0, 1},
		{"a forged line at the end", func(l []string) []string { return append(l, forged(chain{}, 13, hashOf(l[11]))) }, "", 0, 0},
		{"garbage at the end", func(l []string) []string { return append(l, "garbage") }, "", 0, 0},
		{"half a line at the end", func(l []string) []string { return append(l, l[0][:40]) }, "", 0, 0},
		{"a last line replaced by another of its length", func(l []string) []string {
			l[11] = strings.Repeat("x", len(l[11])-1) + "\n"
			return l
		}, Foreign, 12, 0},
	}
	for _, key := range [][]byte{nil, []byte("k3y")} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s/keyed=%v", tt.name, key != nil), func(t *testing.T) {
				path := place(t)
				fill(t, path, key, changes)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
				lines[len(lines)-1] += "\n"
				require.Len(t, lines, 2*changes)
				require.NoError(t, os.WriteFile(path, []byte(strings.Join(tt.edit(lines), "")), 0o600))
				r := verify(t, path, key)
				require.False(t, r.Intact(), r.String())
				if tt.kind != "" {
					require.Equal(t, tt.kind, r.Faults[0].Kind, r.String())
					require.Equal(t, tt.line, r.Faults[0].Line, r.String())
				}
				if tt.n > 0 {
					require.Equal(t, tt.n, r.Faulty, r.String())
				}
			})
		}
	}
}

// With a key a chain that was computed anew shows, without one it does not: that
// is what the key is for.
func TestAWholeNewChainNeedsTheKey(t *testing.T) {
	quick(t)
	for _, key := range [][]byte{nil, []byte("k3y")} {
		path := place(t)
		fill(t, path, key, 3)
		forged := filepath.Join(t.TempDir(), "s", "audit.jsonl")
		fill(t, forged, nil, 2)
		for _, ext := range []string{"", ".anchor"} {
			data, err := os.ReadFile(forged + ext)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path+ext, data, 0o600))
		}
		r, err := Verify(path, key)
		if key == nil {
			require.NoError(t, err)
			require.True(t, r.Intact())
			require.Contains(t, r.String(), "PROXMOX_AUDIT_HMAC_KEY")
			continue
		}
		require.ErrorIs(t, err, errAnchorAlg)
		_, err = Open(path, key)
		require.ErrorContains(t, err, "begun in another way")
	}
}

func TestAnotherKey(t *testing.T) {
	quick(t)
	path := place(t)
	fill(t, path, []byte("one"), 2)
	r := verify(t, path, []byte("two"))
	require.False(t, r.Intact())
	require.Equal(t, BadAnchor, r.Faults[0].Kind)
	_, err := Open(path, []byte("two"))
	require.ErrorContains(t, err, "not made with this key")
	_, err = Verify(path, nil)
	require.ErrorContains(t, err, "begun in another way")
}

// What does not fit its anchor is not appended to: a change is then not made.
func TestNothingIsAppendedToATamperedLog(t *testing.T) {
	quick(t)
	tests := map[string]struct {
		do   func(path string) error
		want string
	}{
		"log removed":    {os.Remove, "shorter than its anchor says"},
		"anchor removed": {func(p string) error { return os.Remove(p + ".anchor") }, "anchor file is gone"},
		"cut off":        {func(p string) error { return os.Truncate(p, 300) }, "shorter than its anchor says"},
		"anchor emptied": {func(p string) error { return os.Truncate(p+".anchor", 0) }, "anchor file is gone"},
		"anchor damaged": {func(p string) error { return os.Truncate(p+".anchor", 100) }, "damaged or edited"},
		"added": {func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x\n")
			return err
		}, "longer than its anchor says"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := place(t)
			l, err := Open(path, nil)
			require.NoError(t, err)
			fillMore(t, l, 3)
			require.NoError(t, tt.do(path))
			_, err = l.Begin(entry(0))
			require.ErrorContains(t, err, tt.want)
			var e *Error
			require.ErrorAs(t, err, &e)
			_, err = Open(path, nil)
			require.ErrorContains(t, err, tt.want)
			r, err := Verify(path, nil)
			require.NoError(t, err)
			require.False(t, r.Intact(), r.String())
			// The way out that the message names.
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.RemoveAll(path+".anchor"))
			fillMore(t, l, 1)
			r = verify(t, path, nil)
			require.True(t, r.Intact(), r.String())
		})
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits and links without privileges are not there on Windows")
	}
	open := func(path string) error { _, err := Open(path, nil); return err }
	dir := t.TempDir()

	loose := filepath.Join(dir, "loose")
	require.NoError(t, os.Mkdir(loose, 0o700))
	require.NoError(t, os.Chmod(loose, 0o777))
	require.ErrorContains(t, open(filepath.Join(loose, "a.jsonl")), "others may write")

	for _, name := range []string{"", ".anchor", ".lock"} {
		path := filepath.Join(dir, "link"+name, "a.jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		other := filepath.Join(dir, "other"+name)
		require.NoError(t, os.WriteFile(other, []byte("precious"), 0o600))
		require.NoError(t, os.Symlink(other, path+name))
		require.ErrorContains(t, open(path), "symbolic link", name)
		data, err := os.ReadFile(other)
		require.NoError(t, err)
		require.Equal(t, "precious", string(data))
	}

	writable := filepath.Join(dir, "w", "a.jsonl")
	fill(t, writable, nil, 1)
	require.NoError(t, os.Chmod(writable, 0o666))
	require.ErrorContains(t, open(writable), "others may write")

	fifo := filepath.Join(dir, "d", "a.jsonl")
	require.NoError(t, os.MkdirAll(fifo, 0o700))
	require.ErrorContains(t, open(fifo), "not a regular file")

	// A directory that a link leads to is the user's own way to lay out disks.
	real := filepath.Join(dir, "real")
	require.NoError(t, os.Mkdir(real, 0o700))
	require.NoError(t, os.Symlink(real, filepath.Join(dir, "via")))
	require.NoError(t, open(filepath.Join(dir, "via", "a.jsonl")))
}

func TestDefaultPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places of other systems are their own")
	}
	t.Setenv("XDG_STATE_HOME", "/state")
	p, err := DefaultPath()
	require.NoError(t, err)
	require.Equal(t, "/state/pve-mcp/audit.jsonl", p)
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "/home/u")
	p, err = DefaultPath()
	require.NoError(t, err)
	require.Equal(t, "/home/u/.local/state/pve-mcp/audit.jsonl", p)
	t.Setenv("HOME", "")
	_, err = DefaultPath()
	require.ErrorContains(t, err, "PROXMOX_AUDIT_LOG")
}

func TestALineTooLongIsNoLine(t *testing.T) {
	path := place(t)
	l, err := Open(path, nil)
	require.NoError(t, err)
	e := entry(0)
	e.Reason = strings.Repeat("x", maxLine)
	_, err = l.Begin(e)
	require.ErrorContains(t, err, "bytes")
	fillMore(t, l, 1)
	r := verify(t, path, nil)
	require.True(t, r.Intact(), r.String())
}

func TestVerifyWithoutALog(t *testing.T) {
	_, err := Verify(filepath.Join(t.TempDir(), "none.jsonl"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
