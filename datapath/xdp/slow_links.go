package xdp

import (
	"cmp"
	"crypto/rand"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// newSecret returns what makes sequence numbers of ours hard to guess.
func newSecret() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: package crypto/rand
	return b
}

// slowLinks is what the slow path knows of the devices. The driver's lock is
// held.
type slowLinks struct{ *slowPath }

// MTU implements [stages.Links].
func (l slowLinks) MTU(r *stages.Rule, to netip.Addr) int {
	p := l.d.ports
	if r.Outer == nil {
		return l.d.mtu(r.Way, to)
	}
	for i := range p.gtpu {
		if e := &p.gtpu[i]; e.Address == r.Outer.Local || e.Address6 == r.Outer.Local {
			return cmp.Or(l.d.hops.mtu(hopKey{i, r.Outer.Peer}), e.mtu)
		}
	}
	return p.n6[0].mtu
}

// Has implements [stages.Hosts].
func (l slowLinks) Has(a netip.Addr) bool { return l.host.Has(a) }

// Router implements [stages.Links]: the first global address of N6.
func (l slowLinks) Router(v6 bool) netip.Addr { return l.host.Router(v6) }
