package pcap

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// written are files of another program's writer: two packets, the second cut to 60 octets.
func written(t testing.TB) map[string][]byte {
	t.Helper()
	var micro, nano, ng bytes.Buffer
	w, n := pcapgo.NewWriter(&micro), pcapgo.NewWriterNanos(&nano)
	g, err := pcapgo.NewNgWriter(&ng, layers.LinkTypeEthernet)
	err = errors.Join(err, w.WriteFileHeader(60, layers.LinkTypeEthernet), n.WriteFileHeader(60, layers.LinkTypeEthernet))
	for i, whole := range []int{60, 1514} {
		frame := bytes.Repeat([]byte{byte(i)}, 60)
		frame[12], frame[13] = 8, 0
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000+int64(i), 123_456_000), CaptureLength: 60, Length: whole}
		err = errors.Join(err, w.WritePacket(info, frame), n.WritePacket(info, frame), g.WritePacket(info, frame))
	}
	if err = errors.Join(err, g.Flush()); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"pcap": micro.Bytes(), "pcap, nanoseconds": nano.Bytes(), "pcapng": ng.Bytes()}
}

// TestRead reads packets with their times and lengths, and says when a file ends within one.
func TestRead(t *testing.T) {
	for name, file := range written(t) {
		for cut, want := range map[int]error{0: nil, 1: io.ErrUnexpectedEOF, 60: io.ErrUnexpectedEOF} {
			n := 0
			other, err := Read(bytes.NewReader(file[:len(file)-cut]), func(p *Packet) error {
				whole := []int{60, 1514}[n]
				if at := time.Unix(0, int64(p.At)); at.UnixNano() != (1_700_000_000+int64(n))*1e9+123_456_000 || p.Link != 1 || p.Whole != whole || len(p.Data) != 60 {
					t.Errorf("%s: packet %d: got %v, link type %d, %d of %d octets", name, n, at, p.Link, len(p.Data), p.Whole)
				}
				if ip, octets, why := p.IP(); why != "" || len(ip) != 46 || octets != whole-14 {
					t.Errorf("%s: packet %d: got %d octets of an IP packet of %d, %q", name, n, len(ip), octets, why)
				}
				n++
				return nil
			})
			if wantN := 2 - min(cut, 1); n != wantN || other != 0 || !errors.Is(err, want) {
				t.Errorf("%s, %d octets cut off: got %d packets, %d other blocks, %v; want %d, %v", name, cut, n, other, err, wantN, want)
			}
		}
	}
	stop := errors.New("stop")
	for name, file := range written(t) {
		if _, err := Read(bytes.NewReader(file), func(*Packet) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: got %v, want what the callback returned", name, err)
		}
	}
}

// TestTimes: units of interfaces, exact and bounded.
func TestTimes(t *testing.T) {
	for _, test := range []struct {
		resolution uint8
		offset     int64
		ticks      uint64
		want       time.Duration
	}{
		{6, 0, 1_700_000_000_123_456, 1_700_000_000_123_456_000},
		{9, 0, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789},
		{12, 0, 1_500_000_000_999, 1_500_000_000},
		{0, -5, 1_700_000_000, 1_699_999_995_000_000_000},
		{0x8a, 0, 1023, 999_023_437},
		{0x80, 0, 7, 7 * time.Second},
		{0xbf, 0, 1 << 63, time.Second},
		{0xff, 0, 1<<64 - 1, 0},
		{29, 0, 1<<64 - 1, 0},
		{28, 0, 1<<64 - 1, 1},
		{0, 0, 1<<64 - 1, latest},
		{6, 1<<63 - 1, 0, latest / time.Second * time.Second},
		{6, -1 << 63, 0, -latest / time.Second * time.Second},
	} {
		i := ngInterface{resolution: test.resolution, offset: test.offset}
		if got := i.at(test.ticks); got != test.want {
			t.Errorf("%d ticks of resolution %#x and %d s: got %d, want %d", test.ticks, test.resolution, test.offset, got, test.want)
		}
	}
}

// FuzzRead: whatever a file says, a packet is not longer than it may be, nor longer than it was
// on the link, and its IP packet is the end of it.
func FuzzRead(f *testing.F) {
	for _, file := range written(f) {
		f.Add(file)
		f.Add(file[:len(file)-20])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		n := 0
		_, err := Read(bytes.NewReader(file), func(p *Packet) error {
			n++
			ip, whole, why := p.IP()
			if len(p.Data) > min(maxBlock, len(file)) || p.Whole < len(p.Data) || p.At > latest || p.At < -latest {
				t.Errorf("got %d octets of %d, %v", len(p.Data), p.Whole, p.At)
			}
			if why == "" && (!bytes.HasSuffix(p.Data, ip) || whole < len(ip)) || why != "" && ip != nil {
				t.Errorf("IP packet of %d octets, %d on the link, %q", len(ip), whole, why)
			}
			return nil
		})
		if err != nil && !errors.Is(err, Error) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v is none that is documented", err)
		}
		if n > len(file)/16 {
			t.Errorf("%d packets in %d octets", n, len(file))
		}
	})
}
