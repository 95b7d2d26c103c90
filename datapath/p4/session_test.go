package p4

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Sessions and packets of the tests of the offload. Session n is that of UE 10.45.0.n: it has
// PDR 1 for F-TEID n and PDR 2 for the UE address, and one URR for both.

func word(a netip.Addr) uint32 { return binary.BigEndian.Uint32(a.AsSlice()) }

func ueOf(n uint64) netip.Addr { return netip.AddrFrom4([4]byte{10, 45, 0, byte(n)}) }

func plainSession(n uint64) *api.Session {
	ue := &api.UEAddress{Ipv4: word(ueOf(n))}
	return &api.Session{
		Seid: n, Urrs: []*api.URR{{Id: 1}},
		Rules: []*api.Rule{{
			PdrId: 1, FarId: 1, Precedence: 1, UrrIds: []uint32{1}, OuterHeaderRemoval: true,
			Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: uint32(n), Ipv4: word(n3)}, UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		}, {
			PdrId: 2, FarId: 2, Precedence: 2, UrrIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x100 + uint32(n), Ipv4: word(gnb)},
			},
		}},
	}
}

// filteredSession has PDR 3 in front of PDR 2, for UDP from some remote ports.
func filteredSession(n uint64, first, last uint32) *api.Session {
	s := plainSession(n)
	udp := uint32(inet.ProtoUDP)
	r := &api.Rule{
		PdrId: 3, FarId: 2, Precedence: 1, UrrIds: []uint32{1}, Forward: s.Rules[1].Forward,
		Detect: &api.Detect{
			SourceInterface: api.Interface_CORE, UeAddress: s.Rules[1].Detect.UeAddress,
			Filters: []*api.Filter{{Protocol: &udp, RemotePorts: []*api.PortRange{{First: first, Last: last}}}},
		},
	}
	s.Rules = slices.Insert(s.Rules, 1, r)
	return s
}

// limited gives a session an MBR each way.
func limited(s *api.Session, bps uint64) *api.Session {
	s.Qers = []*api.QER{{Id: 1, UplinkMbrBps: bps, DownlinkMbrBps: bps}}
	for _, r := range s.Rules {
		r.QerIds = []uint32{1}
	}
	return s
}

func userPacket(src, dst netip.Addr, remotePort uint16, size int) []byte {
	b := []byte{0x45, 0, 0, 0, 0, 1, 0, 0, 64, inet.ProtoUDP, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(size))
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, remotePort)
	return append(b, make([]byte, size-len(b))...)
}

var remote4 = netip.MustParseAddr("192.0.2.1")

// uplink is a G-PDU of session n with a user packet of so many octets.
func uplink(n uint64, size int) []byte {
	user := userPacket(ueOf(n), remote4, 0, size)
	header := binary.BigEndian.AppendUint32([]byte{0x30, 255, byte(size >> 8), byte(size)}, uint32(n))
	return ether(bedPorts[0].MAC, datagram(n3, append(header, user...)))
}

// downlink is a user packet to session n.
func downlink(n uint64, port uint16, size int) []byte {
	return ether(bedPorts[1].MAC, userPacket(remote4, ueOf(n), port, size))
}

// says names updates: what is done, the table, and the action if it is that of keys to the CPU.
func (b *bed) says(updates []*p4rt.Update) (all []string) {
	for _, u := range updates {
		e := u.GetEntity().GetTableEntry()
		for name, t := range b.schema.tables {
			if t.id != e.GetTableId() {
				continue
			}
			what := u.GetType().String() + " " + name
			for a, one := range t.actions {
				if strings.HasSuffix(a, "cpu") && one.id == e.GetAction().GetAction().GetActionId() {
					what += " cpu"
				}
			}
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wantTarget states that the target forwards a frame, by a PDR.
func (b *bed) wantTarget(device int, frame []byte, id pdr) {
	b.Helper()
	before := b.counts([]uint64{id.seid})
	if f := b.send(device, frame); f.cpu || f.dropped {
		b.Errorf("the target does not forward: %+v", f)
		return
	}
	size := uint64(len(frame) - inet.LenEthernet)
	if device == 0 {
		size -= inet.LenIPv4 + inet.LenUDP + inet.LenGTPU
	}
	want := map[pdr]datapath.Total{id: {Packets: 1, Octets: size}}
	got := moved(before, b.counts([]uint64{id.seid}))
	if len(got) != 1 || got[id] != want[id] {
		b.Errorf("counted %v, want %v", got, want)
	}
}

// wantCPU states that the target leaves a frame to the CPU.
func (b *bed) wantCPU(device int, frame []byte) {
	b.Helper()
	if f := b.send(device, frame); !f.cpu {
		b.Errorf("the target treats it: %+v", f)
	}
}

// usage returns what a session's URR has counted, both ways.
func (b *bed) usage(seid uint64) (octets uint64) {
	b.Helper()
	b.offload.collect(b.ctx, seid)
	u, err := b.host.sessions.Usage(seid)
	b.check(err)
	return u.GetUrrs()[0].GetUplinkOctets() + u.GetUrrs()[0].GetDownlinkOctets()
}

func keysOf(b *bed, seid uint64) []datapath.Key {
	b.Helper()
	keys, err := b.host.Keys(seid)
	b.check(err)
	return keys
}

// orNone returns nil of a session without rules.
func orNone(s *api.Session) *api.Session {
	if len(s.GetRules()) == 0 {
		return nil
	}
	return s
}
