package transport

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/sctp"
)

// memory is a wire whose packets the test makes and takes.
type memory struct {
	in   chan []byte
	out  chan []byte
	from netip.AddrPort
	done chan struct{}
	once *sync.Once
}

func newMemory() memory {
	return memory{make(chan []byte), make(chan []byte, 1000), netip.MustParseAddrPort("192.0.2.9:9899"), make(chan struct{}), new(sync.Once)}
}

func (m memory) read(b []byte) (int, netip.AddrPort, error) {
	select {
	case c := <-m.in:
		return copy(b, c), m.from, nil
	case <-m.done:
		return 0, netip.AddrPort{}, net.ErrClosed
	}
}

func (m memory) write(b []byte, _ netip.AddrPort) error {
	select {
	case m.out <- append([]byte(nil), b...):
	default:
	}
	return nil
}

func (m memory) local() netip.Addr { return netip.MustParseAddr("192.0.2.1") }
func (m memory) Close() error      { m.once.Do(func() { close(m.done) }); return nil }

// packetOf makes an SCTP packet out of hex behind the ports.
func packetOf(t testing.TB, source, target uint16, tag uint32, chunks string) []byte {
	t.Helper()
	rest, err := hex.DecodeString(strings.ReplaceAll(chunks, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	b := append(make([]byte, sctpHeader), rest...)
	binary.BigEndian.PutUint32(b[offSCTPTag:], tag)
	setPorts(b, source, target)
	return b
}

// kernelInit is an INIT as Linux sends it: addresses, address types, ECN, extensions,
// forward TSN, and those of authentication. Source: RFC 9260, 3.3.2; net/sctp/sm_make_chunk.c.
const kernelInit = "01 00 0054 11223344 0001a000 0005 0005 00000001" +
	"0005 0008 c0000209" + // IPv4 address
	"000c 0006 0005 0000" + // supported address types: IPv4
	"8000 0004" + // ECN capable
	"8008 000a c1 80 c0 82 0f c2 0000" + // supported extensions, padded
	"c000 0004" + // forward TSN
	"8002 0008 01020304 8004 0006 0001 0000 8003 0006 80c1 0000" // random, HMAC algorithms, chunks

// TestKernelInit: Linux's INIT is answered from our port, with its tag, and a cookie.
func TestKernelInit(t *testing.T) {
	m := newMemory()
	s, err := listenSCTP(P5Config{Address: "192.0.2.1:50001"}, func(netip.Addr, uint16) (wire, error) { return m, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close(); m.Close() }()
	init := packetOf(t, 33000, 50001, 0, kernelInit)
	binary.BigEndian.PutUint16(init[offSCTPChunk+2:], uint16(len(init)-sctpHeader))
	setPorts(init, 33000, 50001)
	m.in <- init
	select {
	case b := <-m.out:
		if !goodPacket(b) || binary.BigEndian.Uint16(b) != 50001 || binary.BigEndian.Uint16(b[2:]) != 33000 || tagOf(b) != 0x11223344 || chunkOf(b) != chunkInitAck {
			t.Errorf("got %x, want INIT ACK from 50001 to 33000 with tag 11223344", b)
		}
	case <-time.After(patience):
		t.Fatal("no answer")
	}
}

// TestPlain: of the parameters of an INIT those stay that are of use.
func TestPlain(t *testing.T) {
	const fixed = "11223344 0001a000 0005 0005 00000001"
	for _, tc := range []struct{ name, in, want string }{
		{"Linux", kernelInit, "01 00 0024" + fixed + "8008 000a c1 80 c0 82 0f c2 0000" + "c000 0004"},
		{"none", "01 00 0014" + fixed, "01 00 0014" + fixed},
		{"the last one has padding", "01 00 001e" + fixed + "8008 0005 c1 000000", "01 00 0019" + fixed + "8008 0005 c1 000000"},
		{"cut off", "01 00 001c" + fixed + "c000 0004 8008 00ff", "01 00 0018" + fixed + "c000 0004"},
		{"no length", "01 00 001c" + fixed + "8008 0000 c000 0004", "01 00 0014" + fixed},
		{"data", "00 03 0011 00000001 0000 0000 0000002a 41 000000", "00 03 0011 00000001 0000 0000 0000002a 41 000000"},
	} {
		got := hex.EncodeToString(plain(packetOf(t, 1, 2, 0, tc.in))[offSCTPChunk:])
		if want := hex.EncodeToString(packetOf(t, 1, 2, 0, tc.want)[offSCTPChunk:]); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, want)
		}
	}
}

// TestStrangers: packets that are damaged, for others, or of no association change
// nothing; the peer of an association that is gone is told; as many handshakes may
// pend as may.
func TestStrangers(t *testing.T) {
	m := newMemory()
	begun := 0
	e := newEndpoint(m, 50001, func(a netip.Addr) bool { return a != netip.MustParseAddr("203.0.113.1") }, func(*path) { begun++ })
	var refused []netip.AddrPort
	e.refused = func(from netip.AddrPort) { refused = append(refused, from) }
	init := packetOf(t, 1000, 50001, 0, kernelInit)
	damaged := append([]byte(nil), init...)
	damaged[20] ^= 1
	data := packetOf(t, 1000, 50001, 77, "00 03 0011 00000001 0000 0000 0000002a 41 000000")
	for _, tc := range []struct {
		name   string
		b      []byte
		from   string
		answer string // hex of the chunk
	}{
		{"damaged", damaged, "192.0.2.9", ""},
		{"short", init[:14], "192.0.2.9", ""},
		{"another port", packetOf(t, 1000, 50002, 0, kernelInit), "192.0.2.9", ""},
		{"not allowed", init, "203.0.113.1", ""},
		{"not allowed, no INIT", data, "203.0.113.1", ""},
		{"init with a tag", packetOf(t, 1000, 50001, 5, kernelInit), "192.0.2.9", ""},
		{"data of no association", data, "192.0.2.9", "06010004"},
		{"abort of no association", packetOf(t, 1000, 50001, 77, "06 00 0004"), "192.0.2.9", ""},
	} {
		e.packet(tc.b, netip.AddrPortFrom(netip.MustParseAddr(tc.from), 0))
		got := ""
		select {
		case b := <-m.out:
			got = hex.EncodeToString(b[offSCTPChunk:])
			if !goodPacket(b) || tagOf(b) != 77 || binary.BigEndian.Uint16(b) != 50001 || binary.BigEndian.Uint16(b[2:]) != 1000 {
				t.Errorf("%s: got %x", tc.name, b)
			}
		default:
		}
		if got != tc.answer || begun != 0 || len(e.paths) != 0 {
			t.Errorf("%s: got answer %q, %d begun, want %q", tc.name, got, begun, tc.answer)
		}
	}
	if len(refused) != 1 || refused[0] != netip.MustParseAddrPort("203.0.113.1:1000") {
		t.Errorf("got %v refused, want 203.0.113.1:1000 once", refused)
	}
	for i := range uint16(1000) {
		e.packet(packetOf(t, 1000+i, 50001, 0, kernelInit), netip.MustParseAddrPort("192.0.2.9:0"))
	}
	if len(e.paths) != maxPending || len(e.order) != maxPending || begun != 1000 {
		t.Errorf("got %d associations, %d pending, %d begun", len(e.paths), len(e.order), begun)
	}
}

// TestTags: only packets with the association's verification tag are its own; and SHUTDOWN
// acknowledges what the last SACK did.
func TestTags(t *testing.T) {
	m := newMemory()
	var p *path
	e := newEndpoint(m, 50001, func(netip.Addr) bool { return true }, func(made *path) { p = made })
	from := netip.MustParseAddrPort("192.0.2.9:0")
	give := func(tag uint32, chunks string) bool {
		e.packet(packetOf(t, 1000, 50001, tag, chunks), from)
		select {
		case b := <-p.in:
			if !goodPacket(b) || binary.BigEndian.Uint16(b) != pionPort || binary.BigEndian.Uint16(b[2:]) != pionPort {
				t.Errorf("got %x", b)
			}
			return true
		default:
			return false
		}
	}
	e.packet(packetOf(t, 1000, 50001, 0, kernelInit), from)
	<-p.in
	if _, err := p.Write(packetOf(t, pionPort, pionPort, 0x11223344, "02 00 0014 000000aa 0001a000 0005 0005 00000001")); err != nil {
		t.Fatal(err)
	}
	const data, abort = "00 03 0011 00000001 0000 0000 0000002a 41 000000", "06 00 0004"
	for _, tc := range []struct {
		name   string
		tag    uint32
		chunks string
		want   bool
	}{
		{"ours", 0xaa, data, true}, {"theirs", 0x11223344, data, false}, {"0", 0, data, false},
		{"init again", 0, kernelInit, true}, {"init with a tag", 0xaa, kernelInit, false},
		{"abort", 0xaa, abort, true}, {"abort with another tag", 0xab, abort, false},
		{"abort that reflects", 0x11223344, "06 01 0004", true}, {"abort that reflects another", 0xaa, "06 01 0004", false},
	} {
		if got := give(tc.tag, tc.chunks); got != tc.want {
			t.Errorf("%s: taken %v, want %v", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct{ sent, want string }{
		{"07 00 0008 99999999", "0700000800000000"}, // the TSN before INIT's
		{"03 00 0010 00000005 00010000 0000 0000", "0300001000000005000100000000" + "0000"},
		{"07 00 0008 99999999", "0700000800000005"},
	} {
		for len(m.out) > 0 {
			<-m.out
		}
		if _, err := p.Write(packetOf(t, pionPort, pionPort, 0x11223344, tc.sent)); err != nil {
			t.Fatal(err)
		}
		if b := <-m.out; !goodPacket(b) || hex.EncodeToString(b[offSCTPChunk:]) != tc.want {
			t.Errorf("sent %s: got %x, want %s", tc.sent, b, tc.want)
		}
	}
	e.settle(p)
	if give(0, kernelInit) {
		t.Error("an INIT was taken behind the handshake")
	}
}

// FuzzSCTP: whatever packets come, with a right checksum, no more associations begin than
// may, and what an association is given carries its tag.
func FuzzSCTP(f *testing.F) {
	f.Add(packetOf(f, 1000, 50001, 0, kernelInit), uint16(1))
	f.Add(packetOf(f, 1000, 50001, 0xaa, "00 03 0011 00000001 0000 0000 0000002a 41 000000"), uint16(2))
	f.Add(packetOf(f, 1000, 50001, 0xaa, "06 01 0004"), uint16(3))
	m := newMemory()
	var begun []*path
	e := newEndpoint(m, 50001, func(netip.Addr) bool { return true }, func(p *path) { begun = append(begun, p) })
	f.Fuzz(func(t *testing.T, b []byte, source uint16) {
		begun = begun[:0]
		if len(b) >= sctpHeader {
			setPorts(b, source, 50001)
		}
		e.packet(b, netip.MustParseAddrPort("192.0.2.9:0"))
		if len(e.paths) > maxPending || len(begun) > 1 {
			t.Fatalf("%d associations, %d begun", len(e.paths), len(begun))
		}
		for _, p := range e.paths {
			select {
			case c := <-p.in:
				if chunkOf(c) != chunkInit && tagOf(c) == 0 || !goodPacket(c) {
					t.Fatalf("%x: taken", c)
				}
				sctp.TryMarshalUnmarshal(c) // Pion reads it
			default:
			}
		}
		for len(m.out) > 0 {
			if c := <-m.out; !goodPacket(c) || chunkOf(c) != chunkAbort {
				t.Fatalf("answered %x", c)
			}
		}
	})
}
