package probe

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUsual changes each octet of the headers of a usual frame at N3, which programs read at
// one go: it is to them what it is with a VLAN tag, with which they step from header to
// header.
func TestUsual(t *testing.T) {
	user := udp(ueAddr, hostAddr, numbered(1, 60))
	for _, at := range []Point{n3In, n3Out} {
		f := onN3(at.Way, gpdu(7, 9, user))
		headers := len(f) - len(user)
		usual, tagged := newUsualRig(t), newUsualRig(t)
		for octet := 14; octet < headers; octet++ {
			for _, change := range []byte{0, 1, 4, 0x10, 0x20, 0x40, 0x80, 0xff} {
				f := slices.Clone(f)
				f[octet] ^= change
				usual.pass(at, f)
				tagged.pass(at, slices.Concat(f[:12], []byte{0x81, 0, 0, 5}, f[12:]))
			}
			if diff := cmp.Diff(tagged.seen(at), usual.seen(at)); diff != "" {
				t.Fatalf("%v, octet %d: with a tag, and without one (-want +got):\n%s", at, octet, diff)
			}
		}
	}
}

// newUsualRig knows slices by TEID and QFI.
func newUsualRig(t *testing.T) *rig {
	r := newRig(t, Config{})
	for _, k := range []Key{{TEID: 7}, {TEID: 6, QFI: 0}, {QFI: 9}, {QFI: 8}} {
		if err := r.Learn(0, k, Slice{Name: fmt.Sprint(k)}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// seen is what was counted at a point, and of which series.
func (r *rig) seen(at Point) []any {
	s := r.snapshot()
	all := []any{s.at(at)}
	for _, x := range s.Series {
		all = append(all, fmt.Sprintf("%q %v %+v", x.Slice, x.Direction, x.Account))
	}
	return all
}
