// Package phy is a simulated layer 1 with the air and the UEs behind it: it executes FAPI requests
// to a gNB's PHY between these two, slot by slot.
//
//	slot n:  UEs take what they received in n-1       (it is theirs when a slot has ended)
//	         PDCCH of n ─► UEs: assignments, grants
//	         PDSCH and transport blocks of n ─► UEs, which hold them
//	         UEs' PUSCH, PUCCH, PRACH of n, where UL_TTI asks for them ─► indications of n
//	         UEs decide what they send in n+1
//
// There is no signal: a transport block is received if a DCI announced it to its UE, if no other
// transmission uses its resources, and if a seeded random number permits. Soft combining means that
// any one transmission of a transport block may succeed. The gNB receives only what it scheduled.
// UEs do not move, fade or drift; an undisturbed PUCCH, preamble or DCI always arrives.
//
// Source: SCF 222, as implemented by OpenAirInterface develop 2025-09 (messages of a slot).
package phy

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// ErrConfig is wrapped by every error about what a configuration says.
var ErrConfig = errors.New("phy: configuration")

// Config is the configuration of the air, in addition to the cell.
type Config struct {
	// CRCFailureDownlink and CRCFailureUplink are how probable it is that a
	// transmission of a transport block is not received: 0 to 1.
	CRCFailureDownlink float64 `yaml:"crc_failure_downlink"`
	CRCFailureUplink   float64 `yaml:"crc_failure_uplink"`
	// Seed makes the failures the same in each run.
	Seed uint64 `yaml:"seed"`
	// Device is the TUN devices of the UEs. Absent: they have none.
	Device *ue.DeviceConfig `yaml:"device"`

	// Deliver and Flush take the packets of UEs without devices: see [ue.Config]. They are called by
	// the caller of Slot. Nil: packets are counted only.
	Deliver func(ue int, qfi uint8, packet []byte) `yaml:"-"`
	Flush   func(ue int)                           `yaml:"-"`
}

// PHY is a [fapi.PHY]. Only its Stats may be called while it is in use.
type PHY struct {
	config  Config
	cell    *rrc.Config
	ues     []*ue.UE
	devices []*ue.Device
	byRNTI  map[uint16]int32
	random  *rand.Rand
	log     *slog.Logger
	running bool

	// Of one slot.
	at        slot.Number
	control   occupancy // CCEs
	shared    occupancy // PRBs of PDSCH, then of PUSCH
	pdsch     []int32   // for each UE the index of the PDSCH that it listens to; -1: none
	heard     []bool    // for each UE: its PUSCH was reported
	octets    []byte    // of the indications, as far as they are used
	preambles []nfapi.Preamble
	countings counters
}

var _ fapi.PHY = (*PHY)(nil)

// maxOctets is room for the octets of UCIs of a slot.
const maxOctets = 16 * maxUCIs

// Validate returns all that is wrong with the values, for the UEs of a cell, in an error that
// wraps [ErrConfig].
func (c *Config) Validate(r *radio.Config) error {
	var m yamltext.Checks
	m.Want(c.CRCFailureDownlink >= 0 && c.CRCFailureDownlink <= 1, "crc_failure_downlink", c.CRCFailureDownlink, "0 to 1")
	m.Want(c.CRCFailureUplink >= 0 && c.CRCFailureUplink <= 1, "crc_failure_uplink", c.CRCFailureUplink, "0 to 1")
	if c.Device != nil {
		m.Under("device", c.Device.Validate(len(r.UEs)))
	}
	return m.Err(ErrConfig)
}

// New makes a PHY, its UEs and their devices. End it with Close.
//
// Errors: [ErrConfig], those of [rrc.New], and what the kernel says about devices.
func New(r radio.Config, c Config, log *slog.Logger) (*PHY, error) {
	if err := c.Validate(&r); err != nil {
		return nil, err
	}
	cell, err := rrc.New(&r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	p := &PHY{
		config: c, cell: cell, log: log, random: rand.New(rand.NewPCG(c.Seed, 0x706879)),
		byRNTI: make(map[uint16]int32, len(r.UEs)), pdsch: make([]int32, len(r.UEs)), heard: make([]bool, len(r.UEs)),
		octets: make([]byte, 0, maxOctets), preambles: make([]nfapi.Preamble, 0, len(r.UEs)),
	}
	for i := range r.UEs {
		if err := p.addUE(&r, i); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

func (p *PHY) addUE(r *radio.Config, i int) error {
	c := ue.Config{Cell: p.cell, UE: r.UEs[i], Index: i, RLC: r.RLC}
	if p.config.Deliver != nil {
		c.Deliver = func(qfi uint8, packet []byte) { p.config.Deliver(i, qfi, packet) }
		c.Flush = func() {
			if p.config.Flush != nil {
				p.config.Flush(i)
			}
		}
	}
	var device *ue.Device
	if p.config.Device != nil {
		var err error
		device, err = ue.OpenDevice(*p.config.Device, r.UEs[i], i, len(r.UEs))
		if errors.Is(err, ue.ErrConfig) {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
		if err != nil {
			return err
		}
		p.devices = append(p.devices, device)
		c.Deliver, c.Flush = device.Deliver, device.Flush
	}
	u, err := ue.New(c)
	if err != nil {
		return err
	}
	p.ues = append(p.ues, u)
	p.byRNTI[r.UEs[i].RNTI] = int32(i)
	if device != nil {
		device.Serve(u)
	}
	return nil
}

// Close removes the devices.
func (p *PHY) Close() error {
	var errs []error
	for _, d := range p.devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// UE returns UE number i of the cell.
func (p *PHY) UE(i int) *ue.UE { return p.ues[i] }

// Configure takes a cell that is the one of the UEs.
//
// Errors: it is another one.
func (p *PHY) Configure(c *cell.Config) error {
	switch {
	case c.Numerology != p.cell.Numerology:
		return fmt.Errorf("phy: numerology %d, the UEs have %d", c.Numerology, p.cell.Numerology)
	case int(c.Downlink.GridSize) != p.cell.PRBs || int(c.Uplink.GridSize) != p.cell.PRBs:
		return fmt.Errorf("phy: carriers of %d and %d PRBs, the UEs have %d", c.Downlink.GridSize, c.Uplink.GridSize, p.cell.PRBs)
	case c.TDD.IsZero():
		return fmt.Errorf("phy: no tdd table, the UEs have %s", p.cell.TDD)
	}
	for n := range slot.Number(p.cell.Numerology.PerFrame()) {
		if c.TDD.At(n) != p.cell.TDD.At(n) {
			return fmt.Errorf("phy: tdd table %s, the UEs have %s: slot %d differs", c.TDD, p.cell.TDD, n)
		}
	}
	return nil
}

// Start switches the UEs on.
func (p *PHY) Start() error {
	for _, u := range p.ues {
		u.Start()
	}
	p.running = true
	p.log.Info("ues are on", "ues", len(p.ues))
	return nil
}

// Stop switches the UEs off.
func (p *PHY) Stop() {
	for _, u := range p.ues {
		u.Stop()
	}
	p.running = false
	p.log.Info("ues are off")
}

// Slot is slot r.At on the air.
func (p *PHY) Slot(r *fapi.Requests, i *fapi.Indications) {
	if !p.running {
		return
	}
	p.at = r.At
	p.countings.slots.Add(1)
	p.octets, p.preambles = p.octets[:0], p.preambles[:0]
	for _, u := range p.ues {
		u.Begin(r.At)
	}
	p.listen(r)
	p.transmit(r)
	p.receive(r, i)
	next := p.cell.Numerology.Add(r.At, 1)
	for _, u := range p.ues {
		u.Prepare(next)
	}
}

// ue is the UE with an RNTI.
func (p *PHY) ue(rnti uint16) (u *ue.UE, index int32) {
	i, ok := p.byRNTI[rnti]
	if !ok {
		return nil, -1
	}
	return p.ues[i], i
}

// fails says whether a transmission fails.
func (p *PHY) fails(probability float64) bool {
	return probability > 0 && p.random.Float64() < probability
}
