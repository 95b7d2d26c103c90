// Package conformance is the test that every datapath passes: one table of
// packets and one of session scripts, with whole frames, reasons and counters
// stated in the rows. The model runs through the same tables, so that a row
// that is wrong cannot be right by agreement.
//
// To add a case, add a row to packets.go or scripts.go.
package conformance

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Port is where a frame arrives or leaves.
type Port int

// The ports of a UPF.
const (
	N3 Port = iota
	N6
	N6Corp // of the second data network
	N6NAT  // of the third one, which has a NAT and an MSS clamp
	N6LAN  // of the fourth one, an Ethernet data network
)

// The bed that every datapath under test stands in:
//
//	gNBs 10.3.0.2, .3 ─┐                      ┌─ 10.6.0.2 gateway, 10.6.0.9 neighbour
//	2001:db8:3::2      ├─ n3 ─ UPF ─ N6 device ┤  2001:db8:6::2, ::9
//	UPF 10.9.0.2 ──────┴─ n9                  └─
//
// Frames for n3 and n9 both arrive at port N3: the address says where they go.
// Beside N6 there is a second data network, "corp", on a device of its own, with
// the same addresses as the first.
var (
	N3Address   = netip.MustParseAddr("10.3.0.1")
	N3Address6  = netip.MustParseAddr("2001:db8:3::1")
	N9Address   = netip.MustParseAddr("10.9.0.1")
	GNBAddress  = netip.MustParseAddr("10.3.0.2")
	GNBAddress2 = netip.MustParseAddr("10.3.0.3")
	GNBAddress6 = netip.MustParseAddr("2001:db8:3::2")
	PeerAddress = netip.MustParseAddr("10.9.0.2") // a UPF on N9
	// Gateway6 and Gateway are the next hops of all user packets that are not
	// on-link; Neighbour is on-link on N6, Missing is on-link and not there.
	Gateway    = netip.MustParseAddr("10.6.0.2")
	Gateway6   = netip.MustParseAddr("2001:db8:6::2")
	Neighbour  = netip.MustParseAddr("10.6.0.9")
	Missing    = netip.MustParseAddr("10.6.0.77")
	Neighbour6 = netip.MustParseAddr("2001:db8:6::9")
	N6Address  = netip.MustParseAddr("10.6.0.1") // the UPF's, from which its ICMP errors come
	N6Address6 = netip.MustParseAddr("2001:db8:6::1")
	// HostAddresses are all that the UPF's host has, to which no user packet goes.
	HostAddresses = []netip.Addr{N3Address, N3Address6, N9Address, N6Address, N6Address6}
	OnlinkPrefix  = netip.MustParsePrefix("10.6.0.0/24")
	Onlink6       = netip.MustParsePrefix("2001:db8:6::/64")

	N3MAC         = [6]byte{2, 0, 0, 3, 0, 1}
	N9MAC         = [6]byte{2, 0, 0, 9, 0, 1}
	N6MAC         = [6]byte{2, 0, 0, 6, 0, 1}
	GNBMAC        = [6]byte{2, 0, 0, 3, 0, 2}
	GNBMAC2       = [6]byte{2, 0, 0, 3, 0, 3}
	PeerMAC       = [6]byte{2, 0, 0, 9, 0, 2}
	GatewayMAC    = [6]byte{2, 0, 0, 6, 0, 2}
	NeighbourMAC  = [6]byte{2, 0, 0, 6, 0, 9}
	NeighbourMAC6 = [6]byte{2, 0, 0, 6, 6, 9}

	CorpMAC        = [6]byte{2, 0, 0, 7, 0, 1}
	CorpGatewayMAC = [6]byte{2, 0, 0, 7, 0, 2}
	// Steered is the gateway of the forwarding policy "steered", on N6.
	Steered    = netip.MustParseAddr("10.6.0.66")
	SteeredMAC = [6]byte{2, 0, 0, 6, 0, 66}
)

// DataNetworks are those of the bed.
var DataNetworks = datapath.N6{
	Networks: []datapath.DataNetwork{
		{Name: "internet", NetworkInstances: []string{"internet"}, Device: "n6"},
		{Name: "corp", NetworkInstances: []string{"corp", "corp.example"}, Device: "corp"},
		{
			Name: "nat", NetworkInstances: []string{"nat"}, Device: "nat", MSSClamp: 1300,
			NAT: datapath.DefaultNAT(netip.MustParsePrefix("198.51.100.0/30")),
		},
		{Name: "lan", NetworkInstances: []string{"lan"}, Device: "lan", Ethernet: true},
	},
	Policies: []datapath.ForwardingPolicy{
		{Name: "steered", Gateways: []netip.Addr{Steered}, DSCP: -1},
		{Name: "to-corp", DataNetwork: "corp", DSCP: -1},
	},
}

// Endpoints are those of the bed. N9's is for Network Instance "n9".
var Endpoints = []datapath.Endpoint{
	{Name: "n3", Device: "n3", Address: N3Address, Address6: N3Address6},
	{Name: "n9", Device: "n9", Address: N9Address, NetworkInstances: []string{"n9"}},
}

// MTU of all devices, in octets of IP packet.
const MTU = 1500

// MaxSessions is the capacity of the datapath under test.
const MaxSessions = 64

// Outcome is what a datapath made of a frame.
type Outcome struct {
	Reason datapath.Reason // ReasonNone: sent
	// Several are the reasons of which Reason is one, if the counters of more have moved:
	// what its sender is told may be dropped, too, at an F-TEID of the UPF itself.
	Several []datapath.Reason
	Packet  []byte // from the IP header on; a frame of an Ethernet data network may be whole
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
	// Sent returns the IP packets, in their order, that have left of their own
	// accord since it was last asked: buffered packets, End Markers, answers to
	// GTP-U signalling.
	Sent(t testing.TB) [][]byte
}

// Kind says what can be asked of the datapath under test.
type Kind struct {
	// Fast: what is not marked slow leaves with the right Ethernet header.
	Fast bool
	// OneDevice: N3 and N6 are the same device.
	OneDevice bool
}

// Run runs all cases: the packets on one datapath, the refusals on another, and
// the scripts on others. Where N3 and N6 are one device only the packets
// are different.
func Run(t *testing.T, kind Kind, open func(t *testing.T) Datapath) {
	t.Run("packets", func(t *testing.T) {
		d := open(t)
		settle(t, d)
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
	if kind.OneDevice {
		return
	}
	t.Run("refusals", func(t *testing.T) {
		d := open(t)
		settle(t, d)
		for _, s := range slices.Concat(refusals, n6Refusals) {
			t.Run(s.name, func(t *testing.T) { s.run(t, d, kind.Fast) })
		}
	})
	runScripts(t, kind, open)
}

// runScripts runs each script on a datapath of its own, or all of them on one, if
// it can be shared: but not those that run before Settle, nor what comes behind a
// script that has failed.
func runScripts(t *testing.T, kind Kind, open func(t *testing.T) Datapath) {
	d := open(t)
	for _, s := range scriptsFor(d.Capabilities()) {
		ok := t.Run(s.name, func(t *testing.T) {
			if strings.HasPrefix(s.name, unsettled) {
				s.run(t, open(t), kind.Fast)
				return
			}
			settle(t, d)
			shared, ok := d.(Shared)
			if !ok {
				s.run(t, d, kind.Fast)
				return
			}
			l := lend(t, shared)
			s.run(t, l, kind.Fast)
			l.giveBack(t)
		})
		if _, shared := d.(Shared); !shared || !ok {
			d = open(t)
		}
	}
}

func settle(t *testing.T, d Datapath) {
	t.Helper()
	if err := d.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func mustApply(t *testing.T, d Datapath, s *api.Session) {
	t.Helper()
	if err := d.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatalf("apply session %d: %v", s.GetSeid(), err)
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
