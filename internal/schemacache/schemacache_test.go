package schemacache

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

var key = Key{Version: "8.4.14", RepoID: "b502d23c55afcba1", Cluster: "pve1:8006"}

// served gives a version's facts in the form in which a node serves them.
func served(t testing.TB, version string) []byte {
	t.Helper()
	s, err := apidoc.Snapshot(version)
	require.NoError(t, err)
	b := bytes.NewBufferString("const apiSchema = ")
	require.NoError(t, apidoc.WriteFacts(b, s))
	b.WriteString(";\nlet shown = [];\n")
	return b.Bytes()
}

// asked is a cluster that counts how often it is asked.
type asked struct {
	n    int
	data []byte
	err  error
}

func (a *asked) fetch(context.Context) ([]byte, error) {
	a.n++
	return a.data, a.err
}

func TestReleaseOfKeys(t *testing.T) {
	for version, want := range map[string]string{
		"9.2.11": "9.2", "8.4": "8.4", "7.4-3": "7.4", "9.0.0~11": "9.0", "10.12.1": "10.12",
		"": "", "9": "", "9.": "", ".2": "", "x.y": "", "../../etc": "", "99999.1": "", "9.٢": "",
	} {
		require.Equal(t, want, Key{Version: version}.Release(), "%q", version)
	}
}

func TestFileNames(t *testing.T) {
	require.Regexp(t, `^apidoc-8\.4\.14-b502d23c55afcba1-[0-9a-f]{12}\.js$`, key.file())
	seen := map[string]Key{}
	for _, k := range []Key{key, {}, {Version: "8.4.14"}, {Version: "8.4.14", RepoID: key.RepoID}, {Version: "8.4.14", RepoID: key.RepoID, Cluster: "other"},
		{Version: "../../../etc/passwd", RepoID: "/"}, {Version: "a\x00b"}, {Version: "ab", RepoID: "c"}, {Version: "a", RepoID: "bc"},
		{Version: strings.Repeat("9", 5000)}, {Version: strings.Repeat("9", 5001)}, {Version: "ä/☃"}, {Version: "con"}} {
		name := k.file()
		require.Regexp(t, `^apidoc-[0-9A-Za-z._-]{0,24}-[0-9A-Za-z._-]{0,24}-[0-9a-f]{12}\.js$`, name)
		require.NotContains(t, seen, name)
		seen[name] = k
	}
}

func TestFirstFromTheClusterThenFromDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	cluster := &asked{data: served(t, "8.4")}
	now := time.Now()
	c, err := NewStore(dir).Choose(t.Context(), key, now, false, cluster.fetch)
	require.NoError(t, err)
	require.Equal(t, Fetched, c.Origin)
	require.NoError(t, c.Trouble)
	require.NoError(t, c.Unkept)
	require.Equal(t, now, c.Since)
	require.Equal(t, "8.4", c.Schema.Version)
	_, ok := c.Schema.Endpoint(apidoc.GET, "/cluster/ha/rules")
	require.False(t, ok, "8.4 has no rules")

	// What is kept is the file as it came, for its owner alone.
	path := filepath.Join(dir, key.file())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(cluster.data, data))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
		info, err = os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	}

	c, err = NewStore(dir).Choose(t.Context(), key, now, false, cluster.fetch)
	require.NoError(t, err)
	require.Equal(t, Kept, c.Origin)
	require.Equal(t, 1, cluster.n, "the second time it comes from disk")
	require.Equal(t, 605, len(c.Schema.Endpoints()))

	// Another cluster, version or build has nothing of it.
	for _, k := range []Key{{key.Version, key.RepoID, "other"}, {"8.4.15", key.RepoID, key.Cluster}, {key.Version, "beef", key.Cluster}} {
		_, _, err := NewStore(dir).Load(k)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestOldFilesAreAskedForAgain(t *testing.T) {
	store := NewStore(t.TempDir())
	now := time.Now()
	require.NoError(t, store.Keep(key, served(t, "7.4")))
	cluster := &asked{data: served(t, "8.4")}

	c, err := store.Choose(t.Context(), key, now.Add(MaxAge-time.Hour), false, cluster.fetch)
	require.NoError(t, err)
	require.Equal(t, Kept, c.Origin)
	require.Zero(t, cluster.n)

	// Asked for anew, but the cluster has none: the old one is as good as before.
	c, err = store.Choose(t.Context(), key, now, true, (&asked{err: errors.New("no route")}).fetch)
	require.NoError(t, err)
	require.Equal(t, Old, c.Origin)
	require.ErrorContains(t, c.Trouble, "no route")
	require.Equal(t, 540, len(c.Schema.Endpoints()))

	c, err = store.Choose(t.Context(), key, now.Add(MaxAge+time.Hour), false, cluster.fetch)
	require.NoError(t, err)
	require.Equal(t, Fetched, c.Origin)
	c, err = store.Choose(t.Context(), key, now, false, cluster.fetch)
	require.NoError(t, err)
	require.Equal(t, Kept, c.Origin)
	require.Equal(t, 605, len(c.Schema.Endpoints()), "the new file took the old one's place")
	require.Equal(t, 1, cluster.n)
}

// foreign are texts that a node, or whatever answers in its place, may serve.
func foreign(t testing.TB) map[string][]byte {
	good := served(t, "8.4")
	var bomb bytes.Buffer
	zw := gzip.NewWriter(&bomb)
	for range 64 {
		_, err := zw.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, zw.Close())
	return map[string][]byte{
		"empty":         nil,
		"html":          []byte("<!DOCTYPE html><html><body>Sign in</body></html>"),
		"truncated":     good[:len(good)*2/3],
		"one byte less": bytes.TrimSuffix(bytes.SplitAfter(good, []byte("\n]"))[0], []byte("]")),
		"too large":     append([]byte("[]"), make([]byte, apidoc.MaxText+1)...),
		"gzip bomb":     bomb.Bytes(),
		"no array":      []byte("const apiSchema = {};"),
		"empty array":   []byte("const apiSchema = [];"),
		"other product": []byte(`var apiSchema = [{"path":"/version","text":"version","leaf":1,"info":{"GET":{"method":"GET"}}},{"path":"/admin","text":"admin","leaf":1,"info":{"GET":{"method":"GET"}}}];`),
		"deep":          []byte("const apiSchema = " + strings.Repeat(`[{"children":`, 100000)),
		"code":          []byte("while(true){}"),
		"binary":        bytes.Repeat([]byte{0, 255, '"', '\\'}, 1000),
	}
}

func TestBadFilesAreNeitherUsedNorKept(t *testing.T) {
	for name, data := range foreign(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := NewStore(dir)
			c, err := store.Choose(t.Context(), key, time.Now(), false, (&asked{data: data}).fetch)
			require.NoError(t, err)
			require.Equal(t, Snapshot, c.Origin)
			require.Equal(t, "8.4", c.Schema.Version)
			require.Error(t, c.Trouble)
			require.Less(t, len(c.Trouble.Error()), 400)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)

			// With an older file at hand, that one stands in.
			require.NoError(t, store.Keep(key, served(t, "7.4")))
			c, err = store.Choose(t.Context(), key, time.Now().Add(2*MaxAge), false, (&asked{data: data}).fetch)
			require.NoError(t, err)
			require.Equal(t, Old, c.Origin)
			require.Equal(t, 540, len(c.Schema.Endpoints()))
			require.Error(t, c.Trouble)

			// The same text on disk is as good as none, and is replaced.
			require.NoError(t, os.WriteFile(filepath.Join(dir, key.file()), data, 0o600))
			_, _, err = store.Load(key)
			require.Error(t, err)
			require.NotErrorIs(t, err, fs.ErrNotExist)
			c, err = store.Choose(t.Context(), key, time.Now(), false, (&asked{data: served(t, "8.4")}).fetch)
			require.NoError(t, err)
			require.Equal(t, Fetched, c.Origin)
			_, _, err = store.Load(key)
			require.NoError(t, err)
		})
	}
}

func TestWhatStandsInFitsTheVersion(t *testing.T) {
	for version, want := range map[string]string{"7.0.1": "7.4", "8.1.4": "8.4", "9.0.3": "9.2", "10.0.1": "9.2", "": "9.2", "nonsense": "9.2", "6.4": "7.4"} {
		c, err := NewStore("").Choose(t.Context(), Key{Version: version}, time.Now(), false, (&asked{err: errors.New("404")}).fetch)
		require.NoError(t, err)
		require.Equal(t, want, c.Schema.Version, version)
		require.Equal(t, Snapshot, c.Origin)
		require.False(t, c.Origin.Own())
	}
}

func TestFoldersThatCantBeWritten(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	inTheWay := filepath.Join(base, "dir")
	require.NoError(t, os.MkdirAll(filepath.Join(inTheWay, key.file(), "x"), 0o700))
	for name, dir := range map[string]string{"below a file": filepath.Join(file, "cache"), "a folder in the file's place": inTheWay, "NUL": "a\x00b"} {
		cluster := &asked{data: served(t, "8.4")}
		for range 2 {
			c, err := NewStore(dir).Choose(t.Context(), key, time.Now(), false, cluster.fetch)
			require.NoError(t, err, name)
			require.Equal(t, Fetched, c.Origin, name)
			require.Error(t, c.Unkept, name)
			require.NoError(t, c.Trouble, name)
		}
		require.Equal(t, 2, cluster.n, name)
	}
	entries, err := os.ReadDir(inTheWay)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing half written is left")
	// Without a folder there is nothing to complain about.
	c, err := NewStore("").Choose(t.Context(), key, time.Now(), false, (&asked{data: served(t, "8.4")}).fetch)
	require.NoError(t, err)
	require.NoError(t, c.Unkept)
}

func TestTidy(t *testing.T) {
	dir := t.TempDir()
	store := NewStore(dir)
	data := served(t, "7.4")
	for i := range most + 4 {
		k := Key{Version: fmt.Sprintf("8.0.%d", i)}
		require.NoError(t, store.Keep(k, data))
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		require.NoError(t, os.Chtimes(filepath.Join(dir, k.file()), at, at))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-1"), data, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-2"), data, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), data, 0o600))
	long := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".new-1"), long, long))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "notes.txt"), long, long))
	require.NoError(t, store.Keep(key, data))
	var names []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Len(t, names, most+2, names)
	require.Contains(t, names, key.file())
	require.Contains(t, names, ".new-2", "another process may be writing it")
	require.NotContains(t, names, ".new-1")
	require.Contains(t, names, "notes.txt", "what is not ours is left alone")
	require.NotContains(t, names, Key{Version: "8.0.0"}.file())
	require.Contains(t, names, Key{Version: fmt.Sprintf("8.0.%d", most+3)}.file())
}

// Many processes may fetch at once; whoever reads sees a whole file.
func TestSideBySide(t *testing.T) {
	dir := t.TempDir()
	cluster := func(context.Context) ([]byte, error) { return served(t, "7.4"), nil }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 3 {
				c, err := NewStore(dir).Choose(context.Background(), key, time.Now(), i%2 == 0, cluster)
				if err != nil || c.Trouble != nil || c.Unkept != nil || len(c.Schema.Endpoints()) != 540 {
					t.Errorf("%+v, %v", c, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzRead(f *testing.F) {
	for _, data := range foreign(f) {
		if len(data) < 1<<20 {
			f.Add(data, "8.4")
		}
	}
	f.Add(served(f, "7.4"), "7.4")
	f.Fuzz(func(t *testing.T, data []byte, release string) {
		s, err := Read(data, release)
		if err == nil {
			require.NotNil(t, s)
			_, err := s.Lookup(apidoc.GET, "/cluster/resources")
			require.NoError(t, err)
		}
	})
}

// published gives a node's whole file where the folder with such files is at
// hand, else the facts of the newest snapshot.
func published(b *testing.B) []byte {
	f, err := os.Open("../../../shared/apidoc/pve-9.2.json.gz")
	if err != nil {
		return served(b, apidoc.Newest)
	}
	defer func() { _ = f.Close() }()
	zr, err := gzip.NewReader(f)
	require.NoError(b, err)
	data, err := io.ReadAll(zr)
	require.NoError(b, err)
	return append(append([]byte("const apiSchema = "), data...), ";\n"...)
}

func BenchmarkFetched(b *testing.B) {
	data := published(b)
	store := NewStore(b.TempDir())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := store.Choose(b.Context(), key, time.Now(), true, func(context.Context) ([]byte, error) { return data, nil })
		require.NoError(b, err)
	}
}

func BenchmarkKept(b *testing.B) {
	data := published(b)
	store := NewStore(b.TempDir())
	require.NoError(b, store.Keep(key, data))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, _, err := store.Load(key)
		require.NoError(b, err)
	}
}
