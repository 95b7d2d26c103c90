//go:build !race

package n4

// raceEnabled: the race detector makes everything ten times slower.
const raceEnabled = false
