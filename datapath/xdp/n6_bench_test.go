package xdp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// BenchmarkN6 is what the side of N6 costs: the common session, where nothing of
// it is configured, where another data network has a NAT and an MSS clamp, where
// its own one clamps, and through the NAT. UDP of 64 octets.
func BenchmarkN6(b *testing.B) {
	for _, c := range []struct {
		name    string
		network string
		plain   bool // nothing is configured anywhere
		noNAT   bool
	}{
		{"plain", "internet", true, false}, {"beside", "internet", false, false}, {"clamp", "nat", false, true}, {"nat", "nat", false, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			bed := openBed(b, 64)
			apply1(b, bed, c.network)
			bed.arriveOn(b, bed.named(c.network).index)
			if c.plain {
				plainN6(b, bed)
			}
			if c.noNAT {
				bed.way(bed.named(c.network).index + 1).Flags &^= n6NAT
			}
			up, down := conformance.BenchFrames()
			binary.BigEndian.PutUint32(up[upAddressAt:], benchAddress)
			binary.BigEndian.PutUint32(up[upTEIDAt:], benchTEID)
			address := uint32(benchAddress)
			if c.name == "nat" {
				address = natted(b, bed, up, down)
			}
			b.Run("uplink", func(b *testing.B) {
				measure(b, bed.objs.UpfGtpuXdp, harness.Packet{Frame: up, Sessions: 1, TEIDAt: upTEIDAt, AddressAt: upAddressAt, TEID: benchTEID, Address: benchAddress})
			})
			b.Run("downlink", func(b *testing.B) {
				measure(b, bed.objs.UpfN6Xdp, harness.Packet{Frame: down, Sessions: 1, AddressAt: downAddressAt, Address: address})
			})
		})
	}
}

func apply1(b *testing.B, bed *bed, network string) {
	b.Helper()
	s := inNetwork(0, network, "")
	if err := bed.Apply(b.Context(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		b.Fatal(err)
	}
}

// natted makes the mapping of the packets and sends the downlink one to it. It
// returns the address outside.
func natted(b *testing.B, bed *bed, up, down []byte) uint32 {
	b.Helper()
	bed.Frame(b, conformance.N3, bytes.Clone(up))
	got := bed.Frame(b, conformance.N3, bytes.Clone(up))
	if got.Reason != datapath.ReasonNone || got.Ethernet == nil {
		b.Fatalf("no mapping: %+v", got)
	}
	const portAt = downAddressAt + 4 + 2
	copy(down[portAt:], got.Packet[20:22])
	return binary.BigEndian.Uint32(got.Packet[12:])
}
