// Package pvesim is a Proxmox VE cluster that lives in this process: a real
// HTTP(S) server on loopback that answers as Proxmox does, down to the reason
// phrase, the headers and the moment at which a connection is closed.
//
// It exists because nobody can be asked to own a cluster in order to build or
// try this product, and because a mock that answers what its author expects
// proves nothing. So it is made from the other end: routes, permissions and
// parameter checks come from Proxmox's own schema (package apidoc), wire
// behaviour from exchanges recorded with the real programs, and the world
// behind it (nodes, guests, storages, tasks, users) is one consistent whole
// that is generated from a seed or read from a file.
//
// Reading order: server.go (options, listening), http_*.go (the protocol),
// route.go (what happens to one request, in Proxmox's order), auth*.go and
// acl.go (who may), call.go (what a handler gets), fault.go (what a test can
// break), control.go (/__sim/…), world*.go and answer_*.go (the cluster and
// what it says), live_task.go (how a change takes time) and the other live_*.go
// (what can be changed).
//
// Texts that stand in error answers here are what Proxmox sends; clients match
// on them, so they are facts of the protocol.
package pvesim
