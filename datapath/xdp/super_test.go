package xdp

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// The super-packet of TestSuper: three packets, the last one shorter. Each has 40 octets
// of headers, which it counts for.
const (
	superPayload, superSegment = 2500, 1000
	superPackets, superOctets  = 3, superPayload + superPackets*40
	superMany                  = 10 // octets of so many segments that their headers are above any burst
)

// openSuper is a bed of TC with a helper pair, and a device through which super-packets
// may leave in a tunnel.
func openSuper(t *testing.T, tunnels bool) *bed {
	t.Helper()
	return openConfig(t, Config{
		Hook: HookTC, MaxSessions: conformance.MaxSessions,
		edit: func(spec *ebpf.CollectionSpec) error {
			for name, v := range map[string]any{"split_tx": uint32(9), "split_rx": uint32(8)} {
				if err := spec.Variables[name].Set(v); err != nil {
					return err
				}
			}
			if !tunnels {
				return nil
			}
			return spec.Variables["super_devices"].Set([maxEndpoints]uint32{runIndex})
		},
	}, bedPorts())
}

// superDown is a frame from N6 with a TCP segment to the UE of benchSession(0).
func superDown(payload int) []byte {
	_, f := conformance.BenchFramesOf(payload + 12) // TCP has that much more than UDP
	f = bytes.Clone(f)
	binary.BigEndian.PutUint32(f[downAddressAt:], benchAddress)
	f[inet.LenEthernet+9] = 6
	f[inet.LenEthernet+20+12] = 5 << 4
	return f
}

// unfinished leaves the checksum of a TCP segment in f to be made, as the kernel does.
func unfinished(f []byte) []byte {
	sum := uint32(6 + len(f) - inet.LenEthernet - 20)
	for i := inet.LenEthernet + 12; i < inet.LenEthernet+20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(f[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(f[inet.LenEthernet+20+16:], uint16(sum&0xffff+sum>>16))
	return f
}

// TestSuper: a super-packet counts as the packets that it stands for, if all of them get
// through, and else is cut before anything has counted it. So is what has an unfinished
// checksum. BPF_PROG_RUN cannot make super-packets that grow: what gets as far as that
// is counted, and given up.
func TestSuper(t *testing.T) {
	peer := benchPeer()
	beds := map[bool]*bed{false: openSuper(t, false), true: openSuper(t, true)}
	down := func(change func(s *api.Session, r *api.Rule)) *api.Session {
		s := benchSession(0, peer)
		s.Rules[1].UrrIds, s.Urrs = []uint32{1}, []*api.URR{{Id: 1}}
		if change != nil {
			change(s, s.Rules[1])
		}
		return s
	}
	for _, tc := range []struct {
		name    string
		tunnels bool
		session *api.Session
		frame   []byte
		gso     int
		whole   bool
	}{
		{"whole", true, down(nil), superDown(superPayload), superSegment, true},
		{"through a device whose peers do not take it", false, down(nil), superDown(superPayload), superSegment, false},
		{"longer than the link when cut", true, down(nil), superDown(superPayload), 2000, false},
		{"a meter has room for it", true, down(func(s *api.Session, _ *api.Rule) { s.Qers[0].DownlinkMbrBps = 1e9 }), superDown(superPayload), superSegment, true},
		{"a meter has room for one packet", true, down(func(s *api.Session, _ *api.Rule) { s.Qers[0].DownlinkMbrBps = 1000 }), superDown(superPayload), superMany, false},
		{"a quota is reached by its last octet", true, down(func(s *api.Session, _ *api.Rule) { s.Urrs[0].Quota = &api.Volume{Total: superOctets} }), superDown(superPayload), superSegment, false},
		{"a quota is not reached", true, down(func(s *api.Session, _ *api.Rule) { s.Urrs[0].Quota = &api.Volume{Total: superOctets + 1} }), superDown(superPayload), superSegment, true},
		{"a closed gate", true, down(func(s *api.Session, _ *api.Rule) { s.Qers[0].DownlinkGateClosed = true }), superDown(superPayload), superSegment, false},
		{"a packet rate", true, down(func(s *api.Session, _ *api.Rule) {
			s.Qers[0].DownlinkPacketRate = &api.PacketRate{Packets: 1000, TimeMs: 60000}
		}), superDown(superPayload), superSegment, false},
		{"FAR says DROP", true, down(func(_ *api.Session, r *api.Rule) { r.Forward = &api.Forward{Action: api.Action_DROP} }), superDown(superPayload), superSegment, false},
		{"trailing octets", true, down(nil), append(superDown(superPayload), 0), superSegment, false},
		{"a packet whose checksum is left to others", true, down(nil), unfinished(superDown(100)), 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := beds[tc.tunnels]
			apply(t, b, tc.session)
			defer remove(t, b, tc.session.GetSeid())
			before := b.programCounts(t)
			verdict, out := b.run(t, b.objs.UpfN6Xdp, tc.frame, tc.gso)
			reason := moved(t, before, b.programCounts(t))
			u := usageOf(t, b, tc.session)
			got, urr := u.GetRules()[1], u.GetUrrs()[0]
			if tc.whole {
				if reason != datapath.DropInternal || got.GetPackets() != superPackets || got.GetOctets() != superOctets ||
					urr.GetDownlinkPackets() != superPackets || urr.GetDownlinkOctets() != superOctets {
					t.Errorf("reason %v, PDR %v, URR %v; want %d packets of %d octets", reason, got, urr, superPackets, superOctets)
				}
				return
			}
			if verdict != tcRedirect || reason != datapath.PassSplit || !slices.Equal(out, tc.frame) {
				t.Errorf("verdict %d, reason %v, want that it is cut:\n%x\nwant\n%x", verdict, reason, out, tc.frame)
			}
			if got.GetPackets()+got.GetDroppedPackets()+urr.GetDownlinkPackets() != 0 {
				t.Errorf("PDR %v, URR %v, want nothing counted", got, urr)
			}
		})
	}
}

// benchPeer is the gNB of the bed, as package api has it.
func benchPeer() uint32 {
	a := conformance.GNBAddress.As4()
	return binary.BigEndian.Uint32(a[:])
}
