// Package audit keeps the log of changes: an append-only file of JSON lines in
// which each line holds the hash of the one before.
//
// It exists because who lets an agent change a cluster wants to know afterwards
// what was changed, by whom and why, and wants to see when somebody has edited
// that record. It knows nothing of Proxmox; package gate decides what is logged.
//
// A change has two lines. The intent is on the disk before the call is made; a
// change whose intent can't be logged must not be made. The outcome follows
// with the answer. An intent without an outcome is a change that nobody knows
// the end of: the process died in between.
//
// The hash of a line is SHA-256, or HMAC-SHA-256 with a key, over the text of
// the line before its own hash; the previous line's hash is part of that text.
// Beside the log stands an anchor (the log's path with ".anchor"): how many
// lines there are and the last hash, so that lines cut off at the end are
// missed. Before a line is written, the anchor tells which one is coming, so
// that after a crash exactly two states are sound: with it and without it.
// A line that a crash left half written is never removed: it stays as it is,
// and the next append puts a repair line behind it that tells its length and
// hash.
//
// What this can't do: without a key, whoever may write both files can compute
// a new chain; with the key elsewhere than on that machine, they can't. And
// whoever replaces both files by older copies of themselves is found out only
// by a note of the head kept elsewhere ([Report.Head]).
//
// Several processes may write to one log; a lock file (".lock") puts them in
// order. The log is not rotated: to begin a new one, stop the servers and move
// log and anchor away together.
package audit
