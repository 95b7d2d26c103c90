//go:build race

package privilege

// usesCgo: the race detector is C.
const usesCgo = true
