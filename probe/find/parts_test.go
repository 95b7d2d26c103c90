package find_test

import (
	"errors"
	"testing"
	"time"

	"plumbline/probe"
	"plumbline/probe/beyond"
	"plumbline/upf"
)

// TestParts takes the delays of real UPFs apart, of which nothing is known but what was
// found: all packets are, where they are read from sockets and devices.
func TestParts(t *testing.T) {
	const datagrams, timeout = 100, 10 * time.Second
	for _, tc := range []struct {
		name  string
		parts bool
	}{
		{upf.DatapathTUN, true},
		{upf.DatapathTC, false},
		{"open5gs-tun", true},
		{"open5gs-tap", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBed(t, kindOf(t, tc.name), false)
			target := b.find(t)
			p, kernel := takeApart(t, probe.Config{UPFs: []probe.UPF{target.UPF()}, Timeout: timeout, Parts: true})
			for _, at := range target.At(0) {
				if _, err := p.Attach(at); err != nil {
					t.Fatal(err)
				}
			}
			if err := kernel.Add(target); errors.Is(err, beyond.ErrNoDevice) == tc.parts {
				t.Errorf("beyond the UPF: got %v", err)
			}
			readers, err := probe.Readers(target.PID)
			if err == nil {
				err = p.Follow(readers)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.exchange(t, datagrams)

			snapshot, err := p.Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range snapshot.Series {
				want := int64(0)
				if tc.parts {
					want = datagrams
				}
				if s.Matched != datagrams || s.Parts.Queued.TotalCount() != want || s.Parts.Inside.TotalCount() != want {
					t.Errorf("%v: got %+v, %d in parts, %d unknown, want %d in parts", s.Direction, s.Account, s.Parts.Queued.TotalCount(), s.Parts.Unknown, want)
				}
			}
			stages, err := kernel.Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range stages {
				if s.Matched != datagrams {
					t.Errorf("kernel, %v: got %+v, want %d matched", s.Direction, s.Account, datagrams)
				}
			}
			if tc.parts && (len(snapshot.Series) != 2 || len(stages) != 2) {
				t.Errorf("got %d series, %d stages beyond, want 2 and 2", len(snapshot.Series), len(stages))
			}
		})
	}
}

// takeApart opens both probes.
func takeApart(t *testing.T, c probe.Config) (*probe.Probe, *beyond.Beyond) {
	t.Helper()
	p, err := probe.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	kernel, err := beyond.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kernel.Close() })
	return p, kernel
}
