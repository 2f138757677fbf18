package gen

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteAndCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	out := &Output{Files: map[string][]byte{"a.gen.go": []byte("one\ntwo\n"), "schemas.jsonl": []byte("{}\n")}}
	var stale *StaleError

	require.ErrorAs(t, out.Check(dir), &stale)
	assert.Equal(t, []string{"a.gen.go: missing", "schemas.jsonl: missing"}, stale.Differ)

	require.NoError(t, out.Write(dir))
	require.NoError(t, out.Check(dir))

	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("a.gen.go", "one\nthree\n")
	write("old.gen.go", "x")
	write("stray.txt", "x")
	write("my_test.go", "x")
	require.ErrorAs(t, out.Check(dir), &stale)
	assert.Equal(t, []string{"a.gen.go: differs from line 2 on", "old.gen.go: does not belong here", "stray.txt: does not belong here"}, stale.Differ)

	// Writing again removes what an earlier run made, and nothing else.
	require.NoError(t, out.Write(dir))
	names, err := listDir(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.gen.go", "my_test.go", "schemas.jsonl", "stray.txt"}, names)
	require.ErrorAs(t, out.Check(dir), &stale)
	assert.Equal(t, []string{"stray.txt: does not belong here"}, stale.Differ)
}

func TestRangePattern(t *testing.T) {
	for _, r := range [][2]int{{0, 0}, {0, 1}, {0, 7}, {0, 9}, {0, 10}, {0, 13}, {0, 30}, {0, 31}, {0, 99}, {0, 100}, {0, 255}, {1, 1}, {1, 12}, {3, 1005}, {95, 105}} {
		pattern := regexp.MustCompile("^(" + rangePattern(r[0], r[1]) + ")$")
		for n := range 1200 {
			require.Equal(t, n >= r[0] && n <= r[1], pattern.MatchString(strconv.Itoa(n)), "%v %d %s", r, n, pattern)
		}
		assert.False(t, pattern.MatchString("00"))
		assert.False(t, pattern.MatchString(""))
	}
	assert.Equal(t, "[0-9]|[12][0-9]|3[01]", rangePattern(0, 31))
}
