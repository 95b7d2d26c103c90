package mono_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/clock/clocktest"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio/mono"
)

// ends is a MAC and a PHY that write down what they are asked: each slot's requests
// have a UCI wanted, and each indication is one.
type ends struct {
	log       []string
	configure error
	start     error
}

func (e *ends) add(format string, a ...any) { e.log = append(e.log, fmt.Sprintf(format, a...)) }

type mac struct{ *ends }

func (m mac) Cell() *cell.Config { return &cell.Config{Numerology: 1} }
func (m mac) Start()             { m.add("mac start") }
func (m mac) Stop()              { m.add("mac stop") }
func (m mac) Indicate(i *fapi.Indications) {
	m.add("indicate %d: %d", i.At, len(i.UCI.UCIs))
}

func (m mac) Schedule(r *fapi.Requests) {
	m.add("schedule %d: %d.%d", r.At, r.ULTTI.SFN, r.ULTTI.Slot)
	r.Have = fapi.ULTTI
	r.ULTTI.PDUs = append(r.ULTTI.PDUs, nfapi.ULTTIPDU{})
}

type layer1 struct{ *ends }

func (p layer1) Configure(*cell.Config) error { return p.configure }
func (p layer1) Start() error                 { p.add("phy start"); return p.start }
func (p layer1) Stop()                        { p.add("phy stop") }

func (p layer1) Slot(r *fapi.Requests, i *fapi.Indications) {
	p.add("slot %d: %d", r.At, len(r.ULTTI.PDUs))
	if r.Have&fapi.ULTTI != 0 {
		i.Have = fapi.UCI
		i.UCI.UCIs = append(i.UCI.UCIs, nfapi.UCI{})
	}
}

func newMono(t *testing.T, ahead int) (*mono.Mono, *ends) {
	t.Helper()
	e := &ends{}
	m, err := mono.New(mac{e}, layer1{e}, mono.Config{SlotAhead: ahead})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	return m, e
}

func TestTick(t *testing.T) {
	last := slot.Number(20479)
	for _, tc := range []struct {
		name  string
		ahead int
		ticks []slot.Number
		want  []string
		stats mono.Stats
	}{
		{
			"in order", 2,
			[]slot.Number{0, 1, 2, 3},
			[]string{
				"schedule 2: 0.2", "slot 0: 0", "schedule 3: 0.3", "slot 1: 0",
				"schedule 4: 0.4", "slot 2: 1", "indicate 2: 1", "schedule 5: 0.5", "slot 3: 1",
			},
			mono.Stats{Slots: 4},
		},
		{
			"not ahead, round the cycle, a tick again", 0,
			[]slot.Number{last, last, 0},
			[]string{"schedule 20479: 1023.19", "slot 20479: 1", "indicate 20479: 1", "schedule 0: 0.0", "slot 0: 1"},
			mono.Stats{Slots: 2},
		},
		{
			"slots left out", 2,
			[]slot.Number{0, 4},
			[]string{
				"schedule 2: 0.2", "slot 0: 0", "slot 1: 0", "slot 2: 0", "slot 3: 0",
				"schedule 4: 0.4", "schedule 5: 0.5", "schedule 6: 0.6", "slot 4: 1",
			},
			mono.Stats{Slots: 2, Skipped: 3, Lost: 1},
		},
		{
			"a slot left out that is within reach", 2,
			[]slot.Number{0, 2},
			[]string{"schedule 2: 0.2", "slot 0: 0", "slot 1: 0", "schedule 3: 0.3", "schedule 4: 0.4", "slot 2: 1"},
			mono.Stats{Slots: 2, Skipped: 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, e := newMono(t, tc.ahead)
			for _, n := range tc.ticks {
				m.Tick(n)
			}
			m.Stop()
			want := append([]string{"phy start", "mac start"}, tc.want...)
			if want = append(want, "phy stop", "mac stop"); !slices.Equal(e.log, want) {
				t.Errorf("got\n %q, want\n %q", e.log, want)
			}
			if got := m.Stats(); got != tc.stats {
				t.Errorf("got %+v, want %+v", got, tc.stats)
			}
		})
	}
}

// TestStartAgain: nothing of before a stop is carried out after it.
func TestStartAgain(t *testing.T) {
	m, e := newMono(t, 1)
	m.Tick(0)
	m.Stop()
	m.Stop()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	m.Tick(1)
	m.Tick(2)
	want := []string{
		"phy start", "mac start", "schedule 1: 0.1", "slot 0: 0", "phy stop", "mac stop",
		"phy start", "mac start", "schedule 2: 0.2", "slot 1: 0", "schedule 3: 0.3", "slot 2: 1",
	}
	if !slices.Equal(e.log, want) {
		t.Errorf("got\n %q, want\n %q", e.log, want)
	}
}

func TestErrors(t *testing.T) {
	refused := errors.New("refused")
	for _, tc := range []struct {
		name  string
		ahead int
		ends  ends
		want  error
	}{
		{"behind", -1, ends{}, mono.ErrConfig},
		{"too far ahead", mono.MaxSlotAhead + 1, ends{}, mono.ErrConfig},
		{"configure", 6, ends{configure: refused}, refused},
		{"start", 6, ends{start: refused}, refused},
	} {
		m, err := mono.New(mac{&tc.ends}, layer1{&tc.ends}, mono.Config{SlotAhead: tc.ahead})
		if err == nil {
			_, err = m.Run(context.Background(), clock.Clock{})
		}
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

// TestRun: a clock carries the slots, from 0 on.
func TestRun(t *testing.T) {
	e := &ends{}
	m, err := mono.New(mac{e}, layer1{e}, mono.Config{SlotAhead: 6})
	if err != nil {
		t.Fatal(err)
	}
	source := clocktest.New()
	ctx, cancel := context.WithCancel(context.Background())
	type result struct {
		stats clock.Stats
		err   error
	}
	done := make(chan result)
	go func() {
		stats, err := m.Run(ctx, clock.Clock{Source: source})
		done <- result{stats, err}
	}()
	source.Advance(100 * 500 * time.Microsecond)
	cancel()
	got := <-done
	if got.err != nil || got.stats.Ticks < 99 || m.Stats().Slots != got.stats.Ticks {
		t.Errorf("got %+v, %v; mono %+v", got.stats, got.err, m.Stats())
	}
	if e.log[len(e.log)-1] != "mac stop" {
		t.Errorf("the last is %q, want a stop", e.log[len(e.log)-1])
	}
}

// TestNoAllocations: a slot costs no memory.
func TestNoAllocations(t *testing.T) {
	m, e := newMono(t, 6)
	e.log = make([]string, 0, 1)
	m2, err := mono.New(silentMAC{}, silentPHY{}, mono.Config{SlotAhead: 6})
	if err != nil {
		t.Fatal(err)
	}
	if err := m2.Start(); err != nil {
		t.Fatal(err)
	}
	m.Stop()
	n := slot.Number(0)
	if got := testing.AllocsPerRun(1000, func() { m2.Tick(n); n++ }); got != 0 {
		t.Errorf("a slot allocates %v times", got)
	}
}

type silentMAC struct{}

func (silentMAC) Cell() *cell.Config         { return &cell.Config{Numerology: 1} }
func (silentMAC) Start()                     {}
func (silentMAC) Stop()                      {}
func (silentMAC) Indicate(*fapi.Indications) {}
func (silentMAC) Schedule(r *fapi.Requests)  { r.Have = fapi.ULTTI }

type silentPHY struct{}

func (silentPHY) Configure(*cell.Config) error { return nil }
func (silentPHY) Start() error                 { return nil }
func (silentPHY) Stop()                        {}
func (silentPHY) Slot(_ *fapi.Requests, i *fapi.Indications) {
	i.Have = fapi.UCI
}
