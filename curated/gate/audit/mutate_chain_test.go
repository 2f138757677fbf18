package audit

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who edits a line and gives it the hash that its new text has is found by the
// next line, which names the old one.
func TestALineHashedAnewIsFound(t *testing.T) {
	quick(t)
	for _, key := range [][]byte{nil, []byte("k3y")} {
		path := place(t)
		fill(t, path, key, 4)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
		require.Len(t, lines, 8)
		body := lines[3][:len(lines[3])-1-hashTail]
		edited := strings.Replace(body, `"ok"`, `"no"`, 1)
		require.NotEqual(t, body, edited)
		lines[3] = edited + hashMark + chain{key: key}.sum([]byte(edited)) + "\"}\n"
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "")+"\n"), 0o600))
		r := verify(t, path, key)
		require.False(t, r.Intact(), r.String())
		require.Equal(t, Inserted, r.Faults[0].Kind, r.String())
		require.EqualValues(t, 5, r.Faults[0].Line, r.String())
	}
}
