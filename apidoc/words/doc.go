// Package words finds API methods by the words people use for them.
//
// It exists because Proxmox's own descriptions can't be shipped, and would not
// serve anyway: someone who wants "a bigger disk" or asks "who may log in" does
// not know that the methods are called resize and users. So every method of
// Proxmox VE 9.2 has one line here, written for this purpose: a summary of at
// most 80 characters and the other words by which an administrator may ask for
// it. The search over them is small enough to be built on the first question
// and to live in memory without being felt.
//
// # The file
//
// words.tsv holds a line a method, sorted by path and then verb:
//
//	VERB /path<TAB>summary<TAB>keywords…
//
// The first keyword may be a mark that moves the line up or down:
//
//	!common    most people who use these words mean this
//	!index     the method only lists the names of the branches below it
//	!internal  Proxmox's parts call it for each other
//	!old       something newer takes its place
package words
