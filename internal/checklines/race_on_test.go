//go:build race

package checklines

// patience stretches limits of time under the race detector.
const patience = 20
