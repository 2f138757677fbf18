package pvesim

import (
	"time"

	"pvemcp/apidoc"
)

// Options say what a simulated cluster is like. The zero value listens on a
// free loopback port without TLS and answers by the newest schema with the
// default world.
type Options struct {
	// Listen is a loopback address with port; "" is 127.0.0.1:0. Any other
	// address is refused: the cluster has no protection against the world.
	Listen string
	// TLS serves HTTPS with a certificate made at start.
	TLS bool
	// Schema decides about routes, permissions and parameters; nil is the
	// newest snapshot of package apidoc.
	Schema *apidoc.Schema
	// World is what the cluster consists of; nil generates one from Seed.
	World *World
	// Seed makes two clusters alike, in their world and in their whims.
	Seed uint64
	// CheckOnly answers every call that passes routing and parameter check
	// with data: null, whoever calls.
	CheckOnly bool
	// Clock gives the time; nil is time.Now.
	Clock func() time.Time
	// NoAuthDelay leaves out the three seconds that Proxmox waits before a 401.
	NoAuthDelay bool
	// OldErrors leaves the member "message" out of error bodies, as servers
	// before 2025 do: the text stands in the reason phrase alone.
	OldErrors bool
}

/* What the other files of this package owe to the server and may expect of it.

World (world.go) has at least

	type World struct {
		mu     sync.RWMutex // held by the server while a handler runs: RLock for GET, else Lock
		access *Access      // acl.go: users, groups, tokens, roles, ACL, realms; NewAccess() has the built-in roles, root@pam and the realms pam and pve
		…
	}
	func newDefaultWorld(seed uint64) *World                   // for Options.World == nil
	func (w *World) localNode() string                         // the node whose pveproxy answers
	func (w *World) nodeState(name string) (known, online bool)// for the hand-over: unknown 500, offline 595
	func (w *World) poolOf(path string) string                 // pool of "/vms/100" or "/storage/x", "" if none: ACLs of pools

A call to /nodes/NODE/… whose method has proxyto: node reaches its handler only
when NODE is online.
*/
