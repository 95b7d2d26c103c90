package xdp

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestListsAgree gives lists of every length, of random PDRs, to the programs and
// to the model, and random packets through them, some twice so that the flow cache
// has them: both do the same with each.
func TestListsAgree(t *testing.T) {
	for _, n := range []int{1, 5, 17, 64, 200} {
		t.Run(fmt.Sprintf("%d PDRs", n), func(t *testing.T) {
			rng := &listDice{rand.New(rand.NewPCG(uint64(n), 7))}
			b := openBed(t, conformance.MaxSessions)
			m := stages.New(stages.Config{
				Endpoints: conformance.Endpoints, MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses, Now: monotonic, MTU: conformance.MTU,
			})
			for round := range 3 { // a list in place of another
				s := rng.session(max(n-round%2, 1))
				for _, d := range []interface {
					Apply(context.Context, *api.Change) error
				}{b, m} {
					if err := d.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range 200 {
					port, frame := rng.frame()
					for range 1 + i%2 {
						agree(t, b, m, port, frame)
					}
				}
				if diff := cmp.Diff(usageOf(t, m, s), usageOf(t, b, s), protocmp.Transform()); diff != "" {
					t.Fatalf("usage (-model +xdp):\n%s", diff)
				}
			}
			// 200 PDRs are more entries than a list has.
			if list := b.teids.slots[1].Ctl&ruleList != 0; list != (n < 200) {
				t.Errorf("fast path %v", list)
			}
		})
	}
}

func agree(t *testing.T, b *bed, m *stages.UPF, port conformance.Port, frame []byte) {
	t.Helper()
	from := m.FromN6
	if port == conformance.N3 {
		from = m.FromN3
	}
	want, got := from(frame), b.Frame(t, port, bytes.Clone(frame))
	if got.Reason != want.Reason || !bytes.Equal(got.Packet, want.Packet) {
		t.Fatalf("frame %x\nxdp   %v %x\nmodel %v %x", frame, got.Reason, got.Packet, want.Reason, want.Packet)
	}
}

// listDice makes sessions and packets of a few addresses and ports, so that they
// meet.
type listDice struct{ *rand.Rand }

func choose[T any](d *listDice, from ...T) T { return from[d.IntN(len(from))] }

var (
	listUE4, listUE6 = netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("2001:db8:45:1::7")
	listRemotes      = []netip.Addr{
		netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.1.1"), netip.MustParseAddr("203.0.113.9"),
		netip.MustParseAddr("2001:db8:99::1"), netip.MustParseAddr("2001:db8:99:1::1"), netip.MustParseAddr("2001:db8:77::9"),
	}
)

func (d *listDice) session(n int) *api.Session {
	ue := &api.UEAddress{Ipv4: 0x0a2d0001, Ipv6Prefix: 0x20010db800450001}
	s := &api.Session{Seid: 1, Qers: []*api.QER{
		{Id: 1, Qfi: 9, UplinkMbrBps: 1e12, DownlinkMbrBps: 1e12}, {Id: 2, Qfi: 5, Rqi: true, DownlinkTos: 0xa0, DownlinkTosMask: 0xe0},
		{Id: 3, UplinkMbrBps: 1e12, DownlinkMbrBps: 1e12, UplinkGbrBps: 1e12, DownlinkGbrBps: 1e12},
		{Id: 4, UplinkPacketRate: &api.PacketRate{Packets: 1e9, TimeMs: 1}}, {Id: 5, UplinkGateClosed: true},
	}, Urrs: []*api.URR{{Id: 1}, {Id: 2, BeforeEnforcement: true}, {Id: 3, Quota: &api.Volume{Total: 1 << 40}}}}
	for i := range uint32(2 * n) {
		r := &api.Rule{PdrId: i + 1, FarId: i + 1, Precedence: i / 2, Detect: &api.Detect{UeAddress: ue}, Forward: &api.Forward{Action: api.Action_FORW}}
		if i%2 == 0 {
			r.OuterHeaderRemoval = true
			r.Detect.FTeid = &api.FTEID{Teid: 1, Ipv4: 0x0a030001}
			r.Detect.Qfis = choose(d, nil, nil, []uint32{9}, []uint32{5, 6, 7, 8, 9})
			r.Detect.UeAddress = choose(d, ue, ue, ue, &api.UEAddress{Ipv4: ue.Ipv4}, nil)
			r.Forward.DestinationInterface = api.Interface_CORE
		} else {
			r.Detect.SourceInterface = api.Interface_CORE
			r.Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x100 + i, Ipv4: 0x0a030002}
			if d.IntN(4) == 0 {
				r.Forward.Dscp = new(uint32(10))
			}
		}
		r.Forward.Action = choose(d, api.Action_FORW, api.Action_FORW, api.Action_FORW, api.Action_DROP)
		for range 1 + d.IntN(2) {
			r.Detect.Filters = append(r.Detect.Filters, d.filter())
		}
		for _, q := range s.Qers {
			if d.IntN(4) == 0 {
				r.QerIds = append(r.QerIds, q.Id)
			}
		}
		for _, u := range s.Urrs {
			if d.IntN(3) == 0 {
				r.UrrIds = append(r.UrrIds, u.Id)
			}
		}
		s.Rules = append(s.Rules, r)
	}
	return s
}

func (d *listDice) filter() *api.Filter {
	f := &api.Filter{Remote: d.prefix(listRemotes...)}
	if d.IntN(4) == 0 {
		f.Local = d.prefix(listUE4, listUE6)
	}
	switch d.IntN(4) {
	case 0:
		f.Protocol = new(choose(d, uint32(6), 17, 50, 51, 58))
	case 1:
		f.RemotePorts = []*api.PortRange{{First: 9, Last: 9}, {First: 1000, Last: 1001}}[:1+d.IntN(2)]
	case 2:
		f.LocalPorts = []*api.PortRange{{First: 1000, Last: choose(d, uint32(1000), 2000)}}
	}
	switch d.IntN(8) {
	case 0:
		f.Tos, f.TosMask = 0xb8, choose(d, uint32(0xfc), 0xff, 0x80)
	case 1:
		f.Spi = new(choose(d, uint32(7), 8))
	case 2:
		f.FlowLabel = new(choose(d, uint32(7), 8))
	}
	return f
}

func (d *listDice) prefix(from ...netip.Addr) *api.Prefix {
	a := choose(d, from...)
	return &api.Prefix{Address: a.AsSlice(), Bits: uint32(choose(d, a.BitLen(), a.BitLen(), a.BitLen()/2, a.BitLen()/2-1, 0))}
}

// frame returns a frame from N3 or N6.
func (d *listDice) frame() (conformance.Port, []byte) {
	uplink := d.IntN(2) == 0
	user := d.packet(uplink)
	if !uplink {
		ether := uint16(inet.EtherIPv4)
		if user[0]>>4 == 6 {
			ether = inet.EtherIPv6
		}
		return conformance.N6, append(binary.BigEndian.AppendUint16(make([]byte, 12), ether), user...)
	}
	qfi := choose(d, byte(0), 5, 9, 9)
	message := append(gtpu.AppendGPDU(nil, 1, gtpu.PDUTypeUplink, qfi, len(user)), user...)
	out := stages.Datagram{From: gnbPort, To: netip.AddrPortFrom(conformance.N3Address, gtpu.Port), Payload: message}
	return conformance.N3, append(binary.BigEndian.AppendUint16(make([]byte, 12), inet.EtherIPv4), out.Packet()...)
}

// packet returns an IP packet of the UE, with options or extension headers now and
// then, or a fragment.
func (d *listDice) packet(uplink bool) []byte {
	remote := choose(d, listRemotes...)
	ue := listUE4
	if remote.Is6() {
		ue = listUE6
	}
	if uplink && d.IntN(16) == 0 {
		ue = ue.Next() // spoofed, or of the prefix
	}
	src, dst := remote, ue
	if uplink {
		src, dst = dst, src
	}
	protocol := choose(d, byte(6), 17, 17, 132, 50, 51, 58)
	ports := []uint16{choose(d, uint16(9), 1000, 1001), choose(d, uint16(9), 1000, 1500)}
	upper := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, ports[0]), ports[1])
	if protocol >= 50 && protocol <= 51 {
		upper = binary.BigEndian.AppendUint32(nil, choose(d, uint32(7), 8))
		upper = append(upper, upper...)
	}
	upper = append(upper, make([]byte, choose(d, 0, 8, 40))...)
	upper = upper[:len(upper)-d.IntN(2)*min(3, len(upper))]
	tos := choose(d, byte(0), 0xb8, 0xbb)
	if remote.Is6() {
		return d.packet6(src, dst, protocol, tos, upper)
	}
	return d.packet4(src, dst, protocol, tos, upper)
}

func (d *listDice) packet4(src, dst netip.Addr, protocol, tos byte, upper []byte) []byte {
	words := choose(d, 5, 5, 5, 6, 15)
	b := make([]byte, 4*words, 4*words+len(upper))
	b[0], b[1], b[8], b[9] = 0x40|byte(words), tos, 64, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(upper)))
	binary.BigEndian.PutUint16(b[6:], choose(d, uint16(0), 0, 0, 0x2000, 0x0010))
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	for i := 20; i < len(b); i++ {
		b[i] = 1 // no operation
	}
	return append(b, upper...)
}

func (d *listDice) packet6(src, dst netip.Addr, protocol, tos byte, upper []byte) []byte {
	next, rest := protocol, upper
	for range choose(d, 0, 0, 0, 1, 2, 8, 9) {
		header := make([]byte, choose(d, 8, 8, 24))
		header[0], header[1] = next, byte(len(header)/8-1)
		next = choose(d, byte(0), 43, 60, 60, 44, 135)
		if next == 44 {
			header = header[:8]
			header[1] = 0
			binary.BigEndian.PutUint16(header[2:], choose(d, uint16(0), 1, 0x100))
		}
		rest = append(header, rest...)
	}
	b := make([]byte, 40, 40+len(rest))
	binary.BigEndian.PutUint32(b, 6<<28|uint32(tos)<<20|choose(d, uint32(0), 7, 8))
	binary.BigEndian.PutUint16(b[4:], uint16(len(rest)))
	b[6], b[7] = next, 64
	copy(b[8:], src.AsSlice())
	copy(b[24:], dst.AsSlice())
	return append(b, rest...)
}
