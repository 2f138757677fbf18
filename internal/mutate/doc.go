// Mutate proves that the tests hold what keeps a cluster safe. A test that
// passes shows only that it passes; whether it would notice a gate that stands
// open is seen when the gate is broken on purpose.
//
// breakages.toml lists breakages of the code, each with what it would mean for
// a user and the tests that must notice it. For each one the program compiles
// the code with that one change, by an overlay, so that no file of the tree is
// touched, and runs the named tests:
//
//	go run ./internal/mutate              # all of them; also make mutate
//	go run ./internal/mutate -only NAME   # one or several, separated by commas
//	go run ./internal/mutate -list        # what there is
//
// A breakage counts only when a test fails by it. It is a fault, and the exit
// code 1, when no test fails (the property is not held by any of them), when
// the code to break is no longer there exactly once, when the broken code does
// not compile or runs into the time-out, and when a named test does not pass on
// the code as it is.
package main
