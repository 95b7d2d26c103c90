package xdp

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// BenchmarkLists is a packet from N6 that matches the last of so many PDRs, each
// of which has an SDF filter: of one flow, which the flow cache has where it is
// asked, or of 2^20 flows, which it has not.
func BenchmarkLists(b *testing.B) {
	for _, n := range []uint32{1, 4, 16, 64} {
		for _, flows := range []uint32{1, 1 << 20} {
			b.Run(fmt.Sprintf("pdrs=%d/flows=%d", n, flows), func(b *testing.B) {
				bed := openBed(b, 64)
				s := benchList(n)
				if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
					b.Fatal(err)
				}
				_, down := conformance.BenchFrames()
				binary.BigEndian.PutUint32(down[downAddressAt:], benchAddress)
				measure(b, bed.objs.UpfN6Xdp, harness.Packet{
					Frame: down, Sessions: flows, Random: flows > 1, AddressAt: downAddressAt - 4, Address: 198<<24 | 18<<16,
				})
			})
		}
	}
}

// benchList has n PDRs downlink, of which the last one matches any packet.
func benchList(n uint32) *api.Session {
	peer := conformance.GNBAddress.As4()
	s := benchSession(0, binary.BigEndian.Uint32(peer[:]))
	last := s.Rules[1]
	s.Rules = nil
	for i := range n {
		r := &api.Rule{PdrId: i + 2, Precedence: i, Detect: last.Detect, Forward: last.Forward, QerIds: last.QerIds}
		r.Detect = &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: last.Detect.UeAddress}
		f := &api.Filter{Protocol: new(uint32(17))}
		if i < n-1 {
			f.RemotePorts = []*api.PortRange{{First: 60_000 + i, Last: 60_000 + i}}
		}
		r.Detect.Filters = []*api.Filter{f}
		s.Rules = append(s.Rules, r)
	}
	return s
}

// BenchmarkLimits is a packet from N6 with one to four QERs and a URR: the first
// two meters and one URR are in the rule's cache line, more of them in a list.
func BenchmarkLimits(b *testing.B) {
	for _, c := range []struct {
		name       string
		qers, urrs uint32
		gbr        uint64
	}{
		{"none", 0, 0, 0}, {"qer+urr", 1, 1, 0}, {"2 qers+urr", 2, 1, 0},
		{"3 qers+urr", 3, 1, 0}, {"4 qers+4 urrs", 4, 4, 0}, {"gbr+ambr+urr", 2, 1, 1e12},
	} {
		b.Run(c.name, func(b *testing.B) {
			bed := openBed(b, 64)
			peer := conformance.GNBAddress.As4()
			s := benchSession(0, binary.BigEndian.Uint32(peer[:]))
			for i := range c.qers {
				q := &api.QER{Id: i + 10, DownlinkMbrBps: 1e12}
				if i == 0 {
					q.DownlinkGbrBps = c.gbr
				}
				s.Qers = append(s.Qers, q)
				s.Rules[1].QerIds = append(s.Rules[1].QerIds, q.Id)
			}
			for i := range c.urrs {
				s.Urrs = append(s.Urrs, &api.URR{Id: i + 1, Quota: &api.Volume{Total: 1 << 60}})
				s.Rules[1].UrrIds = append(s.Rules[1].UrrIds, i+1)
			}
			if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
				b.Fatal(err)
			}
			_, down := conformance.BenchFrames()
			measure(b, bed.objs.UpfN6Xdp, harness.Packet{Frame: down, Sessions: 1, AddressAt: downAddressAt, Address: benchAddress})
		})
	}
}

// benchHost is a packet to the UE of the benchmarks.
func benchHost(p hostPacket) []byte {
	frame := p.frame(conformance.N6)
	binary.BigEndian.PutUint32(frame[downAddressAt:], benchAddress)
	return frame
}

// BenchmarkHosts is a packet of TCP from N6 of a flow whose TLS server name is
// known, behind the filters of so many hosts, which are not its own; and the same
// without hosts, of filters for other ports.
func BenchmarkHosts(b *testing.B) {
	for _, n := range []uint32{1, 4, 14, 64} {
		for _, hosts := range []bool{false, true} {
			b.Run(fmt.Sprintf("filters=%d/hosts=%t", n, hosts), func(b *testing.B) {
				bed := openBed(b, 64)
				s := benchList(2)
				s.Rules[0].Detect.Filters, s.Rules[1].Detect.Filters = nil, nil
				for i := range n {
					f := &api.Filter{Protocol: new(uint32(inet.ProtoTCP)), RemotePorts: []*api.PortRange{{First: 60_000 + i, Last: 60_000 + i}}}
					if hosts {
						f = &api.Filter{Host: fmt.Sprintf("host%d.test", i)}
					}
					s.Rules[0].Detect.Filters = append(s.Rules[0].Detect.Filters, f)
				}
				if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
					b.Fatal(err)
				}
				p := hostPacket{protocol: inet.ProtoTCP, port: 443, flags: 0x10, data: string(shortHello)}
				bed.Frame(b, conformance.N6, benchHost(p))
				p.data = string(make([]byte, 64))
				down := benchHost(p)
				measure(b, bed.objs.UpfN6Xdp, harness.Packet{Frame: down, Sessions: 1, AddressAt: downAddressAt, Address: benchAddress})
			})
		}
	}
}
