//go:build !race

package rules

// raceEnabled: with the race detector sync.Pool forgets now and then.
const raceEnabled = false
