package programs_test

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/upf"
)

// row is a datapath, and how it is run.
type row struct {
	name, datapath string
	mode           string // of XDP; empty: the configuration's default
	onAStick       bool   // N3 and N6 on one device
	// The outer ends leave checksums and segmentation to the UPF's kernel, and the
	// gNB sends super-packets.
	offload, super bool
}

// matrix is every datapath that carries packets.
var matrix = []row{
	{name: "xdp", datapath: upf.DatapathXDP, mode: upf.ModeNative},
	{name: "xdp, one device", datapath: upf.DatapathXDP, mode: upf.ModeNative, onAStick: true},
	{name: "xdp generic", datapath: upf.DatapathXDP, mode: upf.ModeGeneric},
	{name: "xdp generic, one device", datapath: upf.DatapathXDP, mode: upf.ModeGeneric, onAStick: true},
	{name: "tc", datapath: upf.DatapathTC},
	{name: "tc, one device", datapath: upf.DatapathTC, onAStick: true},
	{name: "tc, super-packets", datapath: upf.DatapathTC, offload: true, super: true},
	{name: "afxdp", datapath: upf.DatapathAFXDP},
	{name: "afxdp, one device", datapath: upf.DatapathAFXDP, onAStick: true},
	{name: "p4", datapath: upf.DatapathP4},
	{name: "p4, one device", datapath: upf.DatapathP4, onAStick: true},
	{name: "tun", datapath: upf.DatapathTUN, offload: true},
	{name: "tap", datapath: upf.DatapathTAP, offload: true},
}

// Sizes in octets of headers, and of the payload of UDP's datagrams.
const (
	datagram, udpPackets  = 1200, 90
	mbrPackets            = 1600
	calls                 = 10
	sipUp, sipDown        = 3, 3 // INVITE, ACK, BYE; Ringing and twice OK
	fileOctets, tcpOctets = 4 << 20, 32 << 20
)

// TestPrograms runs every program through every datapath of `plumb upf`, with
// sessions that came over PFCP, and compares what URRs counted.
func TestPrograms(t *testing.T) {
	binary := programs.BuildPlumb(t)
	for _, row := range matrix {
		t.Run(row.name, func(t *testing.T) {
			b := newBed(t, binary, row)
			programs.ServeHTTP(t, b.DN.Name, programs.NewContent(fileOctets))
			t.Run("ping", b.ping)
			t.Run("curl", b.curl)
			t.Run("iperf3 TCP", b.tcp)
			t.Run("iperf3 UDP", b.udp)
			t.Run("SIPp", b.sip)
			t.Run("MBR", b.mbr)
			b.check(t, row.super)
		})
	}
}

// servers are the data network's addresses, in the order of those of UEs.
func (b *bed) servers() []netip.Addr {
	return []netip.Addr{b.N6.Peer.Address.Addr(), b.N6.Peer.Address6.Addr()}
}

// ping has both ends ask, with sizes up to the largest that is not a fragment.
func (b *bed) ping(t *testing.T) {
	ue := b.ues[0]
	for i, server := range b.servers() {
		header := [...]int{inet.LenIPv4, inet.LenIPv6}[i]
		for _, size := range []int{0, 56, b.gnb.MTU() - header - inet.LenICMP - 1, b.gnb.MTU() - header - inet.LenICMP} {
			v := volume{programs.Answers, uint64(programs.Answers * (header + inet.LenICMP + size))}
			b.carried(t, 0, usage{up: v, down: v}, func() { programs.Ping(t, ue.Namespace, server, size, "-M", "do") })
			b.carried(t, 0, usage{up: v, down: v}, func() { programs.Ping(t, b.DN.Name, ue.Addresses[i], size, "-M", "do") })
		}
	}
	// In fragments, of which the UPF makes more where those that it gets are too
	// long for N3.
	b.during(t, 0, stillTime, func() { programs.Ping(t, ue.Namespace, b.servers()[0], 4000) })
}

// curl moves a file both ways.
func (b *bed) curl(t *testing.T) {
	file := programs.NewContent(fileOctets)
	for _, server := range b.servers() {
		b.streamed(t, 0, func() (up, down uint64) {
			programs.Curl(t, b.ues[0].Namespace, server, file)
			return fileOctets, fileOctets
		})
	}
}

func (b *bed) tcp(t *testing.T) {
	size := strconv.Itoa(tcpOctets)
	for _, server := range b.servers() {
		b.streamed(t, 0, func() (up, down uint64) { return b.iperf(t, 0, server, "--bytes", size).Octets, 0 })
		b.streamed(t, 0, func() (up, down uint64) { return 0, b.iperf(t, 0, server, "--bytes", size, "--reverse").Octets })
	}
}

// udp loses nothing. A machine that stands still for a while makes programs
// send at once what they are behind, which can be more than there is room for; so
// it is no more than a socket holds (udpWindow), and a run that lost some is done
// again, but not for ever.
func (b *bed) udp(t *testing.T) {
	const attempts = 3
	for i, server := range b.servers() {
		octets := udpPackets * uint64([...]int{inet.LenIPv4, inet.LenIPv6}[i]+inet.LenUDP+datagram)
		for _, reverse := range []bool{false, true} {
			flags, up, down := udpFlags(10_000_000, udpPackets), octets, uint64(0)
			if reverse {
				flags, up, down = append(flags, "--reverse"), 0, octets
			}
			lost := -1
			for attempt := 0; lost != 0 && attempt < attempts; attempt++ {
				b.streamed(t, 0, func() (uint64, uint64) {
					if lost = b.iperf(t, 0, server, flags...).LostPackets; lost != 0 {
						return 0, 0
					}
					return up, down
				})
			}
			if lost != 0 {
				t.Errorf("UDP to %v, reverse %t: lost %d of %d datagrams, and some in each of %d runs", server, reverse, lost, udpPackets, attempts)
			}
		}
	}
}

// udpWindow is the buffer of the sockets, of which the kernel gives twice as much: a
// datagram whose frame went through XDP takes a page and its skb. Anybody may have it.
const udpWindow = "200K"

func udpFlags(bitsPerSecond, packets int) []string {
	return []string{
		"--udp", "--bytes", strconv.Itoa(packets * datagram), "--length", strconv.Itoa(datagram),
		"--bitrate", strconv.Itoa(bitsPerSecond), "--window", udpWindow,
	}
}

func (b *bed) iperf(t *testing.T, ue int, server netip.Addr, flags ...string) programs.Transfer {
	t.Helper()
	return programs.Iperf(t, b.ues[ue].Namespace, b.DN.Name, server, flags...)
}

// sip makes calls with RTP, which is echoed.
func (b *bed) sip(t *testing.T) {
	for i, server := range b.servers() {
		echoed := 0
		u := b.during(t, 0, patience, func() {
			echoed = programs.SIPp(t, b.ues[0].Namespace, b.ues[0].Addresses[i], b.DN.Name, server, calls)
		})
		if u.up != u.sent || u.down != u.received {
			t.Errorf("URR counted %+v up, %+v down; the gNB sent %+v and received %+v", u.up, u.down, u.sent, u.received)
		}
		if want := uint64(sipUp*calls + echoed); echoed == 0 || u.up.packets < want {
			t.Errorf("URR counted %d packets up, want at least %d, of which %d are RTP", u.up.packets, want, echoed)
		}
		if want := uint64(sipDown*calls + echoed); u.down.packets < want {
			t.Errorf("URR counted %d packets down, want at least %d, of which %d are RTP", u.down.packets, want, echoed)
		}
	}
}

// mbr sends twice as much as the second UE may have. What is over the MBR is
// not measured, and what is not is no more than MBR and burst allow for as long
// as the program ran.
func (b *bed) mbr(t *testing.T) {
	for _, reverse := range []bool{false, true} {
		flags, still := udpFlags(2*mbr*1000, mbrPackets), stillTime
		if reverse { // what is over the MBR is gone before the gNB
			still = patience
			flags = append(flags, "--reverse")
		}
		var got programs.Transfer
		began := time.Now()
		u := b.during(t, 1, still, func() { got = b.iperf(t, 1, b.servers()[0], flags...) })
		limit := uint64((time.Since(began) + burst).Seconds() * mbr * 1000 / 8)
		v, ends := u.up, u.sent
		if reverse {
			v, ends = u.down, u.received
		}
		arrived := uint64(got.Packets - got.LostPackets)
		if reverse && v != ends || v.packets < arrived || v.octets > limit {
			t.Errorf("reverse %t: URR counted %+v, the gNB %+v, and %d datagrams arrived; MBR and burst allow %d octets", reverse, v, ends, arrived, limit)
		}
		if got.LostPackets == 0 || arrived < mbrPackets/4 {
			t.Errorf("reverse %t: %d of %d datagrams arrived at twice the MBR, want fewer than all, and at least a quarter", reverse, arrived, got.Packets)
		}
	}
}

// check looks at the gNB's counts at the end. Of super-packets, one datagram is
// many packets.
func (b *bed) check(t *testing.T, super bool) {
	t.Helper()
	s := b.gnb.Stats()
	if s.N3.Datagrams != s.N3.Delivered+s.N3.EchoResponses || s.Paths[0].EchoResponses == 0 {
		t.Errorf("got %+v, %+v, want nothing but user packets and Echo Responses", s.N3, s.Paths)
	}
	if got := s.UEs[0].DownlinkPackets > 4*s.N3.Delivered; got != super {
		t.Errorf("got %d packets in %d datagrams; super-packets: want %t", s.UEs[0].DownlinkPackets, s.N3.Delivered, super)
	}
	for _, u := range s.UEs {
		if u.UplinkErrors != 0 || u.DownlinkErrors != 0 || u.OtherQFI != 0 {
			t.Errorf("got %+v, want no errors, and QFI 9 only", u)
		}
	}
}
