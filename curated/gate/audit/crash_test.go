package audit

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary stand in for a server that makes changes.
func TestMain(m *testing.M) {
	if path := os.Getenv("AUDIT_TEST_LOG"); path != "" {
		n, _ := strconv.Atoi(os.Getenv("AUDIT_TEST_CHANGES"))
		if err := hammer(path, os.Getenv("AUDIT_TEST_NAME"), n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hammer makes n changes and says on standard output which intents and outcomes
// it was told to be logged. It does not sync: killing a process loses nothing
// that the system has.
func hammer(path, name string, n int) error {
	syncFile = func(*os.File) error { return nil }
	l, err := Open(path, []byte("k3y"))
	if err != nil {
		return err
	}
	for i := range n {
		e := entry(i)
		e.Client, e.Reason = name, strconv.Itoa(i)
		p, err := l.Begin(e)
		if err != nil {
			return err
		}
		fmt.Println("begun", p.ID())
		if err := p.End(Outcome{Result: OK, Status: 200}); err != nil {
			return err
		}
		fmt.Println("ended", p.ID())
	}
	return nil
}

func process(t *testing.T, path, name string, n int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "AUDIT_TEST_LOG="+path, "AUDIT_TEST_NAME="+name, "AUDIT_TEST_CHANGES="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	return cmd
}

func TestTwoProcessesTenThousandChanges(t *testing.T) {
	path := place(t)
	const each = 5000
	var cmds []*exec.Cmd
	for _, name := range []string{"one", "two"} {
		cmd := process(t, path, name, each)
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Wait())
	}
	r := verify(t, path, []byte("k3y"))
	require.True(t, r.Intact(), r.String())
	require.EqualValues(t, 2*each, r.Changes)
	require.EqualValues(t, 2*each, r.OK)
	require.Zero(t, r.Unknown)
	require.EqualValues(t, 4*each, r.Lines)

	// Every change of both stands there once.
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range []string{"one", "two"} {
		require.Equal(t, each, strings.Count(string(data), `"client":"`+name+`"`))
	}
}

// Processes are killed while they write, over and over; no line that was
// acknowledged is lost, none is there that nobody wrote, and the chain holds.
func TestKilledAtRandom(t *testing.T) {
	path := place(t)
	begun, ended := map[string]bool{}, map[string]bool{}
	const rounds = 25
	for range rounds {
		cmd := process(t, path, "victim", 1_000_000)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var kill *time.Timer
		scan := bufio.NewScanner(out)
		for scan.Scan() {
			if kill == nil { // it has begun
				kill = time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
			what, id, ok := strings.Cut(scan.Text(), " ")
			if ok && len(id) == 24 {
				map[string]map[string]bool{"begun": begun, "ended": ended}[what][id] = true
			}
		}
		_ = cmd.Wait()
		require.NotNil(t, kill)
		kill.Stop()
		r := verify(t, path, []byte("k3y"))
		require.True(t, r.Intact(), r.String())
	}
	// One more append finishes what the last kill left.
	fill(t, path, []byte("k3y"), 1)
	r := verify(t, path, []byte("k3y"))
	require.True(t, r.Intact(), r.String())
	require.Greater(t, len(begun), rounds)

	intents, outcomes := map[string]bool{}, map[string]bool{}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	scan := bufio.NewScanner(f)
	c := chain{key: []byte("k3y")}
	for scan.Scan() {
		l, _, err := c.decode(scan.Bytes())
		if err != nil {
			continue // half written, and marked by a repair: the report is intact
		}
		switch l.Event {
		case eventIntent:
			require.False(t, intents[l.ID])
			intents[l.ID] = true
		case eventOutcome:
			require.True(t, intents[l.ID])
			outcomes[l.ID] = true
		}
	}
	for id := range begun {
		require.True(t, intents[id], "a logged intent is gone")
	}
	for id := range ended {
		require.True(t, outcomes[id], "a logged outcome is gone")
	}
	// At most one line a kill was written and not acknowledged; the pipe may
	// have held back what was.
	require.LessOrEqual(t, len(intents)-len(begun), 2*rounds+1)
	require.EqualValues(t, len(intents)-len(outcomes), r.Unknown)
}

// A crash can stop the writing of a line at any byte, and that of its repair
// too. Each is tried.
func TestHalfWrittenLines(t *testing.T) {
	quick(t)
	path := place(t)
	l, err := Open(path, nil)
	require.NoError(t, err)
	fillMore(t, l, 2)
	w := state(t, l)
	text, sum, err := l.chain.encode(line{Event: eventIntent, ID: "halfway", Seq: 5, Prev: w.Head, Verb: "POST", Path: "/x", Time: "2026-01-01T00:00:00.000Z"})
	require.NoError(t, err)
	base, err := os.ReadFile(path)
	require.NoError(t, err)
	w.Next, w.NextSize = sum, int64(len(text))
	announced, err := l.chain.encodeAnchor(w)
	require.NoError(t, err)

	for cut := 0; cut <= len(text); cut += 1 + cut/8 {
		restore(t, path, append(append([]byte{}, base...), text[:cut]...), announced)
		r := verify(t, path, nil)
		require.True(t, r.Intact(), "cut %d: %s", cut, r.String())
		written := cut >= len(text)-1
		require.Equal(t, cut > 0 && cut < len(text), r.HalfWritten > 0, "cut %d", cut)

		fillMore(t, l, 1)
		r = verify(t, path, nil)
		require.True(t, r.Intact(), "cut %d: %s", cut, r.String())
		require.Equal(t, written, r.Unknown == 1, "cut %d", cut)
		require.Equal(t, cut > 0 && !written, len(r.Repairs) == 1, "cut %d", cut)
		if cut > 0 && !written {
			require.EqualValues(t, cut, r.Repairs[0].Bytes)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(after), string(text[:cut])+"\n", "what was half written stays")

			// A repair line that lies about what it marks is found.
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(after), string(text[:cut])+"\n", "Y"+string(text[1:cut])+"\n", 1)), 0o600))
			r = verify(t, path, nil)
			require.False(t, r.Intact(), "cut %d", cut)
		}
	}
}

func TestHalfWrittenRepair(t *testing.T) {
	quick(t)
	path := place(t)
	l, err := Open(path, nil)
	require.NoError(t, err)
	fillMore(t, l, 1)
	a := state(t, l)
	base, err := os.ReadFile(path)
	require.NoError(t, err)
	a.Next, a.NextSize = strings.Repeat("a", 64), 400
	announced, err := l.chain.encodeAnchor(a)
	require.NoError(t, err)
	fragment := append(append([]byte{}, base...), `{"v":1,"alg":"sha`...)
	restore(t, path, fragment, announced)
	_, err = Open(path, nil) // repairs
	require.NoError(t, err)
	repaired, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(repaired), string(fragment)+"\n"))

	// The same, the repair cut at each byte: the anchor that announced it is
	// rebuilt from what was written.
	chunk := repaired[len(fragment):]
	after := state(t, l)
	a.Next, a.NextSize = after.Head, int64(len(repaired)-len(base))
	announced, err = l.chain.encodeAnchor(a)
	require.NoError(t, err)
	for cut := range len(chunk) + 1 {
		restore(t, path, append(append([]byte{}, fragment...), chunk[:cut]...), announced)
		r := verify(t, path, nil)
		require.True(t, r.Intact(), "cut %d: %s", cut, r.String())
		fillMore(t, l, 1)
		r = verify(t, path, nil)
		require.True(t, r.Intact(), "cut %d: %s", cut, r.String())
		require.Len(t, r.Repairs, 1, "cut %d", cut)
		require.EqualValues(t, 2, r.OK)
	}
}

func state(t *testing.T, l *Log) anchor {
	t.Helper()
	f, err := os.Open(l.path + ".anchor")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	a, err := l.chain.loadAnchor(f)
	require.NoError(t, err)
	return a
}

func restore(t *testing.T, path string, log, anchor []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, log, 0o600))
	require.NoError(t, os.WriteFile(path+".anchor", anchor, 0o600))
}

// With a key nothing but what was written can pass for a log of changes.
func FuzzVerify(f *testing.F) {
	quick(f)
	key := []byte("k3y")
	c := chain{key: key}
	var log []byte
	a := c.newAnchor()
	for i, l := range []line{
		{Event: eventIntent, ID: "a", Verb: "POST", Path: "/nodes/pve1/qemu/100/status/stop", Params: map[string][]string{"node": {"pve1"}}},
		{Event: eventOutcome, ID: "a", Outcome: OK, Status: 200},
		{Event: eventIntent, ID: "b", Verb: "DELETE", Path: "/nodes/pve1/qemu/101"},
	} {
		l.Time, l.Seq, l.Prev = "2026-01-01T00:00:00.000Z", uint64(i)+1, a.Head
		text, sum, err := c.encode(l)
		require.NoError(f, err)
		log = append(log, text...)
		a.Count, a.Size, a.Head = l.Seq, int64(len(log)), sum
	}
	anchorText, err := c.encodeAnchor(a)
	require.NoError(f, err)
	f.Add(log, anchorText)
	f.Add(log[:len(log)/2], anchorText)
	f.Add([]byte("{}\n\n\"}"), []byte("{}"))
	f.Fuzz(func(t *testing.T, text, anchorBytes []byte) {
		r := Report{Keyed: true, Head: genesis}
		v := newVerifier(&r, c)
		if err := v.read(bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		a, err := c.decodeAnchor(anchorBytes)
		v.finish(int64(len(text)), a, err == nil)
		if err != nil {
			return // without its anchor a log is never said to be intact
		}
		_ = r.String()
		if r.Intact() && r.Changes > 0 && string(text) != string(log) {
			t.Fatalf("an edited log passes: %q", text)
		}
	})
}
