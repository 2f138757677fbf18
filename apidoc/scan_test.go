package apidoc

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published gives a node's whole file, prose and indentation included, where
// the folder with such files is at hand; else the facts of the newest snapshot.
func published(b *testing.B) []byte {
	f, err := os.Open("../../shared/apidoc/pve-9.2.json.gz")
	if err != nil {
		data, err := factFiles.ReadFile("facts/pve-9.2.json")
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	defer func() { _ = f.Close() }()
	zr, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil {
		b.Fatal(err)
	}
	return append(append([]byte("const apiSchema = "), data...), ";\n"...)
}

func BenchmarkParsePublished(b *testing.B) {
	data := published(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, "9.2"); err != nil {
			b.Fatal(err)
		}
	}
}

// Eight bytes at a time must give what one at a time gives.
func TestSkipStringLooksAtEveryByte(t *testing.T) {
	for length := range 40 {
		for at := range length {
			for c := range 256 {
				text := []byte(`"` + strings.Repeat("x", length) + `" `)
				text[1+at] = byte(c)
				end, err := skipString(text, 0)
				switch {
				case c == '"':
					require.NoError(t, err)
					require.Equal(t, at+2, end)
				case c < 0x20:
					require.Error(t, err, "control character %#x at %d of %d", c, at, length)
				case c == '\\' && at == length-1: // the closing quote is escaped
					require.Error(t, err)
				default:
					require.NoError(t, err, "byte %#x at %d of %d", c, at, length)
					require.Equal(t, length+2, end)
				}
			}
		}
	}
}

func TestSkipSpaceStopsAtEverythingElse(t *testing.T) {
	for length := range 40 {
		for c := range 256 {
			want := length
			if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
				want = length + 1
			}
			require.Equal(t, want, skipSpace(append([]byte(strings.Repeat(" ", length)), byte(c)), 0), "%#x behind %d", c, length)
		}
	}
}
