package vnf_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 60 * time.Second

// octetsOf is how long a slot's transport block is: now and then longer than a datagram.
func octetsOf(n slot.Number) int {
	if n%16 == 5 {
		return 100_000
	}
	return 3000
}

// fill makes a transport block that tells its slot from all others.
func fill(b []byte, n slot.Number) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.BigEndian.PutUint64(b[i:], uint64(n)<<32|uint64(i))
	}
}

func filled(b []byte, n slot.Number) bool {
	for i := 0; i+8 <= len(b); i += 8 {
		if binary.BigEndian.Uint64(b[i:]) != uint64(n)<<32|uint64(i) {
			return false
		}
	}
	return len(b) == octetsOf(n)
}

// tally is what either end has seen.
type tally struct {
	mu      sync.Mutex
	running int
	good    int // slots with all that there should be
	faults  []string
}

func (c *tally) fault(format string, values ...any) {
	if len(c.faults) < 10 {
		c.faults = append(c.faults, fmt.Sprintf(format, values...))
	}
}

func (c *tally) counts() (running, good int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running, c.good
}

// echoPHY says about each uplink slot what the downlink of that slot had.
type echoPHY struct {
	tally
	mu_      slot.Numerology
	last     slot.Number
	begun    bool
	received [2][]byte
}

func (p *echoPHY) Configure(c *cell.Config) error {
	p.mu_ = c.Numerology
	return nil
}

func (p *echoPHY) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
	p.begun = false
	return nil
}

func (p *echoPHY) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}

func (p *echoPHY) Slot(r *fapi.Requests, i *fapi.Indications) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.begun && p.mu_.Distance(r.At, p.last) <= 0 {
		p.fault("slot %d after %d", r.At, p.last)
	}
	p.begun, p.last = true, r.At
	if r.Have&(fapi.DLTTI|fapi.TXData) == fapi.DLTTI|fapi.TXData {
		if n := len(r.TXData.PDUs); n != 1 || !filled(r.TXData.PDUs[0].TLVs[0].Payload, r.At) {
			p.fault("slot %d: tx_data of another slot, or %d pdus", r.At, n)
			return
		}
		p.good++
	}
	if r.Have&fapi.ULTTI == 0 {
		return
	}
	pusch := &r.ULTTI.PDUs[0].PUSCH
	if pusch.Handle != uint32(r.At) {
		p.fault("slot %d: ul_tti of slot %d", r.At, pusch.Handle)
	}
	b := p.received[r.At%2][:octetsOf(r.At)]
	fill(b, r.At)
	i.Have |= fapi.CRC | fapi.RXData
	i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{Handle: pusch.Handle, RNTI: pusch.RNTI})
	i.RXData.PDUs = append(i.RXData.PDUs, nfapi.RXDataPDU{Handle: pusch.Handle, RNTI: pusch.RNTI, PDULength: uint32(len(b)), Payload: b})
}

// echoMAC wants downlink and uplink in every slot.
type echoMAC struct {
	tally
	cell cell.Config
	sent [64][]byte
	last slot.Number
	crc  map[slot.Number]bool
}

func (m *echoMAC) Cell() *cell.Config { return &m.cell }

func (m *echoMAC) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	m.last = 0
	m.crc = map[slot.Number]bool{}
}

func (m *echoMAC) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
}

func (m *echoMAC) Indicate(i *fapi.Indications) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch i.Have {
	case fapi.CRC:
		m.crc[i.At] = true
	case fapi.RXData:
		if n := len(i.RXData.PDUs); n != 1 || i.RXData.PDUs[0].Handle != uint32(i.At) || !filled(i.RXData.PDUs[0].Payload, i.At) {
			m.fault("slot %d: rx_data of another slot, or %d pdus", i.At, n)
			return
		}
		if m.crc[i.At] {
			m.good++
		}
	}
	delete(m.crc, m.cell.Numerology.Add(i.At, -1000))
}

func (m *echoMAC) Schedule(r *fapi.Requests) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != 0 && m.cell.Numerology.Distance(r.At, m.last) <= 0 {
		m.fault("slot %d scheduled after %d", r.At, m.last)
	}
	m.last = r.At
	b := m.sent[r.At%64][:octetsOf(r.At)]
	fill(b, r.At)
	r.Have = fapi.DLTTI | fapi.ULTTI | fapi.TXData
	r.DLTTI.PDUs = append(r.DLTTI.PDUs, nfapi.DLTTIPDU{Type: 1})
	pdu := &r.DLTTI.PDUs[0].PDSCH
	*pdu = nfapi.PDSCHPDU{RNTI: 0x4601, NrOfCodewords: 1, TBSize: [2]uint32{uint32(len(b))}}
	r.TXData.PDUs = append(r.TXData.PDUs, nfapi.TXDataPDU{PDULength: uint32(len(b) + 12), TLVs: []nfapi.TXDataTLV{{Length: uint32(len(b)), Payload: b}}})
	r.ULTTI.PDUs = append(r.ULTTI.PDUs, nfapi.ULTTIPDU{Type: 1})
	r.ULTTI.PDUs[0].PUSCH = nfapi.PUSCHPDU{RNTI: 0x4601, Handle: uint32(r.At)}
	r.ULTTI.NULSCH = 1
}

func newMAC(t *testing.T, mu slot.Numerology) *echoMAC {
	tdd, err := slot.ParseTDD(mu, "DDDSU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := cell.Carrier{BandwidthMHz: 40, FrequencyKHz: 3_600_000, GridSize: 106, Antennas: 1}
	m := &echoMAC{cell: cell.Config{Numerology: mu, TDD: tdd, Downlink: carrier, Uplink: carrier, SSB: cell.SSB{PeriodMs: 20, Mask: 1 << 63}}}
	for i := range m.sent {
		m.sent[i] = make([]byte, 100_000)
	}
	return m
}

func newPHY() *echoPHY {
	return &echoPHY{received: [2][]byte{make([]byte, 100_000), make([]byte, 100_000)}}
}

// run has something run until stop, which returns its error.
func run(t *testing.T, what string, f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			case <-time.After(patience):
				t.Errorf("%s does not end", what)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

var local = netip.MustParseAddrPort("127.0.0.1:0")

// serveVNF runs a VNF at an address of P5.
func serveVNF(t *testing.T, p5 netip.AddrPort, ahead vnf.SlotAhead, macs map[uint16]*echoMAC, log *slog.Logger) (v *vnf.VNF, stop func()) {
	t.Helper()
	c := vnf.Config{
		P5: vnf.P5{Address: p5, Network: "tcp"}, SlotAhead: ahead,
		PNFs:     []vnf.PNF{{From: netip.MustParsePrefix("127.0.0.0/8")}},
		Timeouts: vnf.Timeouts{Answer: patience, Silence: patience, Sync: 5 * time.Millisecond},
	}
	for id := range macs {
		c.PNFs[0].PHYs = append(c.PNFs[0].PHYs, vnf.PHY{ID: id, P7: local})
	}
	v, err := vnf.New(c, func(_ string, phy uint16) (fapi.MAC, error) { return macs[phy], nil }, log)
	if err != nil {
		t.Fatal(err)
	}
	return v, run(t, "vnf", v.Run)
}

// TestSplit: VNF and PNF on the loopback device, with MACs and PHYs that know what each
// slot is to have. Slots may be lost, since the machine may be slow; what arrives is
// right. The VNF is stopped and another one started at its place; then the PNF is.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name  string
		mu    slot.Numerology
		ahead vnf.SlotAhead
		phys  []uint16
	}{
		{"slot indication", 1, vnf.SlotAhead{}, []uint16{1}},
		{"adaptive", 1, vnf.SlotAhead{Mode: vnf.AheadAdaptive, Max: 10 * time.Millisecond}, []uint16{1}},
		{"two phys", 0, vnf.SlotAhead{}, []uint16{1, 2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := slog.New(slog.NewTextHandler(t.Output(), nil))
			macs, phys := map[uint16]*echoMAC{}, map[uint16]*echoPHY{}
			lower := pnf.Config{P5: pnf.P5{Network: "tcp"}, P7: pnf.P7{Address: local}}
			for _, id := range test.phys {
				macs[id], phys[id] = newMAC(t, test.mu), newPHY()
				lower.PHYs = append(lower.PHYs, pnf.PHYConfig{ID: id, SlotAhead: 8})
			}
			lower.NewPHY = func(id uint16) (fapi.PHY, error) { return phys[id], nil }
			v, stopVNF := serveVNF(t, local, test.ahead, macs, log)
			lower.P5.VNF = v.P5().String()
			carry := func() {
				t.Helper()
				for _, id := range test.phys {
					_, sent := phys[id].counts()
					_, received := macs[id].counts()
					wait(t, fmt.Sprintf("slots of phy %d", id), func() bool {
						_, s := phys[id].counts()
						_, r := macs[id].counts()
						return s >= sent+100 && r >= received+100
					})
				}
			}
			start := func() (stop func()) {
				p, err := pnf.New(lower, log)
				if err != nil {
					t.Fatal(err)
				}
				return run(t, "pnf", p.Run)
			}
			quiet := func() {
				t.Helper()
				for _, id := range test.phys {
					wait(t, "the end of the slots", func() bool {
						p, _ := phys[id].counts()
						m, _ := macs[id].counts()
						return p == 0 && m == 0
					})
				}
			}
			stopPNF := start()
			carry()
			if test.ahead.Mode == vnf.AheadAdaptive {
				wait(t, "the vnf's own clock", func() bool { return v.Stats().PNFs[0].PHYs[0].Lead > 0 })
				carry()
			}
			p5 := v.P5()
			stopVNF()
			quiet()
			v, stopVNF = serveVNF(t, p5, test.ahead, macs, log)
			carry()
			stopPNF()
			quiet()
			stopPNF = start()
			carry()
			stopVNF()
			stopPNF()
			quiet()
			for _, id := range test.phys {
				for _, f := range append(phys[id].faults, macs[id].faults...) {
					t.Errorf("phy %d: %s", id, f)
				}
			}
		})
	}
}
