package dut

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Place is where a UPF is put, or is. For an External kind Namespace is the one in
// which the lab's own sockets are; nil is this process's.
type Place struct {
	Namespace    *topology.Namespace
	N4UPF, N4SMF netip.Addr    // IPv4
	N3, N6       topology.Link // devices and addresses of the UPF, addresses of its neighbours
	UEPools      []netip.Prefix
	MTU          int // of N3 and N6, in octets

	CPUs     []int // that its processes may run on; empty: any
	Sessions int   // that it is to hold, at most; 0: as many as it holds by default

	// Log gets all that the processes write, beside the end that an [Instance]
	// keeps. It may be nil.
	Log io.Writer
}

// At is the UPF's place in a test bed.
func At(t *topology.Topology) Place {
	return Place{
		Namespace: t.UPF, N4UPF: t.Config.N4UPF, N4SMF: t.Config.N4SMF, N3: t.N3, N6: t.N6,
		UEPools: t.Config.UEPools, MTU: t.Config.MTU,
	}
}

// do runs f in the namespace.
func (p *Place) do(f func() error) error {
	if p.Namespace == nil {
		return f()
	}
	return p.Namespace.Do(f)
}

// pool is the first UE pool of IPv4.
func (p *Place) pool() (netip.Prefix, error) {
	for _, pool := range p.UEPools {
		if pool.Addr().Is4() {
			return pool.Masked(), nil
		}
	}
	return netip.Prefix{}, errors.New("dut: the place has no UE pool of IPv4")
}

// pool6 is the first UE pool of IPv6; zero: none.
func (p *Place) pool6() netip.Prefix {
	for _, pool := range p.UEPools {
		if pool.Addr().Is6() {
			return pool.Masked()
		}
	}
	return netip.Prefix{}
}

// firstTEID is the TEID of session 0 on both ends of the tunnels: not 0.
const firstTEID = 1

// Template is what the sessions of k at p have in common, as k needs to be told:
// all but the rules, of which there are a PDR and a FAR for each direction. UE
// addresses are those after the first pool's own.
func (k *Kind) Template(p *Place) (n4load.Template, error) {
	pool, err := p.pool()
	if err != nil {
		return n4load.Template{}, err
	}
	if !p.N3.Peer.Address.IsValid() || !p.N3.UPF.Address.IsValid() {
		return n4load.Template{}, fmt.Errorf("dut: N3 of %v and %v: both ends must have an address", p.N3.UPF.Address, p.N3.Peer.Address)
	}
	t := n4load.Template{
		UE:  pool.Addr().Next(), // the network's own address is nobody's
		GNB: p.N3.Peer.Address.Addr(), DLTEID: firstTEID, Dialect: k.Dialect,
	}
	if k.Dialect.CPFTEID {
		t.N3, t.ULTEID = p.N3.UPF.Address.Addr(), firstTEID
	}
	return t, nil
}
