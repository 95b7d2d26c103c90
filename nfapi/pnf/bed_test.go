package pnf

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock/clocktest"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

var vnfAddress = netip.MustParseAddrPort("10.0.0.1:50011")

// sent is a message that the PHY sent, in a form that stays.
type sent struct {
	to        netip.AddrPort
	phy       uint16
	id        nfapi.MessageID
	body      []byte
	timestamp uint32
	flushed   bool
}

// wire keeps what is sent.
type wire struct {
	mu   sync.Mutex
	sent []sent
	err  error

	flushing func() // before what is there is sent; may be nil
}

func (w *wire) Send(to netip.AddrPort, phy uint16, m nfapi.Message, timestamp uint32) error {
	b := make([]byte, 1<<16)
	n, err := m.EncodeBody(nfapi.OAI2025, b)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent{to: to, phy: phy, id: m.MessageID(), body: b[:n], timestamp: timestamp})
	return w.err
}

func (w *wire) Flush() error {
	if w.flushing != nil {
		w.flushing()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.sent {
		w.sent[i].flushed = true
	}
	return nil
}

// take returns what was sent since, and forgets it.
func (w *wire) take() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sent
	w.sent = nil
	return s
}

// layer is a PHY that notes what it is told.
type layer struct {
	calls   []string
	refuse  error // of Configure
	slots   []ran
	answer  func(n slot.Number, i *fapi.Indications)
	working func(n slot.Number) // while a slot is carried out
}

// ran is a slot that was carried out.
type ran struct {
	n    slot.Number
	have fapi.Have
}

func (l *layer) Configure(c *cell.Config) error {
	l.calls = append(l.calls, "configure")
	return l.refuse
}

func (l *layer) Start() error {
	l.calls = append(l.calls, "start")
	return nil
}

func (l *layer) Stop() { l.calls = append(l.calls, "stop") }

func (l *layer) Slot(r *fapi.Requests, i *fapi.Indications) {
	l.slots = append(l.slots, ran{r.At, r.Have})
	if l.answer != nil {
		l.answer(r.At, i)
	}
	if l.working != nil {
		l.working(r.At)
	}
}

// bed is one PHY that runs on time that a test makes pass.
type bed struct {
	t       testing.TB
	time    *clocktest.Source
	phy     *phy
	layer   *layer
	wire    *wire
	reports chan errorReport
	waited  time.Duration // what comes from now on
}

const bedID, bedAhead, bedWindow = 1, 3, 10

// newBed has a PHY that is configured. The clock is in the middle of slot -3, seen from
// start.
func newBed(t testing.TB, mu slot.Numerology, start slot.Number) *bed {
	b := &bed{t: t, time: clocktest.New(), layer: &layer{}, wire: &wire{}, reports: make(chan errorReport, 1000)}
	before := int64(mu.Add(start, -3))
	epoch := b.time.Now().Add(-time.Duration(before)*mu.Duration() - mu.Duration()/2)
	b.phy = &phy{
		config: PHYConfig{ID: bedID, SlotAhead: bedAhead}, layer: b.layer, watch: stopwatch.New(),
		log: slog.New(slog.DiscardHandler), p7: b.wire, time: clockwork{source: b.time, epoch: epoch}, id: bedID,
		report: func(r errorReport) { b.reports <- r },
	}
	c := cell.Config{Numerology: mu, TimingWindow: bedWindow}
	if err := b.phy.configure(nfapi.OAI2025, &c, vnfAddress); err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs the PHY; the first slot is two after that in which it is.
func (b *bed) start() *running {
	run, err := b.phy.start()
	if err != nil {
		b.t.Fatal(err)
	}
	run()
	b.time.Await()
	b.t.Cleanup(func() {
		if b.phy.state == inOperation {
			b.phy.halt()
		}
	})
	return b.phy.running.Load()
}

// slots lets n of them pass.
func (b *bed) slots(n int) { b.time.Advance(time.Duration(n) * b.phy.cell.Numerology.Duration()) }

// request has a message come now.
func (b *bed) request(m nfapi.Message) {
	b.t.Helper()
	b.receive(m, 0)
}

func (b *bed) receive(m nfapi.Message, timestamp uint32) {
	b.t.Helper()
	body := make([]byte, 1<<16)
	n, err := m.EncodeBody(nfapi.OAI2025, body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.octets(m.MessageID(), body[:n], timestamp)
}

func (b *bed) octets(id nfapi.MessageID, body []byte, timestamp uint32) {
	b.phy.receive(&transport.Datagram{
		Header: nfapi.Header{PhyID: bedID, MessageID: id, Timestamp: timestamp}, Profile: nfapi.OAI2025,
		Body: body, From: vnfAddress, At: b.time.Now(), Waited: b.waited,
	})
}

// reported is the ERROR.indications since.
func (b *bed) reported() []errorReport {
	var all []errorReport
	for {
		select {
		case r := <-b.reports:
			all = append(all, r)
		default:
			return all
		}
	}
}

var errRefused = errors.New("refused")

// Messages for a slot.

func ulTTI(mu slot.Numerology, n slot.Number) *nfapi.ULTTIRequest {
	m := &nfapi.ULTTIRequest{}
	m.SFN, m.Slot = mu.Split(n)
	return m
}

func dlTTI(mu slot.Numerology, n slot.Number, pdus ...uint16) *nfapi.DLTTIRequest {
	m := &nfapi.DLTTIRequest{}
	m.SFN, m.Slot = mu.Split(n)
	for _, p := range pdus {
		m.PDUs = append(m.PDUs, nfapi.DLTTIPDU{Type: p})
	}
	return m
}

func txData(mu slot.Numerology, n slot.Number, octets int) *nfapi.TXDataRequest {
	m := &nfapi.TXDataRequest{}
	m.SFN, m.Slot = mu.Split(n)
	m.PDUs = []nfapi.TXDataPDU{{TLVs: []nfapi.TXDataTLV{{Length: uint32(octets), Payload: make([]byte, octets)}}}}
	return m
}

// nowhere sends nothing.
type nowhere struct{}

func (nowhere) Send(netip.AddrPort, uint16, nfapi.Message, uint32) error { return nil }
func (nowhere) Flush() error                                             { return nil }

// quiet is a PHY that does nothing.
type quiet struct{}

func (quiet) Configure(*cell.Config) error           { return nil }
func (quiet) Start() error                           { return nil }
func (quiet) Stop()                                  {}
func (quiet) Slot(*fapi.Requests, *fapi.Indications) {}

// datagramOf is one of the VNF's, to be filled.
func datagramOf(at time.Time) *transport.Datagram {
	return &transport.Datagram{Header: nfapi.Header{PhyID: bedID, Timestamp: 1}, Profile: nfapi.OAI2025, From: vnfAddress, At: at}
}
