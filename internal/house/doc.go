// Package house holds the rules of the tree as tests: which package may import
// which, that every package says why it exists, that generated code is fresh.
//
// It exists because rules that nothing checks are forgotten by the third change.
package house
