//go:build !race

package privilege

const usesCgo = false
