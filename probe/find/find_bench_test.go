package find_test

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/probe/find"
)

// BenchmarkFind looks at the whole machine, as Watch does every two seconds.
func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, err := find.Find(b.Context(), find.Selector{Auto: true}); err != nil && !errors.Is(err, find.ErrNone) {
			b.Fatal(err)
		}
	}
}
