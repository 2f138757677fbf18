// Package apidoc holds Proxmox VE's API as data.
//
// It exists because everything else here is derived from one source: the
// schema that Proxmox publishes about itself (apidoc.js on every node). The
// package reads that file in every form in which it is published, without
// ever running it as JavaScript; models nodes, methods, parameters, results
// and permissions; finds the method that a verb and a path mean; and carries
// snapshots of several versions so that a client knows the API before it has
// spoken to a cluster.
//
// Reading is lazy: [Parse] checks the text and notes where each method
// stands, [Schema.Lookup] walks the tree, and only the method that is asked
// for is decoded ([Endpoint.Method]).
//
// The package imports nothing of this project, so that the generator, the
// client, the tools and the embedded cluster may all share it.
package apidoc
