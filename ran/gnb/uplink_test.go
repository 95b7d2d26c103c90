package gnb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// source is a device that gives bursts of packets, and is then closed.
type source struct {
	bursts [][]int // packet sizes
	bufs   [][]byte
	sizes  []int // of the packets in bufs
}

// sourceRoom is where packets begin in a source's buffers.
const sourceRoom = superRoom + gtpu.LenGPDUWithQFI

func newSource(bursts ...[]int) *source {
	s := &source{bursts: bursts}
	for range batchSize {
		s.bufs = append(s.bufs, make([]byte, slotSize))
	}
	return s
}

func (s *source) Next() (int, error) {
	if len(s.bursts) == 0 {
		return 0, os.ErrClosed
	}
	s.sizes = s.bursts[0]
	s.bursts = s.bursts[1:]
	for i, size := range s.sizes {
		copy(s.bufs[i][sourceRoom:], testPacket(i, size))
	}
	return len(s.sizes), nil
}

func (s *source) Packet(i int) (buf []byte, start, end int) {
	return s.bufs[i], sourceRoom, sourceRoom + s.sizes[i]
}

func (s *source) Super(int) (vnet.Super, bool) { return vnet.Super{}, false }

// testPacket returns size octets that tell the ith packet of a burst from the
// others.
func testPacket(i, size int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, size) }

// upfAddress is a loopback address that nothing else listens at.
var upfAddress = netip.MustParseAddr("127.29.28.1")

// newUplinkBed returns the uplink of u on the loopback device, and the socket of
// its UPF.
func newUplinkBed(t testing.TB, u UE, in packetReader, disableGSO bool) (*uplink, *net.UDPConn) {
	t.Helper()
	u.UPF = upfAddress
	upf, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(u.UPF, gtpu.Port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { upf.Close() })
	if err := setBuffers(upf, receiveBuffer, 0); err != nil {
		t.Fatal(err)
	}
	up, err := newUplink(N3{Address: loopback, DisableGSO: disableGSO}, u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(up.free)
	up.in, up.senseless = in, new(uint64)
	return up, upf
}

// receive returns count datagrams in hex.
func receive(t *testing.T, conn *net.UDPConn, count int) []string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	got := make([]string, count)
	b := make([]byte, slotSize)
	for i := range got {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatalf("datagram %d of %d: %v", i, count, err)
		}
		got[i] = hex.EncodeToString(b[:n])
	}
	return got
}

func TestUplink(t *testing.T) {
	many := make([]int, 100)
	for i := range many {
		many[i] = 1456
	}
	for _, tc := range []struct {
		name   string
		qfi    uint8
		bursts [][]int
	}{
		{"one packet", 9, [][]int{{84}}},
		{"no PDU Session Container", 0, [][]int{{84}, {84, 84}}},
		{"one size", 63, [][]int{{1456, 1456, 1456}}},
		{"the last is smaller", 9, [][]int{{1456, 1456, 100}}},
		{"growing", 9, [][]int{{60, 1456, 1456, 60, 60, 1400}}},
		{"more than one message holds", 9, [][]int{many}},
		{"one after the other", 9, [][]int{{1228}, {1228}, {1228}, {60}}},
		{"more than one read takes", 9, [][]int{many[:44], many[:44], many[:10]}},
		{"largest", 9, [][]int{{maxDatagram - 16}}},
	} {
		for _, mode := range []string{"GSO", "single"} {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				ue := testUE
				ue.QFI = tc.qfi
				up, upf := newUplinkBed(t, ue, newSource(tc.bursts...), mode == "single")
				if up.gso == (mode == "single") {
					t.Fatalf("gso is %v", up.gso)
				}
				up.run()
				var want []string
				for _, burst := range tc.bursts {
					for i, size := range burst {
						want = append(want, hex.EncodeToString(wantGPDU(ue, testPacket(i, size))))
					}
				}
				if diff := cmp.Diff(want, receive(t, upf, len(want))); diff != "" {
					t.Errorf("N3 (-want +got):\n%s", diff)
				}
				if up.packets.Load() != uint64(len(want)) || up.errCount.Load() != 0 {
					t.Errorf("got %d packets, %d errors; want %d, 0", up.packets.Load(), up.errCount.Load(), len(want))
				}
			})
		}
	}
}

// wantGPDU is a G-PDU by the book. Source: TS 29.281, 5.1; TS 38.415, 5.5.2.2
// (PDU type 1 in the high half of the first octet).
func wantGPDU(u UE, packet []byte) []byte {
	var b []byte
	if u.QFI == 0 {
		b = append(b, 0x30, 0xff)
		b = binary.BigEndian.AppendUint16(b, uint16(len(packet)))
		b = binary.BigEndian.AppendUint32(b, u.UplinkTEID)
		return append(b, packet...)
	}
	b = append(b, 0x34, 0xff)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(packet)))
	b = binary.BigEndian.AppendUint32(b, u.UplinkTEID)
	b = append(b, 0, 0, 0, 0x85, 1, 0x10, u.QFI, 0)
	return append(b, packet...)
}

// TestUplinkRefused sends to a UPF that is not there: its host's ICMP errors
// are counted, and what comes after they are over is sent.
func TestUplinkRefused(t *testing.T) {
	device := newSource([]int{100}, []int{100, 100}, []int{100})
	up, upf := newUplinkBed(t, testUE, device, false)
	upf.Close()
	up.run()
	if sum := up.packets.Load() + up.errCount.Load(); sum != 4 || up.errCount.Load() == 0 {
		t.Errorf("got %d packets, %d errors; want 4 together, some of them errors", up.packets.Load(), up.errCount.Load())
	}
}

func TestUplinkAllocates(t *testing.T) {
	in := newSource([]int{1000, 1000, 1000, 60})
	up, upf := newUplinkBed(t, testUE, in, false)
	go func() { _, _ = io.Copy(io.Discard, upf) }()
	count, _ := in.Next()
	n := testing.AllocsPerRun(100, func() { up.encapsulate(count) })
	if n != 0 {
		t.Errorf("%v allocations per burst, want 0", n)
	}
}

func TestSegmentRun(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []int
		want int
	}{
		{"one", []int{100}, 1},
		{"equal", []int{100, 100, 100}, 3},
		{"smaller ends it", []int{100, 100, 50, 50}, 3},
		{"larger is of the next", []int{100, 100, 101}, 2},
		{"64 segments", repeat(100, 65), 64},
		{"65507 octets", repeat(1472, 46), 44},
		{"65507 octets exactly", []int{maxDatagram - 1, 1, 1}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			burst := make([][]byte, len(tc.in))
			for i, n := range tc.in {
				burst[i] = make([]byte, n)
			}
			if got := segmentRun(burst); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func repeat(size, count int) []int {
	s := make([]int, count)
	for i := range s {
		s[i] = size
	}
	return s
}
