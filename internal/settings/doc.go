// Package settings reads what a user has configured.
//
// It exists so that every setting is declared once: one table gives the
// parsing, the errors, the help text and the documentation, so they can't
// drift apart. Its rule is that a value which is not known is an error at
// start, never a guess: a server that looks after machines must not run with
// half of what its owner meant.
//
// Settings come from the process environment, and from one env file where
// the environment doesn't say (see [Load]).
package settings
