package xdp

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// bed is a driver without devices: its programs are run by BPF_PROG_RUN.
type bed struct {
	*Driver
	out    []byte   // what the slow path made of the last frame
	sent   [][]byte // what left of its own accord
	slowly bool     // a frame is in the slow path, which has sent nothing yet
	before []uint64 // what the slow path had counted then
	ring   *ringbuf.Reader
	copies *ringbuf.Reader

	slowFrames int  // how many frames went through the slow path
	vlans      bool // its ports are tagged
}

func bedPorts() *ports {
	dev := func(mac [6]byte) device {
		return device{index: 1, mac: wideMAC(mac), mtu: conformance.MTU}
	}
	return &ports{
		gtpu: []port{{conformance.Endpoints[0], dev(conformance.N3MAC)}, {conformance.Endpoints[1], dev(conformance.N9MAC)}},
		n6:   []port{{device: dev(conformance.N6MAC)}, {device: device{index: corpIndex, mac: wideMAC(conformance.CorpMAC), mtu: conformance.MTU}}, {device: device{index: natIndex, mac: wideMAC(conformance.CorpMAC), mtu: conformance.MTU}}, {device: device{index: lanIndex, mac: wideMAC(conformance.CorpMAC), mtu: conformance.MTU}}},
	}
}

// BPF_PROG_RUN lets frames come on device 1, where all ports of the bed are but
// that of the second data network.
const runIndex, corpIndex, natIndex, awayIndex, lanIndex = 1, 2, 3, 4, 5

func openBed(t testing.TB, maxSessions int) *bed { return openPinned(t, maxSessions, "") }

// openTables is openBed for a test that looks at tables alone: the verifier takes its time
// for every program.
func openTables(t testing.TB, maxSessions int) *bed {
	t.Helper()
	return openConfig(t, Config{MaxSessions: maxSessions, programs: []string{}}, bedPorts())
}

// openPinned is openBed with pins, which the driver leaves.
func openPinned(t testing.TB, maxSessions int, pin string) *bed {
	t.Helper()
	return openConfig(t, Config{MaxSessions: maxSessions, Pin: pin}, bedPorts())
}

func openOn(t testing.TB, maxSessions int, pin string, p *ports) *bed {
	t.Helper()
	return openConfig(t, Config{MaxSessions: maxSessions, Pin: pin}, p)
}

// openConfig is openBed with a configuration, to which the bed's is added.
func openConfig(t testing.TB, cfg Config, p *ports) *bed {
	t.Helper()
	cfg.Endpoints, cfg.Advertise = conformance.Endpoints, &conformance.Advertise
	if cfg.N6.Networks == nil {
		cfg.N6 = conformance.DataNetworks
	}
	cfg.ChoosePort = func(int) int { return 0 }
	cfg.Log = slog.New(slog.DiscardHandler)
	if cfg.programs == nil {
		cfg.programs = twoDevices
	}
	d, err := load(cfg, p)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Keep()
	b := &bed{Driver: d}
	t.Cleanup(func() {
		for _, ring := range []*ringbuf.Reader{b.ring, b.copies} {
			if ring == nil {
				continue
			}
			if err := ring.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	b.slow = newSlowPath(d)
	b.slow.send = b
	b.slow.host = bedHost{}
	b.own.set(conformance.HostAddresses)
	b.slow.stages.Redirects = stages.NewRedirects(conformance.Secret)
	b.resolve(t)
	for _, start := range []func() error{b.startURREvents, b.startWatching} {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// bedHost has no addresses but those of the bed's N6.
type bedHost struct{}

func (bedHost) Has(a netip.Addr) bool {
	return !a.IsGlobalUnicast() || slices.Contains(conformance.HostAddresses, a)
}

func (bedHost) Router(v6 bool) netip.Addr {
	if v6 {
		return conformance.N6Address6
	}
	return conformance.N6Address
}

func wideMAC(m [6]byte) [8]byte { return [8]byte{m[0], m[1], m[2], m[3], m[4], m[5]} }

// resolve makes the neighbours of the conformance bed known.
func (b *bed) resolve(t testing.TB) {
	t.Helper()
	for _, n := range []struct {
		key hopKey
		mac [6]byte
	}{
		{hopKey{0, conformance.GNBAddress}, conformance.GNBMAC},
		{hopKey{0, conformance.GNBAddress2}, conformance.GNBMAC2},
		{hopKey{0, conformance.GNBAddress6}, conformance.GNBMAC},
		{hopKey{1, conformance.PeerAddress}, conformance.PeerMAC},
	} {
		if _, _, err := b.hops.acquire(n.key, &b.ports.gtpu[n.key.port]); err != nil {
			t.Fatal(err)
		}
		b.hops.resolve(n.key, nexthop.MAC(n.mac))
	}
	internet, corp, natted := b.named("internet"), b.named("corp"), b.named("nat")
	for _, n := range []struct {
		network *network
		addr    netip.Addr
		mac     [6]byte
	}{
		{internet, conformance.Gateway, conformance.GatewayMAC},
		{internet, conformance.Gateway6, conformance.GatewayMAC},
		{internet, conformance.Neighbour, conformance.NeighbourMAC},
		{internet, conformance.Neighbour6, conformance.NeighbourMAC6},
		{internet, conformance.Steered, conformance.SteeredMAC},
		{corp, conformance.Gateway, conformance.CorpGatewayMAC},
		{natted, conformance.Gateway, conformance.CorpGatewayMAC},
		{natted, conformance.Gateway6, conformance.CorpGatewayMAC},
	} {
		if n.network != nil {
			n.network.neighbour(n.addr, n.mac)
		}
	}
	for _, n := range b.networks {
		n.table = nexthop.Table{Routes: append(nexthop.Defaults([]netip.Addr{conformance.Gateway, conformance.Gateway6}),
			nexthop.Route{Prefix: conformance.OnlinkPrefix}, nexthop.Route{Prefix: conformance.Onlink6})}
		for _, way := range n.ways() {
			n.route(way)
		}
	}
}

// named returns the data network with this name, or nil.
func (b *bed) named(name string) *network {
	for _, n := range b.networks {
		if n.cfg.Name == name {
			return n
		}
	}
	return nil
}

// arriveOn lets the frames of BPF_PROG_RUN come from a data network.
func (b *bed) arriveOn(t testing.TB, network int) {
	t.Helper()
	if err := b.arriveFrom(runIndex, b.networks[network].number()); err != nil {
		t.Fatal(err)
	}
	for i := range b.networks {
		index := uint32(awayIndex)
		if i == network {
			index = runIndex
		}
		for _, way := range b.networks[i].ways() {
			b.way(way).Ifindex = index
		}
	}
}

// tunnel and n6 implement sender.
func (b *bed) tunnel(packet []byte, _ netip.Addr) error { return b.n6(packet, 0, netip.Addr{}) }

func (b *bed) n6(packet []byte, _ int, _ netip.Addr) error {
	// The frame is what is sent first, before anything is counted; all else is an
	// answer, or leaves beside it.
	first := b.slowly
	b.slowly = false
	if first && slices.Equal(b.before, slowCounts(b.slow)) {
		b.out = bytes.Clone(packet)
		return nil
	}
	b.sent = append(b.sent, bytes.Clone(packet))
	return nil
}

// ethernet implements sender.
func (b *bed) ethernet(frame []byte, way int) error { return b.n6(frame, way, netip.Addr{}) }

// Sent implements [conformance.Datapath].
func (b *bed) Sent(t testing.TB) [][]byte {
	t.Helper()
	sent := b.sent
	b.sent = nil
	return sent
}

// slowFromN3 are the reasons for which a whole message is passed to the socket.
var slowFromN3 = map[datapath.Reason]bool{
	datapath.PassSignalling: true, datapath.PassAnswer: true,
}

// Frame implements [conformance.Datapath].
func (b *bed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	prog := b.objs.UpfN6Xdp
	switch port {
	case conformance.N3:
		prog = b.objs.UpfGtpuXdp
	case conformance.N6LAN:
		b.arriveOn(t, int(port-conformance.N6))
		prog = b.objs.UpfEtherXdp
	default:
		b.arriveOn(t, int(port-conformance.N6))
	}
	return b.frame(t, prog, port, frame)
}

func (b *bed) frame(t testing.TB, prog *ebpf.Program, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	if b.cfg.Hook == HookTC && !runnable(frame) {
		reason := ofShort(port == conformance.N3 && prog != b.objs.UpfBothXdp, frame)
		b.slow.count(reason)
		return conformance.Outcome{Reason: reason}
	}
	before := b.programCounts(t)
	action, left := b.run(t, prog, b.onWire(port, frame), 0)
	is := verdictsOf[b.cfg.Hook]
	reason := moved(t, before, b.programCounts(t))
	defer b.copyAll(t)
	switch {
	case action == is.redirect && reason == datapath.ReasonNone:
		out := b.fromWire(t, left)
		return conformance.Outcome{Ethernet: out[:inet.LenEthernet], Packet: out[inet.LenEthernet:]}
	case action == is.pass && slowFromN3[reason]:
		m := datagram(frame[inet.LenEthernet:])
		return b.slowPath(t, func() { b.slow.fromTunnel(m) })
	case action == is.pass && reason == datapath.PassBridge: // to the packet socket
		return b.slowPath(t, func() { b.slow.fromEthernet(1+int(port-conformance.N6), frame) })
	case action == is.drop && !reason.IsDrop():
		in := b.exception(t)
		return b.slowPath(t, func() { b.slow.exceptional(in) })
	case action == is.drop && reason.IsDrop(), action == is.pass && !reason.IsDrop():
		return conformance.Outcome{Reason: reason}
	}
	t.Fatalf("action %d with counter %v", action, reason)
	return conformance.Outcome{}
}

// datagram is what the kernel gives to a GTP-U socket of a packet. The length in
// the UDP header, which the programs do not look at, is taken to be right.
func datagram(ip []byte) stages.Datagram {
	header, size := 4*int(ip[0]&0xf), int(binary.BigEndian.Uint16(ip[2:]))
	from, _ := netip.AddrFromSlice(ip[12:16])
	to, _ := netip.AddrFromSlice(ip[16:20])
	if ip[0]>>4 == 6 {
		header, size = 40, 40+int(binary.BigEndian.Uint16(ip[4:]))
		from, _ = netip.AddrFromSlice(ip[8:24])
		to, _ = netip.AddrFromSlice(ip[24:40])
	}
	udp := ip[header:size]
	return stages.Datagram{
		From:    netip.AddrPortFrom(from, binary.BigEndian.Uint16(udp)),
		To:      netip.AddrPortFrom(to, binary.BigEndian.Uint16(udp[2:])),
		Payload: udp[8:],
	}
}

func (b *bed) slowPath(t testing.TB, run func()) conformance.Outcome {
	t.Helper()
	b.out, b.slowly, b.before = nil, true, slowCounts(b.slow)
	b.slowFrames++
	run()
	b.slowly = false
	if b.out != nil { // whatever became of what else leaves because of it
		return conformance.Outcome{Packet: b.out}
	}
	all := allMoved(t, b.before, slowCounts(b.slow))
	if len(all) > 1 { // what the sender is told may come to an F-TEID of the UPF, and not beyond
		return conformance.Outcome{Reason: all[0], Several: all}
	}
	return conformance.Outcome{Reason: moved(t, b.before, slowCounts(b.slow))}
}

func TestConformance(t *testing.T) { testConformance(t, HookXDP) }

func TestConformanceTC(t *testing.T) { testConformance(t, HookTC) }

func testConformance(t *testing.T, on Hook) {
	for name, kind := range map[string]conformance.Kind{
		"two devices": {Fast: true},
		"one device":  {Fast: true, OneDevice: true},
		"VLANs":       {Fast: true, OneDevice: true},
	} {
		if on == HookTC && name == "VLANs" {
			continue // the kernel takes tags out of what arrives, and BPF_PROG_RUN does not: TestVLANs
		}
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, kind, func(t *testing.T) conformance.Datapath {
				if name == "VLANs" {
					return openVLANs(t)
				}
				if kind.OneDevice {
					cfg := Config{Hook: on, MaxSessions: conformance.MaxSessions, programs: []string{"upf_both_xdp"}}
					return oneDevice{openConfig(t, cfg, bedPorts())}
				}
				return openShared(t, Config{Hook: on}, bedPorts())
			})
		})
	}
}

// twoDevices are the programs of a bed with N3 and N6 on devices of their own.
var twoDevices = []string{"upf_gtpu_xdp", "upf_n6_xdp"}

// oneDevice is the bed with N3 and N6 on one device.
type oneDevice struct{ *bed }

func (o oneDevice) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	if port == conformance.N6LAN { // which has a device of its own
		return o.bed.Frame(t, port, frame)
	}
	if port != conformance.N3 {
		o.arriveOn(t, int(port-conformance.N6))
	}
	return o.frame(t, o.objs.UpfBothXdp, port, frame)
}
