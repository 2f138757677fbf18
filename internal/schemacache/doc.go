// Package schemacache decides which schema a cluster's calls are checked by,
// and keeps the schemas of clusters on disk.
//
// It exists because a call that one version of Proxmox takes is refused by
// another: a check is right only by the schema of the cluster that gets the
// call. Every node serves that schema as a file of 4 MB, too much to fetch each
// time a program starts, and not always to be had in one piece. So the file is
// kept under the version it is of, and where none can be had, something near to
// it stands in: an older file of the same version, or one of the snapshots that
// package apidoc carries, with a warning that says so.
//
// The file is foreign text. It is bounded, parsed and never executed; what is
// no schema of Proxmox VE is neither used nor kept. It is kept as it came, prose
// included, because reading it whole costs no more than 20 ms and taking it
// apart for keeping would cost more than that.
package schemacache
