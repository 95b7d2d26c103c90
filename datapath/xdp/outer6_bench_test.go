package xdp

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// BenchmarkOuterHeaderCreation is a downlink packet that gets an outer header
// over IPv4, and over IPv6 with a UDP checksum, by octets of UDP payload.
func BenchmarkOuterHeaderCreation(b *testing.B) {
	gnb4 := conformance.GNBAddress.As4()
	for _, payload := range []int{64, 512, 1400} {
		_, down := conformance.BenchFramesOf(payload)
		for _, outer := range []struct {
			name string
			to   *api.OuterHeaderCreation
		}{
			{"ipv4", &api.OuterHeaderCreation{Teid: 1, Ipv4: binary.BigEndian.Uint32(gnb4[:])}},
			{"ipv6", &api.OuterHeaderCreation{Teid: 1, Ipv6: conformance.GNBAddress6.AsSlice()}},
		} {
			b.Run(fmt.Sprintf("%s/payload=%d", outer.name, payload), func(b *testing.B) {
				bed := openBed(b, 64)
				s := benchSession(0, 0)
				s.Rules[1].Forward.OuterHeaderCreation = outer.to
				if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
					b.Fatal(err)
				}
				measure(b, bed.objs.UpfN6Xdp, harness.Packet{
					Frame: down, Sessions: 1, AddressAt: downAddressAt, TEID: benchTEID, Address: benchAddress,
				})
			})
		}
	}
}
