// Package probetest has what a probe is verified with: a UPF that says of every packet
// when it took it and when it let it go, traffic of all kinds, and a judge.
//
//	Sender ──N3──► Forwarder ──N6──►     uplink: TEID First + n of packet n
//	       ◄─────            ◄─────      downlink: the Forwarder gives packet n the TEID First + n
//	                  │
//	                  └─► Record of each packet ─► Judge ◄─ probe.Sample of each packet
//
// A TEID of its own tells each packet from all others, outside of what the probe knows it
// by. So the [Judge] knows of each sample which packet the probe saw at N3, and from the
// times which one it saw at N6: no sample of two packets is taken for one.
//
// The Forwarder drops, holds back, doubles and translates packets as it is told ([Harm]).
// It is slow, and has no sessions.
package probetest

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// Harm is what becomes of packets of one direction beside being forwarded: of every n-th
// one, counted from 1; 0: of none. A packet that is due for several is dropped rather
// than held, and held rather than doubled.
type Harm struct {
	Drop   int // is dropped
	Hold   int // leaves after For others that came later, or when nothing comes any more
	For    int
	Double int // leaves twice
}

// Config describes a Forwarder.
type Config struct {
	// N3 and N6 are the links of a forwarder of frames, as a UPF on packet sockets is.
	N3, N6 Wire

	// TUN is the device that a forwarder of packets makes in place of N6. It then has a
	// UDP socket at N3's addresses, and leaves all else to the kernel.
	TUN   string
	Pools []netip.Prefix // of UEs, routed to the device
	// Merge writes TCP segments and UDP datagrams of a flow to the TUN device in
	// super-packets, if they have come one behind the other.
	Merge bool

	Uplink, Downlink Harm
	NAT              *NAT
	First            uint32 // TEID of the first downlink packet
}

// Forwarder is the UPF.
type Forwarder struct {
	config Config
	planes []*plane
	ends   []end
	shut   atomic.Bool
	closed sync.WaitGroup // planes
}

// Open starts a forwarder in the network namespace of the calling thread.
func Open(c Config) (*Forwarder, error) {
	f := &Forwarder{config: c}
	n3, n6, err := f.open()
	if err != nil {
		return nil, fmt.Errorf("probetest: forwarder: %w", errors.Join(err, f.Close()))
	}
	up := &plane{forwarder: f, harm: c.Uplink, in: n3, out: n6}
	down := &plane{forwarder: f, harm: c.Downlink, in: n6, out: n3, downlink: true, teid: c.First}
	f.planes = []*plane{up, down}
	for _, p := range f.planes {
		f.closed.Go(p.run)
	}
	return f, nil
}

func (f *Forwarder) open() (n3, n6 end, err error) {
	c := &f.config
	if c.TUN == "" {
		n3, err = f.keep(openFrames(c.N3))
		if err == nil {
			n6, err = f.keep(openFrames(c.N6))
		}
		return n3, n6, err
	}
	n3, err = f.keep(openSocket(c.N3.From, c.N3.To))
	if err == nil {
		n6, err = f.keep(openTUN(c.TUN, c.Pools))
	}
	return n3, n6, err
}

func (f *Forwarder) keep(e end, err error) (end, error) {
	if err == nil {
		f.ends = append(f.ends, e)
	}
	return e, err
}

// Close ends it. What it holds is lost.
func (f *Forwarder) Close() error {
	f.shut.Store(true)
	f.closed.Wait()
	var errs []error
	for _, p := range f.planes {
		errs = append(errs, p.err)
	}
	for _, e := range f.ends {
		errs = append(errs, unix.Close(e.fd()))
	}
	f.ends, f.planes = nil, nil
	return errors.Join(errs...)
}

// Stop has packets of both directions held until [Forwarder.Go].
func (f *Forwarder) Stop() { f.gate(true) }

// Go lets held packets leave, in the order in which they came.
func (f *Forwarder) Go() { f.gate(false) }

func (f *Forwarder) gate(stopped bool) {
	for _, p := range f.planes {
		p.stopped.Store(stopped)
	}
}

// Uplink returns the records of uplink packets so far, in the order in which they came.
func (f *Forwarder) Uplink() []Record { return f.planes[0].records() }

// Downlink is the same of downlink packets.
func (f *Forwarder) Downlink() []Record { return f.planes[1].records() }

// parse returns the TEID and the user packet of a G-PDU; false: it is something else.
func parse(b []byte) (teid uint32, packet []byte, ok bool) {
	h, err := gtpu.Parse(b)
	if err != nil || h.Type() != gtpu.GPDU || len(b) == len(h) {
		return 0, nil, false
	}
	return h.TEID(), b[len(h):], true
}
