package vnet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// flow makes packets of one flow, as a sender makes them.
type flow struct {
	v6, tcp, df bool
	port        uint16
	id          uint16
	seq         uint32
}

// packet returns the next packet with this payload and, of TCP, these flags.
func (f *flow) packet(payload []byte, flags byte) []byte {
	protocol, upper := byte(unix.IPPROTO_UDP), make([]byte, inet.LenUDP)
	if f.tcp {
		protocol, upper = unix.IPPROTO_TCP, make([]byte, inet.LenTCP+12)
		binary.BigEndian.PutUint32(upper[4:], f.seq)
		binary.BigEndian.PutUint32(upper[8:], 77)
		upper[12], upper[13] = 8<<4, flags
		binary.BigEndian.PutUint16(upper[14:], 500)
		copy(upper[20:], "\x01\x01\x08\x0a12345678")
		f.seq += uint32(len(payload))
	} else {
		binary.BigEndian.PutUint16(upper[4:], uint16(inet.LenUDP+len(payload)))
	}
	binary.BigEndian.PutUint16(upper, f.port)
	binary.BigEndian.PutUint16(upper[2:], 9)
	upper = append(upper, payload...)
	ip := f.header(protocol, len(upper))
	addresses := ip[12:]
	if f.v6 {
		addresses = ip[8:]
	}
	at := 6
	if f.tcp {
		at = 16
	}
	binary.BigEndian.PutUint16(upper[at:], ^checksum.Fold(checksum.Sum(upper, checksum.Pseudo(addresses, protocol)+checksum.Word(uint16(len(upper))))))
	return append(ip, upper...)
}

func (f *flow) header(protocol byte, payload int) []byte {
	if f.v6 {
		ip := make([]byte, inet.LenIPv6)
		ip[0], ip[6], ip[7] = 0x60, protocol, 63
		binary.BigEndian.PutUint16(ip[4:], uint16(payload))
		ip[8], ip[23], ip[24], ip[39] = 0xfd, 1, 0xfd, 2
		return ip
	}
	ip := make([]byte, inet.LenIPv4)
	ip[0], ip[8], ip[9] = 0x45, 63, protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(inet.LenIPv4+payload))
	binary.BigEndian.PutUint16(ip[4:], f.id)
	f.id++
	if f.df {
		ip[6] = 0x40
	}
	copy(ip[12:], []byte{10, 45, 0, 1, 198, 18, 0, 1})
	binary.BigEndian.PutUint16(ip[10:], ^checksum.Fold(checksum.Sum(ip, 0)))
	return ip
}

// fake returns a writer whose queue writes nothing.
func fake(udp bool) *Writer {
	return NewWriter(&Queue{device: &Device{UDP: udp}}, 256, [6]byte{}, [6]byte{})
}

// written returns what w would write, each with its header, and forgets it.
func written(w *Writer) (headers []header, packets [][]byte) {
	for k := range w.items {
		i := &w.items[k]
		w.gather(i)
		packet := bytes.Clone(w.packets[i.first])
		for p := w.next[i.first]; p >= 0; p = w.next[p] {
			packet = append(packet, w.packets[p][i.shape.headers:]...)
		}
		var h header
		h.get(i.header[:])
		headers, packets = append(headers, h), append(packets, packet)
	}
	w.forget()
	return headers, packets
}

// cut is what a reader makes of what was written.
func cut(t testing.TB, h header, packet []byte) [][]byte {
	t.Helper()
	if h == (header{}) {
		return [][]byte{packet}
	}
	var s splitter
	if !s.begin(packet, 0, h) {
		t.Fatalf("%+v of %d octets makes no sense", h, len(packet))
	}
	var all [][]byte
	for {
		out := make([]byte, MaxPacket)
		n := s.next(out)
		if n == 0 {
			return all
		}
		all = append(all, out[:n])
	}
}

// TestMerge: what goes together, what does not, and that cutting gives back every
// octet.
func TestMerge(t *testing.T) {
	full, short := bytes.Repeat([]byte("x"), 1000), []byte("end")
	wrong := func(p []byte) []byte { p[len(p)-1]++; return p }
	for _, tc := range []struct {
		name    string
		noUDP   bool
		packets func() [][]byte
		want    []int // packets in each that is written
	}{
		{"UDP", false, func() [][]byte {
			f := flow{}
			return [][]byte{f.packet(full, 0), f.packet(full, 0), f.packet(short, 0), f.packet(short, 0)}
		}, []int{3, 1}},
		{"UDP over IPv6", false, func() [][]byte {
			f := flow{v6: true}
			return [][]byte{f.packet(full, 0), f.packet(full, 0)}
		}, []int{2}},
		{"UDP, kernel without", true, func() [][]byte {
			f := flow{}
			return [][]byte{f.packet(full, 0), f.packet(full, 0)}
		}, []int{1, 1}},
		{"UDP, longer behind", false, func() [][]byte {
			f := flow{}
			return [][]byte{f.packet(short, 0), f.packet(full, 0)}
		}, []int{1, 1}},
		{"UDP, wrong checksum in front", false, func() [][]byte {
			f := flow{}
			return [][]byte{wrong(f.packet(full, 0)), f.packet(full, 0)}
		}, []int{1, 1}},
		{"UDP, wrong checksum behind", false, func() [][]byte {
			f := flow{}
			return [][]byte{f.packet(full, 0), wrong(f.packet(full, 0)), f.packet(full, 0)}
		}, []int{1, 1, 1}},
		{"UDP without checksum", false, func() [][]byte {
			f := flow{}
			a, b := f.packet(full, 0), f.packet(full, 0)
			copy(a[26:], "\x00\x00")
			copy(b[26:], "\x00\x00")
			return [][]byte{a, b}
		}, []int{1, 1}},
		{"an Identification is missing", false, func() [][]byte {
			f := flow{}
			a := f.packet(full, 0)
			f.id++
			return [][]byte{a, f.packet(full, 0)}
		}, []int{1, 1}},
		{"an Identification is missing, DF", false, func() [][]byte {
			f := flow{df: true}
			a := f.packet(full, 0)
			f.id++
			return [][]byte{a, f.packet(full, 0)}
		}, []int{1, 1}},
		{"the same Identification, DF", false, func() [][]byte {
			f := flow{df: true, id: 1}
			a := f.packet(full, 0)
			f.id--
			return [][]byte{a, f.packet(full, 0)}
		}, []int{1, 1}},
		{"TCP", false, func() [][]byte {
			f := flow{tcp: true}
			return [][]byte{f.packet(full, flagACK), f.packet(full, flagACK), f.packet(short, flagACK|flagPSH), f.packet(full, flagACK)}
		}, []int{3, 1}},
		{"TCP over IPv6", false, func() [][]byte {
			f := flow{tcp: true, v6: true}
			return [][]byte{f.packet(full, flagACK), f.packet(full, flagACK)}
		}, []int{2}},
		{"TCP, FIN", false, func() [][]byte {
			f := flow{tcp: true}
			return [][]byte{f.packet(full, flagACK), f.packet(full, flagACK|flagFIN)}
		}, []int{1, 1}},
		{"TCP, PSH in front", false, func() [][]byte {
			f := flow{tcp: true}
			return [][]byte{f.packet(full, flagACK|flagPSH), f.packet(full, flagACK)}
		}, []int{1, 1}},
		{"TCP, a segment is missing", false, func() [][]byte {
			f := flow{tcp: true}
			a := f.packet(full, flagACK)
			f.seq++
			return [][]byte{a, f.packet(full, flagACK)}
		}, []int{1, 1}},
		{"two flows in turn", false, func() [][]byte {
			f, g := flow{port: 1}, flow{port: 2}
			return [][]byte{f.packet(full, 0), g.packet(full, 0), f.packet(full, 0), g.packet(full, 0)}
		}, []int{2, 2}},
		{"more than the kernel takes", false, func() [][]byte {
			f := flow{}
			var all [][]byte
			for range 70 {
				all = append(all, f.packet(full, 0))
			}
			return all
		}, []int{64, 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := tc.packets()
			w := fake(!tc.noUDP)
			for _, p := range in {
				w.Add(bytes.Clone(p), uint32(p[headerPort(p)])<<24)
			}
			headers, packets := written(w)
			var got []int
			var out [][]byte
			for i := range packets {
				parts := cut(t, headers[i], packets[i])
				got, out = append(got, len(parts)), append(out, parts...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("packets in each (-want +got):\n%s", diff)
			}
			same(t, in, out)
		})
	}
}

// headerPort is where the low octet of the source port is.
func headerPort(p []byte) int {
	if p[0]>>4 == 6 {
		return inet.LenIPv6 + 1
	}
	return inet.LenIPv4 + 1
}

// same compares packets of each flow, in their order.
func same(t testing.TB, want, got [][]byte) {
	t.Helper()
	flows := func(all [][]byte) map[string][]string {
		m := map[string][]string{}
		for _, p := range all {
			key := fmt.Sprintf("%d", p[headerPort(p)])
			m[key] = append(m[key], fmt.Sprintf("%x", p))
		}
		return m
	}
	if diff := cmp.Diff(flows(want), flows(got)); diff != "" {
		t.Errorf("packets (-want +got):\n%s", diff)
	}
}

// TestMergeUnnumbered: datagrams without Identification go together, and come out numbered
// from 0 on. Nothing else of them changes.
func TestMergeUnnumbered(t *testing.T) {
	f, g := flow{df: true}, flow{df: true}
	w := fake(true)
	var want [][]byte
	for range 3 {
		f.id = 0
		w.Add(f.packet(bytes.Repeat([]byte{1}, 100), 0), 1<<24)
		want = append(want, g.packet(bytes.Repeat([]byte{1}, 100), 0))
	}
	headers, packets := written(w)
	if len(packets) != 1 {
		t.Fatalf("%d packets are written, want one super-packet", len(packets))
	}
	same(t, want, cut(t, headers[0], packets[0]))
}

// TestMergeRandom: whatever goes in comes out again, flow by flow.
func TestMergeRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		flows := make([]flow, 1+r.IntN(4))
		for i := range flows {
			flows[i] = flow{v6: r.IntN(3) == 0, tcp: r.IntN(2) == 0, df: r.IntN(2) == 0, port: uint16(i), id: uint16(r.Uint32()), seq: r.Uint32()}
		}
		w := fake(true)
		var in, out [][]byte
		for range 1 + r.IntN(200) {
			f := &flows[r.IntN(len(flows))]
			payload := bytes.Repeat([]byte{byte(r.Uint32())}, []int{1, 500, 500, 500, 1348}[r.IntN(5)])
			p := f.packet(payload, []byte{flagACK, flagACK, flagACK, flagACK | flagPSH, flagACK | flagFIN}[r.IntN(5)])
			if r.IntN(20) == 0 {
				p[len(p)-1]++
			}
			in = append(in, p)
			w.Add(bytes.Clone(p), uint32(f.port)<<24)
		}
		headers, packets := written(w)
		for i := range packets {
			out = append(out, cut(t, headers[i], packets[i])...)
		}
		same(t, in, out)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzSplit: whatever the kernel says of a packet, nothing is read or written beside it,
// and all of its payload comes out, in packets that are no longer than they may be.
func FuzzSplit(f *testing.F) {
	for _, tcp := range []bool{false, true} {
		w, one := fake(true), flow{tcp: tcp}
		for range 3 {
			w.Add(one.packet([]byte("payload"), flagACK), 0)
		}
		headers, packets := written(w)
		var h [lenHeader]byte
		headers[0].put(h[:])
		f.Add(append(h[:], packets[0]...), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, tap bool) {
		if len(b) < lenHeader || len(b) > MaxPacket {
			return
		}
		link := 0
		if tap {
			link = inet.LenEthernet
		}
		var h header
		h.get(b)
		packet := b[lenHeader:]
		complete(bytes.Clone(packet), h)
		var s splitter
		if !s.begin(packet, link, h) {
			return
		}
		headers, payload := s.headers, bytes.Clone(packet[s.headers:])
		out := make([]byte, len(packet))
		var got []byte
		for {
			n := s.next(out)
			if n == 0 {
				break
			}
			if n > headers+int(h.gsoSize) || n <= headers {
				t.Fatalf("%d octets, of which %d are headers, cut at %d", n, headers, h.gsoSize)
			}
			got = append(got, out[headers:n]...)
		}
		if !bytes.Equal(got, payload) {
			t.Errorf("%d octets of payload came out of %d", len(got), len(payload))
		}
	})
}

// FuzzMerge: any packet can be added, and comes out as it went in.
func FuzzMerge(f *testing.F) {
	one := flow{}
	f.Add(one.packet([]byte("a"), 0), one.packet([]byte("b"), 0))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) == 0 || len(b) == 0 || len(a) > 2000 || len(b) > 2000 {
			return
		}
		w := fake(true)
		w.Add(bytes.Clone(a), 0)
		w.Add(bytes.Clone(b), 0)
		headers, packets := written(w)
		var out [][]byte
		for i := range packets {
			out = append(out, cut(t, headers[i], packets[i])...)
		}
		if len(out) != 2 {
			t.Fatalf("%d packets, want 2", len(out))
		}
		for i, want := range [][]byte{a, b} {
			if got := out[i]; !bytes.Equal(got, want) && len(packets) == 2 {
				t.Errorf("packet %d\n got %x\nwant %x", i, got, want)
			}
		}
	})
}

// BenchmarkMerge is what a packet of 1400 octets costs that is put together with others.
func BenchmarkMerge(b *testing.B) {
	f := flow{}
	packets := make([][]byte, 64)
	for i := range packets {
		packets[i] = f.packet(make([]byte, 1400), 0)
	}
	w := fake(true)
	b.ReportAllocs()
	for i := 0; i < b.N; i += len(packets) {
		for _, p := range packets {
			w.Add(p, 0)
		}
		w.forget()
	}
}
