package bmv2

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// TestMeter has packets of certain sizes at certain times, and the colours that RFC 2698, 4.1 gives them.
func TestMeter(t *testing.T) {
	type packet struct {
		at    int64 // nanoseconds
		units uint64
		want  uint64
	}
	tests := []struct {
		name    string
		cfg     MeterConfig
		packets []packet
	}{
		{"full buckets", MeterConfig{CIR: 1000, CBurst: 100, PIR: 2000, PBurst: 150}, []packet{
			{0, 100, green}, {0, 50, yellow}, {0, 1, red}}},
		{"red takes nothing", MeterConfig{CIR: 1000, CBurst: 100, PIR: 1000, PBurst: 100}, []packet{
			{0, 101, red}, {0, 100, green}}},
		{"yellow takes of the peak only", MeterConfig{CIR: 1000, CBurst: 10, PIR: 1000, PBurst: 100}, []packet{
			{0, 60, yellow}, {0, 60, red}, {0, 10, green}}},
		{"filled at its rate", MeterConfig{CIR: 1000, CBurst: 100, PIR: 1000, PBurst: 100}, []packet{
			{0, 100, green}, {999_999, 1, red}, {1_000_000, 1, green}, {1_999_999, 1, red}, {50_000_000, 49, green}, {50_000_000, 1, red}}},
		{"no fuller than the burst", MeterConfig{CIR: 1000, CBurst: 100, PIR: 1000, PBurst: 100}, []packet{
			{3600e9, 100, green}, {3600e9, 1, red}}},
		{"fractions are not lost", MeterConfig{CIR: 3, CBurst: 1, PIR: 3, PBurst: 1}, []packet{
			{0, 1, green}, {333_333_333, 1, red}, {333_333_334, 1, green}, {666_666_667, 1, green}, {1_000_000_000, 1, green}, {1_000_000_001, 1, red}}},
		{"great rates", MeterConfig{CIR: 1 << 62, CBurst: 1 << 63, PIR: 1<<64 - 1, PBurst: 1<<64 - 1}, []packet{
			{0, 1 << 63, green}, {1e9, 1 << 62, green}, {400 * 86400e9, 1 << 63, green}}},
		{"time that went back at another worker", MeterConfig{CIR: 1000, CBurst: 1, PIR: 1000, PBurst: 1}, []packet{
			{5_000_000, 1, green}, {4_000_000, 1, red}, {6_000_000, 1, green}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m meterCell
			if got := m.execute(0, 1<<40); got != green {
				t.Errorf("a meter that was not set gives %d", got)
			}
			m.configure(&tt.cfg, 0)
			for i, p := range tt.packets {
				if got := m.execute(p.at, p.units); got != p.want {
					t.Errorf("packet %d: colour %d, want %d", i, got, p.want)
				}
			}
			m.configure(nil, 0)
			if got := m.execute(0, 1<<40); got != green {
				t.Errorf("a meter that was taken back gives %d", got)
			}
		})
	}
}

// TestMeterWorkers lets several workers take from one bucket: neither more nor less than it has.
func TestMeterWorkers(t *testing.T) {
	var m meterCell
	m.configure(&MeterConfig{CBurst: 1000, PBurst: 1000}, 0)
	var n [4]int
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for range 500 {
				if m.execute(int64(i), 1) == green {
					n[i]++
				}
			}
		})
	}
	wg.Wait()
	if sum := n[0] + n[1] + n[2] + n[3]; sum != 1000 {
		t.Errorf("%d packets were green, want 1000", sum)
	}
}

// TestIndexedMeter sets a cell of an array, and sees its colour in the frame.
func TestIndexedMeter(t *testing.T) {
	for _, typ := range []string{"packets", "bytes"} {
		p := primProgram(primOf("execute_meter", named1("meter_array", "m1"), fieldOf("x", "b"), fieldOf("x", "a")))
		p.extra["meter_arrays"] = list{obj{"name": "m1", "id": 0, "type": typ, "rate_count": 2, "size": 4, "is_direct": false}}
		r := newRigOf(t, p.json())
		cfg := MeterConfig{CIR: 1, CBurst: 1, PIR: 1, PBurst: 2}
		if typ == "bytes" {
			cfg = MeterConfig{CIR: 8, CBurst: 7, PIR: 8, PBurst: 14}
		}
		r.s.Update(func(tx *Tx) {
			if err := tx.SetMeter(0, 3, &cfg); err != nil {
				t.Fatal(err)
			}
		})
		r.s.Update(func(tx *Tx) {
			if err := tx.SetMeter(0, 3, &MeterConfig{CIR: 2, PIR: 1}); !errors.Is(err, ErrInvalid) {
				t.Errorf("a peak rate below the committed one: %v, want ErrInvalid", err)
			}
		})
		colour := func(index byte) string {
			in := octets("09 0000 04050607")
			in[2] = index
			return r.send(0, in).frames[0][4:6]
		}
		var got string
		for _, index := range []byte{3, 3, 3, 2, 4} {
			got += colour(index)
		}
		r.now += 1e9
		got += colour(3)
		// Green, yellow, red; green where nothing was set; not written beyond the end; and green again.
		if want := "000102000900"; got != want {
			t.Errorf("%s: colours %s, want %s", typ, got, want)
		}
		r.s.View(func(tx *Tx) {
			if c, isSet, err := tx.Meter(0, 3); err != nil || !isSet || c != cfg {
				t.Errorf("%s: %v, %v, %v", typ, c, isSet, err)
			}
			if _, isSet, err := tx.Meter(0, 2); err != nil || isSet {
				t.Errorf("%s: cell 2: %v, %v", typ, isSet, err)
			}
		})
	}
}

// TestHashes has the check values of the algorithms.
func TestHashes(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     uint64
	}{
		{"crc16", "123456789", 0xbb3d}, {"crc32", "123456789", 0xcbf43926}, {"crc16_custom", "123456789", 0xbb3d},
		{"crc32_custom", "123456789", 0xcbf43926}, {"identity", "\x01\x02", 0x0102}, {"identity", "0123456789", 0x3031323334353637},
		{"xor16", "\x01\x02\x03", 0x0202}, {"xor16", "", 0},
	} {
		if got := hashes[tt.name]([]byte(tt.in)); got != tt.want {
			t.Errorf("%s of %q: %s, want %#x", tt.name, tt.in, fmt.Sprintf("%#x", got), tt.want)
		}
	}
}
