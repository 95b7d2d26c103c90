// Package mono is a gNB in one piece: MAC and PHY joined by function calls, with the
// clock and the slot_ahead of the split one. What is left out is the network between
// them, so that the two can be compared.
//
//	tick n:  indications of slot n-1 ─► MAC
//	         MAC schedules slot n+slot_ahead ─► delay line
//	         delay line: slot n ─► PHY
//
// MAC, PHY and clock share a thread.
package mono

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("mono: configuration")

// delaySlots is how many slots the delay line has. It divides an SFN cycle of any
// numerology, so that a slot's place is its number modulo this.
const delaySlots = 64

// MaxSlotAhead is the most that [Config.SlotAhead] may be.
const MaxSlotAhead = delaySlots - 1

// ofSlot is the message id of steps that are of a whole slot.
const ofSlot nfapi.MessageID = 0xffff

// Config is how MAC and PHY are joined.
type Config struct {
	// SlotAhead is how many slots the MAC is ahead of the air: 0 to [MaxSlotAhead].
	SlotAhead int `yaml:"slot_ahead"`
	// Watch measures the times of MAC and PHY. Nil: no measurement.
	Watch *stopwatch.Watch `yaml:"-"`
}

// Stats is what a [Mono] has done.
type Stats struct {
	Slots   uint64 // that the PHY was given
	Skipped uint64 // slots that the clock left out: the PHY had them without requests
	Lost    uint64 // of those, slots that the MAC had scheduled
}

// Mono is a MAC and its PHY. It is not safe for concurrent use.
type Mono struct {
	config Config
	mac    fapi.MAC
	phy    fapi.PHY
	mu     slot.Numerology

	delay [delaySlots]entry
	empty fapi.Requests
	ind   fapi.Indications

	running   bool
	ticked    bool        // there has been a tick since Start
	now       slot.Number // of the last tick
	scheduled slot.Number // the last slot that the MAC was asked for
	stats     Stats
}

// entry is a slot in the delay line.
type entry struct {
	requests fapi.Requests
	full     bool
}

// Validate returns an error that wraps [ErrConfig] if a value is wrong.
func (c *Config) Validate() error {
	var m yamltext.Checks
	yamltext.Within(&m, "slot_ahead", c.SlotAhead, 0, MaxSlotAhead)
	return m.Err(ErrConfig)
}

// New joins a MAC and a PHY: the PHY is configured with the MAC's cell.
//
// Errors: [ErrConfig], and what the PHY says.
func New(mac fapi.MAC, phy fapi.PHY, config Config) (*Mono, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	cell := mac.Cell()
	if err := phy.Configure(cell); err != nil {
		return nil, fmt.Errorf("mono: configure the phy: %w", err)
	}
	return &Mono{config: config, mac: mac, phy: phy, mu: cell.Numerology}, nil
}

// Start starts PHY and MAC.
func (m *Mono) Start() error {
	if err := m.phy.Start(); err != nil {
		return fmt.Errorf("mono: start the phy: %w", err)
	}
	m.mac.Start()
	m.running, m.ticked = true, false
	return nil
}

// Stop stops them. What is in the delay line is forgotten.
func (m *Mono) Stop() {
	if !m.running {
		return
	}
	m.running = false
	m.phy.Stop()
	m.mac.Stop()
	for i := range m.delay {
		m.delay[i].full = false
	}
}

// Stats returns what was done until now.
func (m *Mono) Stats() Stats { return m.stats }

// Run starts both, ticks with a clock until ctx ends, and stops both. The first slot is
// that of the timeline's Epoch.
func (m *Mono) Run(ctx context.Context, c clock.Clock) (clock.Stats, error) {
	if err := m.Start(); err != nil {
		return clock.Stats{}, err
	}
	defer m.Stop()
	line := clock.Timeline{Numerology: m.mu, Epoch: now(c)}
	skipped := m.stats.Skipped
	return c.Run(ctx, line, func(n slot.Number, late time.Duration) {
		m.Tick(n)
		m.config.Watch.Tick(late, int(m.stats.Skipped-skipped))
		skipped = m.stats.Skipped
	}), nil
}

func now(c clock.Clock) time.Time {
	if c.Source != nil {
		return c.Source.Now()
	}
	return time.Now()
}

// Tick is the start of slot n on the air. Slots between this and the last tick were
// left out. A tick of a slot that has just been is ignored; numbers that are further behind
// have come round, in a stall of more than half of their cycle.
//
// Precondition: it is started.
func (m *Mono) Tick(n slot.Number) {
	if d := m.mu.Distance(n, m.now); m.ticked && d <= 0 && d > -delaySlots {
		return
	}
	m.indicate()
	m.skip(n)
	m.schedule(n)
	m.ticked, m.now = true, n
	m.air(n)
}

// indicate gives the MAC what the PHY said about the last slot.
func (m *Mono) indicate() {
	if !m.ticked || m.ind.Have == 0 {
		return
	}
	begin := time.Now()
	m.mac.Indicate(&m.ind)
	m.config.Watch.Execution(stopwatch.StepIndicate, ofSlot, time.Since(begin))
	m.ind.Have = 0
}

// skip gives the PHY the slots before n that the clock left out.
func (m *Mono) skip(n slot.Number) {
	if !m.ticked {
		return
	}
	for k := m.mu.Add(m.now, 1); k != n; k = m.mu.Add(k, 1) {
		m.stats.Skipped++
		if e := &m.delay[k%delaySlots]; e.full && e.requests.At == k {
			e.full = false
			m.stats.Lost++
		}
		m.empty.Reset(m.mu, k)
		m.ind.Reset(m.mu, k)
		m.phy.Slot(&m.empty, &m.ind)
		m.indicate()
	}
}

// schedule asks the MAC for the slots up to slot_ahead that can still be reached.
func (m *Mono) schedule(n slot.Number) {
	last := m.mu.Add(n, m.config.SlotAhead)
	next := m.mu.Add(m.scheduled, 1)
	switch {
	case !m.ticked:
		next = last
	case m.mu.Distance(next, n) < 0:
		next = n
	}
	for ; m.mu.Distance(last, next) >= 0; next = m.mu.Add(next, 1) {
		e := &m.delay[next%delaySlots]
		e.requests.Reset(m.mu, next)
		begin := time.Now()
		m.mac.Schedule(&e.requests)
		m.config.Watch.Execution(stopwatch.StepSchedule, ofSlot, time.Since(begin))
		e.full = true
	}
	m.scheduled = last
}

// air has the PHY carry out slot n.
func (m *Mono) air(n slot.Number) {
	r := &m.empty
	if e := &m.delay[n%delaySlots]; e.full && e.requests.At == n {
		e.full = false
		r = &e.requests
	} else {
		r.Reset(m.mu, n)
	}
	m.ind.Reset(m.mu, n)
	begin := time.Now()
	m.phy.Slot(r, &m.ind)
	m.config.Watch.Execution(stopwatch.StepPHY, ofSlot, time.Since(begin))
	m.stats.Slots++
}
