package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// rig is a probe whose programs are run one packet at a time, at no device.
type rig struct {
	*Probe
	t        testing.TB
	programs map[Point]*ebpf.Program
}

// The points of a rig.
var (
	n3In  = Point{Way: In, Side: N3, Hook: Ingress}
	n3Out = Point{Way: Out, Side: N3, Hook: Egress}
	n6In  = Point{Way: In, Side: N6, Hook: Ingress}
	n6Out = Point{Way: Out, Side: N6, Hook: Egress}
)

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	if c.UPFs == nil {
		c.UPFs = []UPF{{Name: "a", N3: []netip.Addr{upfAddr}}}
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute // on a busy machine a second may pass between two packets of a test
	}
	p, err := Open(c)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { p.Close() })
	return &rig{Probe: p, t: t, programs: map[Point]*ebpf.Program{}}
}

// load loads the program of a point as it is at a device.
func (r *rig) load(at Point, device hook.Device) *ebpf.Program {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.stateOf(at)
	if err != nil {
		r.t.Fatal(err)
	}
	program, err := r.program(s, device)
	if err != nil {
		var v *ebpf.VerifierError
		if errors.As(err, &v) && len(v.Log) > 40 {
			v.Log = v.Log[len(v.Log)-40:]
		}
		r.t.Fatalf("%v: %+v", at, err)
	}
	r.t.Cleanup(func() { program.Close() })
	r.programs[at] = program
	return program
}

// tcUnspec is TC_ACT_UNSPEC: the next program is asked.
const tcUnspec = 0xffffffff

// pass sends a frame past a point, which has an Ethernet device unless it is loaded.
// The frame must go on as it is.
func (r *rig) pass(at Point, frame []byte) {
	r.t.Helper()
	r.passAs(at, frame, nil)
}

// passAs sends a frame as a super-packet.
func (r *rig) passAs(at Point, frame []byte, context *skbContext) {
	r.t.Helper()
	program := r.programs[at]
	if program == nil {
		program = r.load(at, hook.Device{})
	}
	out := make([]byte, len(frame)+64)
	options := ebpf.RunOptions{Data: frame, DataOut: out}
	if context != nil {
		options.Context = context
	}
	verdict, err := program.Run(&options)
	if err != nil {
		r.t.Fatalf("%v: %v", at, err)
	}
	if verdict != tcUnspec || string(options.DataOut) != string(frame) {
		r.t.Errorf("%v: got verdict %#x and %x\nwant %#x and %x", at, verdict, options.DataOut, uint32(tcUnspec), frame)
	}
}

func (r *rig) snapshot() *Snapshot {
	r.t.Helper()
	s, err := r.Read()
	if err != nil {
		r.t.Fatal(err)
	}
	held := uint64(0)
	for _, x := range s.Series {
		held += x.InFlight
		if !x.Balanced() || uint64(x.Delay.TotalCount()) != x.Matched {
			r.t.Errorf("series %+v with %d delays: does not balance", x.Account, x.Delay.TotalCount())
		}
	}
	if held != s.Held {
		r.t.Errorf("in flight by counts %d, in the table %d", held, s.Held)
	}
	return s
}

// account returns the counts of a series.
func (s *Snapshot) account(slice string, d Direction) Account {
	for _, x := range s.Series {
		if x.Slice == slice && x.Direction == d {
			return x.Account
		}
	}
	return Account{}
}

// at returns the counts of a point, without the point and its cost.
func (s *Snapshot) at(p Point) PointCount {
	for _, x := range s.Points {
		if x.Point == p {
			x.Point, x.Cost, x.Attached = Point{}, Cost{}, false
			return x
		}
	}
	return PointCount{}
}

// skbContext is the context of BPF_PROG_RUN: struct __sk_buff.
type skbContext struct {
	_       [176]byte
	GSOSize uint32
	_       [12]byte
}

// Who talks to whom.
var (
	upfAddr  = netip.MustParseAddr("192.0.2.1")
	gnbAddr  = netip.MustParseAddr("192.0.2.2")
	ueAddr   = netip.MustParseAddr("10.45.0.7")
	hostAddr = netip.MustParseAddr("198.51.100.9")
	ueAddr6  = netip.MustParseAddr("2001:db8:45::7")
	hostAdr6 = netip.MustParseAddr("2001:db8:9::9")
)

func serialize(l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// ip returns IP and transport header of a packet.
func ip(from, to netip.Addr, transport gopacket.SerializableLayer) []gopacket.SerializableLayer {
	protocols := map[gopacket.LayerType]layers.IPProtocol{
		layers.LayerTypeUDP: layers.IPProtocolUDP, layers.LayerTypeTCP: layers.IPProtocolTCP,
		layers.LayerTypeICMPv4: layers.IPProtocolICMPv4, layers.LayerTypeICMPv6: layers.IPProtocolICMPv6,
	}
	protocol := protocols[transport.LayerType()]
	var network gopacket.NetworkLayer
	var head gopacket.SerializableLayer
	if from.Is4() {
		h := &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: net.IP(from.AsSlice()), DstIP: net.IP(to.AsSlice())}
		network, head = h, h
	} else {
		h := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol, SrcIP: net.IP(from.AsSlice()), DstIP: net.IP(to.AsSlice())}
		network, head = h, h
	}
	if x, ok := transport.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}); ok {
		_ = x.SetNetworkLayerForChecksum(network)
	}
	return []gopacket.SerializableLayer{head, transport}
}

// udp returns a user packet.
func udp(from, to netip.Addr, payload []byte) []byte {
	return serialize(append(ip(from, to, &layers.UDP{SrcPort: 4000, DstPort: 5000}), gopacket.Payload(payload))...)
}

func tcp(from, to netip.Addr, t layers.TCP, payload []byte) []byte {
	t.SrcPort, t.DstPort = 4000, 5000
	return serialize(append(ip(from, to, &t), gopacket.Payload(payload))...)
}

// numbered returns a payload that is like no other.
func numbered(n uint32, octets int) []byte {
	b := make([]byte, octets)
	binary.BigEndian.PutUint32(b, n)
	return b
}

// gpdu returns a GTP-U message with a PDU Session Container.
func gpdu(teid uint32, qfi byte, user []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x34, 255}, uint16(8+len(user)))
	b = binary.BigEndian.AppendUint32(b, teid)
	return append(append(b, 0, 0, 0, 0x85, 1, 0x10, qfi, 0), user...)
}

// onN3 returns the frame of a GTP-U message to or from the UPF.
func onN3(way Way, message []byte) []byte {
	from, to := gnbAddr, upfAddr
	if way == Out {
		from, to = to, from
	}
	return frame(serialize(append(ip(from, to, &layers.UDP{SrcPort: 2152, DstPort: 2152}), gopacket.Payload(message))...))
}

// frame puts an Ethernet header before a packet.
func frame(packet []byte) []byte {
	kind := layers.EthernetTypeIPv4
	if packet[0]>>4 == 6 {
		kind = layers.EthernetTypeIPv6
	}
	return append(append([]byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}, byte(kind>>8), byte(kind)), packet...)
}
