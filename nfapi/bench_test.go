package nfapi

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// benchmarked are the messages of the figures: each slot has them.
var benchmarked = []string{
	"oai-2025/SLOT.indication", "oai-2025/DL_TTI.request_1SSB_2PDCCH_2PDSCH", "oai-2025/UL_TTI.request_1PRACH_2PUSCH_2PUCCH", "oai-2025/TX_DATA.request_2x1500",
	"oai-2025/RX_DATA.indication_2x1500", "oai-2025/CRC.indication_2", "oai-2025/UCI.indication_2_F01",
}

// named are the vectors that are measured, and a TX_DATA.request of 2x8192.
func named(t testing.TB) []vector {
	var list []vector
	all := vectors(t)
	for _, name := range benchmarked {
		for _, v := range all {
			if v.Name == name {
				list = append(list, v)
			}
		}
	}
	if len(list) != len(benchmarked) {
		t.Fatalf("got %d vectors, want %d", len(list), len(benchmarked))
	}
	return append(list, txData(t, 8192))
}

// txData makes a TX_DATA.request of two transport blocks.
func txData(t testing.TB, octets int) vector {
	m := &TXDataRequest{SFN: 512}
	for i := range 2 {
		payload := make([]byte, octets)
		for j := range payload {
			payload[j] = byte(j*7 + i)
		}
		m.PDUs = append(m.PDUs, TXDataPDU{PDULength: uint32(octets + 12), PDUIndex: uint16(i), TLVs: []TXDataTLV{{Length: uint32(octets), Payload: payload}}})
	}
	b := make([]byte, 3*octets)
	n, err := OAI2025.EncodeP7(&Header{PhyID: 1}, m, b)
	if err != nil {
		t.Fatal(err)
	}
	return vector{Name: "oai-2025/TX_DATA.request_2x8192", octets: b[:n]}
}

func BenchmarkDecode(b *testing.B) {
	for _, v := range named(b) {
		b.Run(v.Name[9:], func(b *testing.B) {
			m := decoded(b, v)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				_, body, err := v.profile.ParseP7(v.octets)
				if err != nil || m.DecodeBody(v.profile, body) != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, v := range named(b) {
		b.Run(v.Name[9:], func(b *testing.B) {
			m := decoded(b, v)
			room := make([]byte, 2*len(v.octets))
			h := Header{PhyID: 1, Segment: 7}
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				if _, err := v.profile.EncodeP7(&h, m, room); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// reportCPU reports the time that the thread had a CPU, which other work on the
// machine does not lengthen as it does the time on the clock.
func reportCPU(b *testing.B) func() {
	runtime.LockOSThread()
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	start := t.Nano()
	return func() {
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
		b.ReportMetric(float64(t.Nano()-start)/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

func decoded(t testing.TB, v vector) Message {
	h, body, err := v.profile.parse(v.plane, v.octets)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMessage(h.MessageID)
	if err := m.DecodeBody(v.profile, body); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNoAllocation: what was decoded once is decoded and encoded without
// allocating, and so is what cannot be decoded.
func TestNoAllocation(t *testing.T) {
	for _, v := range vectors(t) {
		m := decoded(t, v)
		room := make([]byte, 2*len(v.octets))
		h, _, _ := v.profile.parse(v.plane, v.octets)
		if n := testing.AllocsPerRun(20, func() {
			_, body, err := v.profile.parse(v.plane, v.octets)
			if err != nil || m.DecodeBody(v.profile, body) != nil {
				t.Error(err)
			}
			if _, err := v.profile.encode(v.plane, &h, m, room); err != nil {
				t.Error(err)
			}
			if len(body) > 0 {
				_ = m.DecodeBody(v.profile, body[:len(body)-1])
			}
		}); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", v.Name, n)
		}
	}
}
