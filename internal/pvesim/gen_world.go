package pvesim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pvemcp/apidoc"
)

// GeneratedEpoch is the moment for which [Generate] makes its worlds: a Monday
// morning, in UTC.
var GeneratedEpoch = time.Date(2026, 11, 30, 8, 30, 0, 0, time.UTC)

// Generate makes a world of that many nodes and guests. The same numbers give
// the same world, whose clock starts at [GeneratedEpoch]; to have it look like
// the present, use [GenerateAt]. Numbers below 1 node or 0 guests are raised
// to these; 64 nodes with 20,000 guests take less than a second.
func Generate(nodes, guests, seed int) *World {
	return GenerateAt(GeneratedEpoch, nodes, guests, seed)
}

// GenerateAt is [Generate] for another moment: ages of backups, tasks and
// certificates count from there.
func GenerateAt(epoch time.Time, nodes, guests, seed int) *World {
	nodes, guests = max(nodes, 1), max(guests, 0)
	w := NewWorld(epoch.UTC(), uint64(seed))
	g := &generator{World: w, now: w.Epoch.Unix(), rooms: map[apidoc.Node]int64{}}
	g.nodes(g.stream("nodes"), nodes, guests)
	g.storages(g.stream("storages"))
	g.templates(g.stream("templates"))
	g.guestsOf(g.stream("guests"), guests)
	g.cluster(g.stream("cluster"))
	g.backups(g.stream("backups"))
	g.tasks(g.stream("tasks"))
	g.access(g.stream("access"))
	return w
}

// The default size of a world.
const (
	DefaultNodes  = 3
	DefaultGuests = 60
)

// newDefaultWorld is the world of a server that was given none: as of now.
func newDefaultWorld(seed uint64) *World {
	return GenerateAt(time.Now(), DefaultNodes, DefaultGuests, int(seed))
}

// generator is a world being made.
type generator struct {
	*World
	now   int64
	rooms map[apidoc.Node]int64 // memory that is still to be given away
	bases []*Guest              // templates, from which linked clones come
	next  apidoc.VMID
}

// stream gives the chance of one area, so that a change to one area leaves the
// others as they were.
func (g *generator) stream(area string) *rand.Rand {
	h := g.Seed
	for _, c := range area {
		h = mix(h ^ uint64(c))
	}
	return rand.New(rand.NewPCG(h, mix(h)))
}

// oneOf takes one of several.
func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chance is true in p of 100 cases.
func chance(r *rand.Rand, p int) bool { return r.IntN(100) < p }

// mac gives an address in the range that Proxmox uses by default.
func mac(r *rand.Rand) string {
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", r.IntN(256), r.IntN(256), r.IntN(256))
}

// uuid gives a random one of version 4.
func uuid(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(3<<62) | 1<<63
	text := make([]byte, 0, 36)
	for i, v := range [...]uint64{a, b} {
		for shift := 60; shift >= 0; shift -= 4 {
			text = append(text, "0123456789abcdef"[v>>shift&15])
			if at := i*64 + 60 - shift; at == 28 || at == 44 || at == 60 || at == 76 {
				text = append(text, '-')
			}
		}
	}
	return string(text)
}

// hex of n digits.
func hexOf(r *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[r.IntN(16)]
	}
	return string(b)
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
	tib = int64(1) << 40

	hour = int64(3600)
	day  = 24 * hour
)
