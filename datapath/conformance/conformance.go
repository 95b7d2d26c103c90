// Package conformance is the test that every datapath passes: one table of
// packets and one of session scripts, with whole frames, reasons and counters
// stated in the rows. The model runs through the same tables, so that a row
// that is wrong cannot be right by agreement.
//
// To add a case, add a row to packets.go or scripts.go.
package conformance

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumbline/api"
	"plumbline/datapath"
)

// Port is where a frame arrives or leaves.
type Port int

// The ports of a UPF.
const (
	N3 Port = iota
	N6
)

// Addresses of the bed that every datapath under test stands in.
var (
	N3Address   = netip.MustParseAddr("10.3.0.1")
	GNBAddress  = netip.MustParseAddr("10.3.0.2")
	GNBAddress2 = netip.MustParseAddr("10.3.0.3")
	// Gateway6 and Gateway are the next hops of all user packets that are not
	// on-link; Neighbour is on-link on N6, Missing is on-link and not there.
	Gateway      = netip.MustParseAddr("10.6.0.2")
	Gateway6     = netip.MustParseAddr("2001:db8:6::2")
	Neighbour    = netip.MustParseAddr("10.6.0.9")
	Missing      = netip.MustParseAddr("10.6.0.77")
	Neighbour6   = netip.MustParseAddr("2001:db8:6::9")
	OnlinkPrefix = netip.MustParsePrefix("10.6.0.0/24")
	Onlink6      = netip.MustParsePrefix("2001:db8:6::/64")

	N3MAC         = [6]byte{2, 0, 0, 3, 0, 1}
	N6MAC         = [6]byte{2, 0, 0, 6, 0, 1}
	GNBMAC        = [6]byte{2, 0, 0, 3, 0, 2}
	GNBMAC2       = [6]byte{2, 0, 0, 3, 0, 3}
	GatewayMAC    = [6]byte{2, 0, 0, 6, 0, 2}
	NeighbourMAC  = [6]byte{2, 0, 0, 6, 0, 9}
	NeighbourMAC6 = [6]byte{2, 0, 0, 6, 6, 9}
)

// MTU of both devices, in octets of IP packet.
const MTU = 1500

// MaxSessions is the capacity of the datapath under test.
const MaxSessions = 64

// Outcome is what a datapath made of a frame.
type Outcome struct {
	Reason datapath.Reason // ReasonNone: sent
	Packet []byte          // from the IP header on
	// Ethernet is the header in front of Packet; empty where the datapath left
	// it to the kernel (the slow path) or has none (the model).
	Ethernet []byte
}

// Datapath is a datapath under test, in the bed described above.
type Datapath interface {
	datapath.Driver
	// Frame lets a frame arrive. A datapath that counts must have moved one
	// counter, that of the reason, or none if the frame was sent.
	Frame(t testing.TB, port Port, frame []byte) Outcome
}

// Kind says what can be asked of the datapath under test.
type Kind struct {
	// Fast: what is not marked slow leaves with the right Ethernet header.
	Fast bool
	// OneDevice: N3 and N6 are the same device.
	OneDevice bool
}

// Run runs all cases: the packets on one datapath, each script on one of its own.
func Run(t *testing.T, kind Kind, open func(t *testing.T) Datapath) {
	t.Run("packets", func(t *testing.T) {
		d := open(t)
		for _, s := range sessions() {
			mustApply(t, d, s)
		}
		for _, p := range packets {
			if kind.OneDevice && p.split {
				continue
			}
			t.Run(p.name, func(t *testing.T) { p.run(t, d, kind.Fast) })
		}
	})
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			d := open(t)
			for _, step := range s.steps {
				step(t, d, kind.Fast)
			}
		})
	}
}

func mustApply(t *testing.T, d Datapath, s *api.Session) {
	t.Helper()
	if err := d.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatalf("apply session %d: %v", s.GetSeid(), err)
	}
}

// packet is a row: one frame in, and all that must come of it.
type packet struct {
	name   string
	port   Port
	in     []byte
	want   []byte // the whole frame out; nil: none
	reason datapath.Reason
	seid   uint64 // whose counters move; 0: nobody's
	pdr    uint32
	octets uint64 // counted as forwarded; with a drop reason one packet is counted as dropped
	slow   bool   // leaves through the kernel, which makes the Ethernet header
	split  bool   // holds only where N3 and N6 are separate devices
}

func (p packet) run(t *testing.T, d Datapath, fast bool) {
	t.Helper()
	before := usage(t, d)
	got := d.Frame(t, p.port, bytes.Clone(p.in))
	p.compare(t, got, fast)

	want := before
	if p.seid != 0 {
		u := want[p.seid][p.pdr]
		if p.reason == datapath.ReasonNone {
			u.Packets, u.Octets = u.Packets+1, u.Octets+p.octets
		} else {
			u.Dropped++
		}
		want[p.seid][p.pdr] = u
	}
	if diff := cmp.Diff(want, usage(t, d)); diff != "" {
		t.Errorf("counters of rules (-want +got):\n%s", diff)
	}
}

func (p packet) compare(t *testing.T, got Outcome, fast bool) {
	t.Helper()
	if got.Reason != p.reason {
		t.Errorf("reason %v, want %v", got.Reason, p.reason)
	}
	if p.want == nil {
		if got.Packet != nil {
			t.Errorf("sent %x, want nothing", got.Packet)
		}
		return
	}
	const ethernet = 14
	if !bytes.Equal(got.Packet, p.want[ethernet:]) {
		t.Errorf("packet\n got %s\nwant %s", hex.Dump(got.Packet), hex.Dump(p.want[ethernet:]))
	}
	if fast && !p.slow && !bytes.Equal(got.Ethernet, p.want[:ethernet]) {
		t.Errorf("Ethernet header %x, want %x", got.Ethernet, p.want[:ethernet])
	}
	if fast && p.slow && got.Ethernet != nil {
		t.Errorf("took the fast path, want the slow one")
	}
}

// Sessions returns those of the packet table, and Frames its frames: seeds for
// tests that compare a datapath with the model on frames of their own.
func Sessions() []*api.Session { return sessions() }

// Frames returns the frames of the packet table that arrive on port.
func Frames(port Port) [][]byte {
	var frames [][]byte
	for _, p := range packets {
		if p.port == port {
			frames = append(frames, p.in)
		}
	}
	return frames
}

type counters struct{ Packets, Octets, Dropped uint64 }

// usage returns the counters of all rules by SEID and PDR ID.
func usage(t *testing.T, d Datapath) map[uint64]map[uint32]counters {
	t.Helper()
	all := map[uint64]map[uint32]counters{}
	for seid := uint64(1); seid <= MaxSessions; seid++ {
		us, err := d.Usage(seid)
		if errors.Is(err, datapath.ErrNoSession) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all[seid] = map[uint32]counters{}
		for _, u := range us.GetRules() {
			all[seid][u.GetPdrId()] = counters{u.GetPackets(), u.GetOctets(), u.GetDroppedPackets()}
		}
	}
	return all
}
