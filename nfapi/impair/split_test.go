package impair_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/impair"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
)

const (
	mu       = slot.Numerology(1)
	patience = 60 * time.Second
)

// ends is a MAC and a PHY that know what crosses between them: a PUSCH in each slot,
// whose handle is the slot's number for the MAC, and its CRC.
type ends struct {
	mu     sync.Mutex
	cell   cell.Config
	last   slot.Number
	wraps  int
	shift  int // slots by which the MAC's number is ahead of the PHY's
	slots  int // of the PHY that had a PUSCH since the MAC's numbers came round
	crcs   int // of the MAC since then
	faults []string
}

func (e *ends) fault(format string, values ...any) {
	if len(e.faults) < 10 {
		e.faults = append(e.faults, fmt.Sprintf(format, values...))
	}
}

type mac struct{ *ends }

func (m mac) Cell() *cell.Config { return &m.cell }
func (m mac) Start()             {}
func (m mac) Stop()              {}

func (m mac) Schedule(r *fapi.Requests) {
	m.ends.mu.Lock()
	defer m.ends.mu.Unlock()
	if m.last != 0 && r.At < m.last {
		m.wraps++
	}
	m.last = r.At
	r.Have = fapi.ULTTI
	r.ULTTI.PDUs = append(r.ULTTI.PDUs, nfapi.ULTTIPDU{Type: 1})
	r.ULTTI.PDUs[0].PUSCH = nfapi.PUSCHPDU{RNTI: 0x4601, Handle: uint32(r.At)}
	r.ULTTI.NULSCH = 1
}

func (m mac) Indicate(i *fapi.Indications) {
	m.ends.mu.Lock()
	defer m.ends.mu.Unlock()
	if i.Have != fapi.CRC {
		return
	}
	if n := len(i.CRC.CRCs); n != 1 || i.CRC.CRCs[0].Handle != uint32(i.At) {
		m.fault("slot %d: crc of another slot, or %d", i.At, n)
	}
	if m.wraps > 0 {
		m.crcs++
	}
}

type phy struct{ *ends }

func (p phy) Configure(*cell.Config) error { return nil }
func (p phy) Start() error                 { return nil }
func (p phy) Stop()                        {}

func (p phy) Slot(r *fapi.Requests, i *fapi.Indications) {
	p.ends.mu.Lock()
	defer p.ends.mu.Unlock()
	if r.Have&fapi.ULTTI == 0 {
		return
	}
	handle := r.ULTTI.PDUs[0].PUSCH.Handle
	if shift := mu.Distance(slot.Number(handle), r.At); p.shift == 0 {
		p.shift = shift
	} else if shift != p.shift {
		p.fault("slot %d: ul_tti of slot %d, the shift was %d", r.At, handle, p.shift)
	}
	if p.wraps > 0 {
		p.slots++
	}
	i.Have |= fapi.CRC
	i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{Handle: handle, RNTI: 0x4601})
}

// freePort is a port of loopback that nobody has.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

// TestWrapWithLoss: VNF and PNF go on while the VNF's SFN comes round, its numbers are
// shifted against the PNF's, and messages of every kind are lost, repeated, reordered and
// damaged; each request reaches the slot that it is for, or none.
func TestWrapWithLoss(t *testing.T) {
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	local, p7 := netip.MustParseAddrPort("127.0.0.1:0"), freePort(t)
	relay, err := impair.NewRelay(impair.Config{
		AsVNF: local, AsPNF: local, VNF: p7, WrapAfter: time.Second,
		Rules: []impair.Rule{{Loss: 0.02, Duplicate: 0.02, Reorder: 0.02, Flip: 0.02, Jitter: 100 * time.Microsecond}},
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	asVNF, first := relay.AsVNF()
	asPNF, second := relay.AsPNF()
	if err := errors.Join(first, second); err != nil {
		t.Fatal(err)
	}
	tdd, err := slot.ParseTDD(mu, "DDDSU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := cell.Carrier{GridSize: 106}
	e := &ends{cell: cell.Config{Numerology: mu, TDD: tdd, Downlink: carrier, Uplink: carrier}}
	v, err := vnf.New(vnf.Config{
		P5:       vnf.P5{Address: local, Network: "tcp"},
		PNFs:     []vnf.PNF{{From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []vnf.PHY{{ID: 1, P7: p7, Announce: asVNF, PNFP7: asPNF}}}},
		Timeouts: vnf.Timeouts{Answer: patience, Silence: patience},
	}, func(string, uint16) (fapi.MAC, error) { return mac{e}, nil }, log)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pnf.New(pnf.Config{
		P5: pnf.P5{Network: "tcp", VNF: v.P5().String()}, P7: pnf.P7{Address: local}, PHYs: []pnf.PHYConfig{{ID: 1, SlotAhead: 10}},
		NewPHY: func(uint16) (fapi.PHY, error) { return phy{e}, nil },
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	var result *impair.Result
	for name, run := range map[string]func(context.Context) error{"vnf": v.Run, "pnf": p.Run, "relay": func(ctx context.Context) (err error) {
		result, err = relay.Run(ctx)
		return err
	}} {
		group.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		e.mu.Lock()
		done := e.slots >= 500 && e.crcs >= 500
		e.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %+v", patience, e)
		}
	}
	cancel()
	group.Wait()
	if e.shift%(16*mu.PerFrame()) != 0 || e.shift == 0 || e.wraps == 0 {
		t.Errorf("numbers are shifted by %d slots, and came round %d times", e.shift, e.wraps)
	}
	for _, f := range e.faults {
		t.Error(f)
	}
	for _, c := range result.Counts {
		if c.Message == "SLOT.indication" && (c.Lost == 0 || c.Duplicated == 0 || c.Reordered == 0 || c.Flipped == 0) {
			t.Errorf("got %+v", c)
		}
	}
}
