package gnb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// User packets: IPv4 and IPv6 headers with nothing behind them.
const (
	user4 = "45000014 00000000 40fd66ea 08080808 0a400001"
	user6 = "60000000 00003b40 fd060000000000000000000000000002 fd640000000000000000000000000001"
)

var (
	loopback = netip.MustParseAddr("127.0.0.1")
	testUE   = UE{Name: "ue0", UplinkTEID: 0x11, DownlinkTEID: 0x21, QFI: 9, UPF: loopback}
)

// recorder is a device that keeps what is written to it.
type recorder struct {
	packetWriter
	packets []string // hex
	added   []string // since Flush
}

func (r *recorder) Room() int { return 128 - len(r.added) }
func (r *recorder) Add(packet []byte, _ uint32) {
	r.added = append(r.added, hex.EncodeToString(packet))
}

func (r *recorder) Flush() (int, error) {
	r.packets, r.added = append(r.packets, r.added...), r.added[:0]
	return 0, nil
}

// listenLoopback returns a UDP socket on the loopback device.
func listenLoopback(t testing.TB) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// newDownlink returns the downlink of testUE, and its device.
func newDownlink(t testing.TB) (*downlink, *recorder) {
	t.Helper()
	mem, err := newArena()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mem.free)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	conn, device := listenLoopback(t), &recorder{}
	u := &ue{UE: testUE, out: device}
	return &downlink{
		conn: conn, mem: mem, log: log,
		byTEID: map[uint32]*ue{testUE.DownlinkTEID: u},
		byPeer: map[fteid]*ue{{testUE.UplinkTEID, testUE.UPF}: u},
		paths:  newPaths(conn, []UE{testUE}, log),
		indic:  newErrorIndicator(conn, loopback),
	}, device
}

// take gives the downlink datagrams as one batch.
func (d *downlink) take(from netip.AddrPort, datagrams ...[]byte) {
	for i, b := range datagrams {
		n := copy(d.mem.slot(i), b)
		d.message(d.mem.slot(i)[:n], n, from)
	}
	d.flush()
}

func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDownlink(t *testing.T) {
	compact4, compact6 := strings.ReplaceAll(user4, " ", ""), strings.ReplaceAll(user6, " ", "")
	for _, tc := range []struct {
		name string
		in   string // UDP payload
		want string // user packet that the device gets
		verdict
	}{
		{"no optional word", "30ff 0014 00000021" + user4, compact4, delivered},
		{"PDU Session Container, QFI 9", "34ff 001c 00000021 0000 00 85 01000900" + user4, compact4, delivered},
		{"QFI of another flow", "34ff 001c 00000021 0000 00 85 01000500" + user4, compact4, delivered},
		{"long PDU Session Container", "34ff 0020 00000021 0000 00 85 02000900 00000000" + user4, compact4, delivered},
		{"S and PN", "33ff 0018 00000021 0007 01 00" + user4, compact4, delivered},
		{"IPv6", "34ff 0030 00000021 0000 00 85 01000900" + user6, compact6, delivered},
		{"octets after the message", "30ff 0014 00000021" + user4 + "dead", compact4, delivered},
		{"no such TEID", "30ff 0014 00000022" + user4, "", unknownTEID},
		{"TEID 0", "30ff 0014 00000000" + user4, "", unknownTEID},
		{"nothing", "", "", malformed},
		{"header cut", "30ff 0014 000000", "", malformed},
		{"length beyond the datagram", "30ff 0015 00000021" + user4, "", malformed},
		{"GTP'", "20ff 0014 00000021" + user4, "", malformed},
		{"extension header of length 0", "34ff 0008 00000021 0000 00 85 00000000", "", malformed},
		{"extension header to comprehend", "34ff 001c 00000021 0000 00 ff 01000000" + user4, "", malformed},
		{"no user packet", "30ff 0000 00000021", "", badTPDU},
		{"19 octets of IPv4", "30ff 0013 00000021" + user4[:len(user4)-2], "", badTPDU},
		{"39 octets of IPv6", "30ff 0027 00000021" + user6[:len(user6)-2], "", badTPDU},
		{"IP version 5", "30ff 0014 00000021 55" + user4[2:], "", badTPDU},
		{"Echo Request", "3201 0004 00000000 0007 0000", "", echoRequest},
		{"Echo Response", "3202 0006 00000000 0007 0000 0e00", "", echoResponse},
		{"End Marker", "30fe 0000 00000021", "", endMarker},
		{"End Marker of nobody", "30fe 0000 00000022", "", unknownTEID},
		{"Error Indication", "321a 0010 00000000 0000 0000 10 00000011 85 0004 7f000001", "", errorIndication},
		{"Error Indication, IEs that are not known",
			"321a 0017 00000000 0000 0000 0e05 10 00000011 85 0004 7f000001 8d 0002 0868", "", errorIndication},
		{"Error Indication about another UPF", "321a 0010 00000000 0000 0000 10 00000011 85 0004 7f000002", "", unknownTEID},
		{"Error Indication without peer", "321a 0009 00000000 0000 0000 10 00000011", "", malformed},
		{"Error Indication cut", "321a 000f 00000000 0000 0000 10 00000011 85 0004 7f0000", "", malformed},
		{"Supported Extension Headers Notification", "321f 0007 00000000 0000 0000 8d 01 85", "", otherMessage},
		{"message type 77", "304d 0000 00000021", "", otherMessage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, device := newDownlink(t)
			d.take(netip.AddrPortFrom(loopback, 9), octets(t, tc.in))
			for v := range verdicts {
				want := uint64(0)
				if v == tc.verdict {
					want = 1
				}
				if got := d.counts[v].Load(); got != want {
					t.Errorf("count %d: got %d, want %d", v, got, want)
				}
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, device.packets); diff != "" {
				t.Errorf("device (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDownlinkBatch gives one batch of packets that lie in the slots next to
// each other: none may touch another.
func TestDownlinkBatch(t *testing.T) {
	d, device := newDownlink(t)
	d.take(netip.AddrPortFrom(loopback, 9),
		octets(t, "30ff 0014 00000021"+user4), octets(t, "30ff 0014 00000099"+user4),
		octets(t, "30ff 0028 00000021"+user6), octets(t, "34ff 001c 00000021 0000 00 85 01000500"+user4))
	want := []string{
		strings.ReplaceAll(user4, " ", ""), strings.ReplaceAll(user6, " ", ""), strings.ReplaceAll(user4, " ", ""),
	}
	if diff := cmp.Diff(want, device.packets); diff != "" {
		t.Errorf("device (-want +got):\n%s", diff)
	}
	u := d.byTEID[testUE.DownlinkTEID]
	if u.packets.Load() != 3 || u.total.Load() != 80 || u.otherQFI.Load() != 1 || u.noQFI.Load() != 2 {
		t.Errorf("got %d packets, %d octets, %d of another QFI, %d without; want 3, 80, 1, 2",
			u.packets.Load(), u.total.Load(), u.otherQFI.Load(), u.noQFI.Load())
	}
}

func TestDownlinkPeers(t *testing.T) {
	d, device := newDownlink(t)
	d.peers = []netip.Prefix{netip.MustParsePrefix("10.3.0.0/24")}
	b := octets(t, "30ff 0014 00000021"+user4)
	d.take(netip.MustParseAddrPort("10.3.1.1:2152"), b)
	d.take(netip.MustParseAddrPort("10.3.0.1:2152"), b)
	if d.counts[unknownPeer].Load() != 1 || d.counts[delivered].Load() != 1 || len(device.packets) != 1 {
		t.Errorf("got %d unknown, %d delivered; want 1, 1", d.counts[unknownPeer].Load(), d.counts[delivered].Load())
	}
}

func TestDownlinkAllocates(t *testing.T) {
	d, _ := newDownlink(t)
	u := d.byTEID[testUE.DownlinkTEID]
	u.out = discard{}
	b := octets(t, "34ff 001c 00000021 0000 00 85 01000900"+user4)
	from := netip.AddrPortFrom(loopback, 9)
	if n := testing.AllocsPerRun(1000, func() { d.take(from, b, b, b) }); n != 0 {
		t.Errorf("%v allocations per batch, want 0", n)
	}
}

// discard is a device that forgets what is written to it.
type discard struct{ packetWriter }

func (discard) Room() int           { return 1 }
func (discard) Add([]byte, uint32)  {}
func (discard) Flush() (int, error) { return 0, nil }

// FuzzDownlink sends one datagram: it ends as exactly one count, and reaches
// the UE if and only if it is a G-PDU by the book, octet for octet.
func FuzzDownlink(f *testing.F) {
	for _, s := range []string{
		"30ff 0014 00000021" + user4,
		"34ff 001c 00000021 0000 00 85 01000900" + user4,
		"34ff 0020 00000021 0000 00 c0 01000085 01000900" + user4,
		"33ff 0018 00000021 0007 01 00" + user4,
		"34ff 0030 00000021 0000 00 85 01000900" + user6,
		"34ff 0004 00000021 0000 00 85",
		"3201 0004 00000000 0007 0000",
		"321a 0010 00000000 0000 0000 10 00000011 85 0004 7f000001",
		"30fe 0000 00000021",
	} {
		f.Add(octets(f, s))
	}
	d, device := newDownlink(f)
	from := netip.AddrPortFrom(loopback, 9)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > slotSize {
			return
		}
		before := d.datagrams()
		device.packets = device.packets[:0]
		d.take(from, b)
		if n := d.datagrams() - before; n != 1 {
			t.Errorf("%x: %d counts, want 1", b, n)
		}
		var want []string
		if packet := userPacket(b, testUE.DownlinkTEID); packet != nil {
			want = []string{hex.EncodeToString(packet)}
		}
		if !slices.Equal(want, device.packets) {
			t.Errorf("%x: device got %v, want %v", b, device.packets, want)
		}
	})
}

func (d *downlink) datagrams() (n uint64) {
	for v := range d.counts {
		n += d.counts[v].Load()
	}
	return n
}

// userPacket is the oracle: the user packet of a G-PDU for teid that has at
// most [gtpu.MaxExtensions] extension headers, read octet by octet as TS
// 29.281, 5.1 and 5.2 tell; nil for anything else.
func userPacket(b []byte, teid uint32) []byte {
	r := bytes.NewReader(b)
	var h struct {
		Flags, Type byte
		Length      uint16
		TEID        uint32
	}
	if binary.Read(r, binary.BigEndian, &h) != nil || h.Flags>>4 != 3 || h.Type != 255 || h.TEID != teid {
		return nil
	}
	if int(h.Length) > r.Len() {
		return nil
	}
	rest := b[8 : 8+int(h.Length)]
	if h.Flags&7 == 0 {
		return ipPacket(rest)
	}
	if len(rest) < 4 {
		return nil
	}
	next := rest[3]
	if h.Flags&4 == 0 {
		next = 0
	}
	rest = rest[4:]
	for range gtpu.MaxExtensions + 1 {
		if next == 0 {
			return ipPacket(rest)
		}
		if !gtpu.Comprehended(next) || len(rest) == 0 || rest[0] == 0 || len(rest) < 4*int(rest[0]) {
			return nil
		}
		end := 4 * int(rest[0])
		next, rest = rest[end-1], rest[end:]
	}
	return nil
}

func ipPacket(b []byte) []byte {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4, len(b) >= 40 && b[0]>>4 == 6:
		return b
	}
	return nil
}
