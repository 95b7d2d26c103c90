package xdp

import (
	"context"
	"encoding/hex"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// TestOuterDatagram finds the G-PDU in frames as the ring has them.
func TestOuterDatagram(t *testing.T) {
	const (
		macs    = "020000000001020000000002"
		ipv4    = "4500 0024 0000 4000 4011 0000 0a030002 0a030001"
		udp     = "1234 0868 0010 0000"
		ipv6    = "60000000 0010 1140 20010db8000000000000000000000002 20010db8000000000000000000000001"
		payload = "30ff000000000001"
	)
	from4, from6 := netip.MustParseAddrPort("10.3.0.2:4660"), netip.MustParseAddrPort("[2001:db8::2]:4660")
	for _, tc := range []struct {
		name, frame string
		from        netip.AddrPort // not valid: there is none
	}{
		{"IPv4", macs + "0800" + ipv4 + udp + payload, from4},
		{"IPv4, padded", macs + "0800" + ipv4 + udp + payload + "0000", from4},
		{"IPv4, options", macs + "0800 4600 0028" + ipv4[9:] + "01010101" + udp + payload, from4},
		{"IPv6", macs + "86dd" + ipv6 + udp + payload, from6},
		{"C-TAG", macs + "8100 0005 0800" + ipv4 + udp + payload, from4},
		{"S-TAG, C-TAG", macs + "88a8 0005 8100 0006 86dd" + ipv6 + udp + payload, from6},
		{"three tags", macs + "8100 0005 8100 0005 8100 0005 0800" + ipv4 + udp + payload, netip.AddrPort{}},
		{"ARP", macs + "0806" + ipv4 + udp + payload, netip.AddrPort{}},
		{"IPv4, cut", macs + "0800" + ipv4 + udp + "30ff", netip.AddrPort{}},
		{"IPv4, no UDP", macs + "0800 4500 0018" + ipv4[9:] + "12340868", netip.AddrPort{}},
		{"IPv4, header shorter than one", macs + "0800 40" + ipv4[2:] + udp + payload, netip.AddrPort{}},
		{"IPv6, cut", macs + "86dd" + ipv6 + udp + "30ff", netip.AddrPort{}},
		{"no header", macs + "0800 45", netip.AddrPort{}},
		{"nothing", "", netip.AddrPort{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, ok := outerDatagram(unhex(t, tc.frame))
			if !tc.from.IsValid() {
				if ok {
					t.Errorf("got %+v, want none", m)
				}
				return
			}
			if !ok || m.From != tc.from || m.To.Port() != gtpu.Port || m.To.Addr() != tc.from.Addr().Prev() ||
				hex.EncodeToString(m.Payload) != payload {
				t.Errorf("got %+v, %v; want %v from %v", m, ok, payload, tc.from)
			}
		})
	}
}

// FuzzOuterDatagram: what is found is never more than the frame.
func FuzzOuterDatagram(f *testing.F) {
	f.Add([]byte{})
	f.Add(unhex(f, "020000000001020000000002 0800 4500 0024 0000 4000 4011 0000 0a030002 0a030001 1234 0868 0010 0000 30ff000000000001"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, ok := outerDatagram(frame)
		if ok && (len(m.Payload)+inet.LenEthernet+20+inet.LenUDP > len(frame) || m.From.Addr().Is4() != m.To.Addr().Is4()) {
			t.Errorf("got %d octets of payload from a frame of %d: %+v", len(m.Payload), len(frame), stages.Datagram{From: m.From, To: m.To})
		}
	})
}

// TestQueueOfBigPackets: packets that are too big for the next hop, of a rule that goes
// the fast way, are bounded in the ring like any others, and the next ones dropped and
// counted until there is room.
func TestQueueOfBigPackets(t *testing.T) {
	b := openBed(t, 64)
	s := conformance.Sessions()[0]
	if err := b.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatal(err)
	}
	_, big := conformance.BenchFramesOf(conformance.MTU - 28) // of IPv4 and UDP
	before := b.programCounts(t)
	run := func(n int) {
		for range n {
			run := ebpf.RunOptions{Data: big, DataOut: make([]byte, len(big)+80)}
			if action, err := b.objs.UpfN6Xdp.Run(&run); err != nil || action != xdpDrop {
				t.Fatalf("action %d, %v", action, err)
			}
		}
	}
	expect := func(passed, dropped uint64) {
		t.Helper()
		now := b.programCounts(t)
		for reason, want := range map[datapath.Reason]uint64{datapath.PassTooBig: passed, datapath.DropSlowFull: dropped} {
			if got := now[reason] - before[reason]; got != want {
				t.Errorf("%v: %d packets, want %d", reason, got, want)
			}
		}
		u, err := b.Usage(s.GetSeid())
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Rules[1].DroppedPackets; got != dropped {
			t.Errorf("%d packets counted as dropped, want %d", got, dropped)
		}
	}
	run(queueMax + 10)
	expect(queueMax, 10)
	b.slow.exceptional(b.exception(t))
	run(2)
	expect(queueMax+1, 11)
	for range queueMax {
		b.slow.exceptional(b.exception(t))
	}
	slot, _ := b.ues.find(1<<32 | uint64(s.GetRules()[1].GetDetect().GetUeAddress().GetIpv4()))
	if got := b.queueOf(ruleByUE, slot).Packets; got != 0 {
		t.Errorf("%d packets are said to be in the ring, which is empty", got)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var compact []byte
	for i := range len(s) {
		if s[i] != ' ' {
			compact = append(compact, s[i])
		}
	}
	b, err := hex.DecodeString(string(compact))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
