package curated

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/schemacache"
)

// When the schema of the cluster is looked at again. A cluster is upgraded node
// by node while we run, and nothing tells us.
const (
	// versionAge is how long the version that GET /version told is believed.
	versionAge = 10 * time.Minute
	// retryAfter is how long something that stands in for the cluster's schema
	// is used before the cluster is asked again.
	retryAfter = 5 * time.Minute
	// doubtAfter is how old the version must be for a call that the schema does
	// not know to be a reason to ask for it at once, and fileAge how old the file
	// must be to be fetched again for the same reason: it belongs to a package of
	// its own and may change while the version stays.
	doubtAfter = time.Minute
	fileAge    = time.Hour
)

// How long a cluster may take to tell its version and to send its file: a user
// waits for it, once.
const (
	versionWait = 10 * time.Second
	fileWait    = 20 * time.Second
)

// fileFetcher gets files that a node serves beside its API; *pverest.Transport
// is one.
type fileFetcher interface {
	FetchFile(ctx context.Context, path string, max int64) ([]byte, error)
}

// clusterSchema keeps the schema of the connected cluster. It is asked for on
// the first need, never at start, by one of the callers for all of them. It is
// looked at again when the version that the cluster told is [versionAge] old,
// and sooner when a call shows that the cluster and the schema do not agree.
type clusterSchema struct {
	store   *schemacache.Store
	cluster string // of the key
	files   fileFetcher
	version func(ctx context.Context) (version, repoID string, err error)
	now     func() time.Time
	log     *slog.Logger
	// How long the cluster may take to tell its version and to send its file.
	versionWait, fileWait time.Duration

	mu      sync.Mutex
	held    *heldSchema
	loading chan struct{} // closed when the load that runs has ended
	unkept  bool          // the log has been told that nothing can be kept
	told    string        // the warning that an answer has carried last
	renewed time.Time     // when a file was fetched anew because of a doubt
}

// heldSchema is the schema in use. It is not changed once it is held.
type heldSchema struct {
	schemacache.Choice
	key     schemacache.Key
	warning string    // what to tell about it, once; "" for the cluster's own
	asked   time.Time // when the version was read, or tried to be
	until   time.Time // when to ask again
	// doubted: a call showed that the file may be out of date.
	doubted bool
}

// get gives the schema in use; it waits for the cluster where it must be asked.
// The error is the context's, or a fault of the build.
func (k *clusterSchema) get(ctx context.Context) (*heldSchema, error) {
	for {
		k.mu.Lock()
		held := k.held
		if held != nil && k.now().Before(held.until) {
			k.mu.Unlock()
			return held, nil
		}
		done := k.loading
		if done == nil {
			done = make(chan struct{})
			k.loading = done
			// Others wait for it too, so it does not end with this caller.
			go k.load(held, done)
		}
		k.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// current gives the schema in use without asking anybody; nil before the first
// need.
func (k *clusterSchema) current() *heldSchema {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held
}

// load puts a schema in the place of the old one, always.
func (k *clusterSchema) load(old *heldSchema, done chan struct{}) {
	var next *heldSchema
	defer func() {
		if p := recover(); p != nil {
			k.log.Error("reading the cluster's schema panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			next = nil
		}
		if next == nil {
			next = k.standIn(schemacache.Key{}, errors.New("a fault of pve-mcp itself"), retryAfter)
		}
		k.mu.Lock()
		k.held, k.loading = next, nil
		k.mu.Unlock()
		close(done)
	}()
	next = k.ask(old)
}

// ask reads the version and, where it is another one or the file is doubted,
// the schema.
func (k *clusterSchema) ask(old *heldSchema) *heldSchema {
	ctx, cancel := context.WithTimeout(context.Background(), k.versionWait)
	version, repo, err := k.version(ctx)
	cancel()
	now := k.now()
	if err != nil {
		if old != nil && old.key.Version != "" {
			// It was readable before, so the trouble is the cluster's and the
			// call itself will tell it. A doubt is kept for later.
			again := *old
			again.asked, again.until = now, now.Add(doubtAfter)
			return &again
		}
		return k.standIn(schemacache.Key{}, err, doubtAfter)
	}
	key := schemacache.Key{Version: version, RepoID: repo, Cluster: k.cluster}
	if old != nil && old.key == key && old.Trouble == nil && !old.doubted {
		again := *old
		again.asked, again.until = now, now.Add(versionAge)
		return &again
	}
	ctx, cancel = context.WithTimeout(context.Background(), k.fileWait)
	defer cancel()
	anew := old != nil && old.key == key
	choice, err := k.store.Choose(ctx, key, now, anew, func(ctx context.Context) ([]byte, error) {
		if k.files == nil {
			return nil, errors.New("this connection gets no files")
		}
		return k.files.FetchFile(ctx, schemacache.Path, apidoc.MaxText)
	})
	if err != nil {
		return k.standIn(key, err, retryAfter)
	}
	if choice.Origin == schemacache.Snapshot && old != nil && old.key == key && old.Origin.Own() {
		// What this process has read before is the last good one.
		choice = schemacache.Choice{Schema: old.Schema, Origin: schemacache.Old, Since: old.Since, Trouble: choice.Trouble}
	}
	if choice.Unkept != nil && !k.unkept {
		k.unkept = true
		k.log.Warn("the cluster's schema can't be kept on disk and is fetched again by each start", "error", choice.Unkept)
	}
	held := &heldSchema{Choice: choice, key: key, asked: now, until: now.Add(versionAge)}
	if choice.Trouble != nil {
		held.until = now.Add(retryAfter)
		held.warning = k.warning(held)
		k.log.Warn("the cluster's own schema can't be used", "version", version, "instead", string(choice.Origin), "error", choice.Trouble)
	}
	return held
}

// standIn gives the snapshot for a cluster that does not say its version.
func (k *clusterSchema) standIn(key schemacache.Key, trouble error, again time.Duration) *heldSchema {
	now := k.now()
	choice, err := schemacache.Nearest(key.Version, trouble)
	if err != nil {
		panic("the snapshots of this build can't be read: " + err.Error())
	}
	held := &heldSchema{Choice: choice, key: key, asked: now, until: now.Add(again)}
	held.warning = k.warning(held)
	return held
}

// warning tells what stands in for the cluster's own schema, and why.
func (k *clusterSchema) warning(h *heldSchema) string {
	why := "(" + brief(h.Trouble) + ")"
	switch {
	case h.key.Version == "":
		return fmt.Sprintf("The cluster's version could not be read %s; calls are checked by the API of %s, the newest known here.", why, h.Schema.Version)
	case h.Origin == schemacache.Old:
		return fmt.Sprintf("The API schema that this cluster (%s) serves could not be used %s; calls are checked by the copy of %s.", render.Line(h.key.Version), why, h.Since.Format("2006-01-02"))
	}
	return fmt.Sprintf("The API schema that this cluster (%s) serves could not be used %s; calls are checked by that of %s, which may differ in details.", render.Line(h.key.Version), why, h.Schema.Version)
}

// brief gives the first line of an error, not too long.
func brief(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	text := []rune(render.Line(first))
	if len(text) > 160 {
		return string(text[:160]) + "…"
	}
	return string(text)
}

// tell gives the warning that belongs to a schema, unless the last answer that
// had one had the same.
func (k *clusterSchema) tell(h *heldSchema) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.warning == "" {
		if h == k.held {
			k.told = "" // all is well again; a later trouble is told anew
		}
		return ""
	}
	if h.warning == k.told {
		return ""
	}
	k.told = h.warning
	return h.warning
}

// doubt notes that the cluster and the schema in use do not agree, so that the
// next need asks the cluster; not more often than the version is read anyway.
func (k *clusterSchema) doubt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if k.held == nil || !k.renewed.IsZero() && now.Sub(k.renewed) < versionAge {
		return
	}
	k.renewed = now
	doubted := *k.held
	doubted.doubted, doubted.until = true, now
	k.held = &doubted
}

// another gives the schema to try again with, when a call is not in the one
// that it was checked by and that one has not been looked at just now; nil when
// there is no other.
func (k *clusterSchema) another(ctx context.Context, h *heldSchema) *heldSchema {
	k.mu.Lock()
	now := k.now()
	doubted := h.Origin.Own() && now.Sub(h.Since) >= fileAge && (k.renewed.IsZero() || now.Sub(k.renewed) >= versionAge)
	if k.held == h && (doubted || now.Sub(h.asked) >= doubtAfter) {
		expired := *h
		expired.until, expired.doubted = now, doubted
		if doubted {
			k.renewed = now
		}
		k.held = &expired
	}
	k.mu.Unlock()
	next, err := k.get(ctx)
	if err != nil || next.Schema == h.Schema {
		return nil
	}
	return next
}

// distrust drops a schema of which a part turned out to be unreadable.
func (k *clusterSchema) distrust(h *heldSchema, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil || k.held.Schema != h.Schema || h.Origin == schemacache.Snapshot {
		return
	}
	k.held = k.standIn(h.key, err, retryAfter)
	k.log.Warn("the cluster's own schema can't be used", "version", h.key.Version, "error", err)
}
