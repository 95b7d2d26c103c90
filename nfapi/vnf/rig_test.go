package vnf

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// fakeMAC wants everything of each slot, and writes down what it is told.
type fakeMAC struct {
	cell      cell.Config
	have      fapi.Have
	running   bool
	scheduled []slot.Number
	indicated []string
}

func newFakeMAC(t testing.TB, mu slot.Numerology) *fakeMAC {
	tdd, err := slot.ParseTDD(mu, "DDDSU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeMAC{cell: cell.Config{Numerology: mu, TDD: tdd}, have: fapi.DLTTI | fapi.ULTTI | fapi.ULDCI | fapi.TXData}
}

func (m *fakeMAC) Cell() *cell.Config { return &m.cell }
func (m *fakeMAC) Start()             { m.running = true }
func (m *fakeMAC) Stop()              { m.running = false }

func (m *fakeMAC) Indicate(i *fapi.Indications) {
	m.indicated = append(m.indicated, fmt.Sprintf("%s %b", m.cell.Numerology.String(i.At), i.Have))
}

func (m *fakeMAC) Schedule(r *fapi.Requests) {
	m.scheduled = append(m.scheduled, r.At)
	r.Have = m.have
}

// sentMessage is one that a phy has sent.
type sentMessage struct {
	to        netip.AddrPort
	phy       uint16
	id        nfapi.MessageID
	body      []byte
	timestamp uint32
}

// fakeCarrier keeps what is sent when it is flushed.
type fakeCarrier struct {
	batch, sent []sentMessage
	admitted    []netip.AddrPort
}

func (c *fakeCarrier) Send(to netip.AddrPort, phy uint16, m nfapi.Message, timestamp uint32) error {
	b := make([]byte, 4096)
	n, err := m.EncodeBody(nfapi.OAI2025, b)
	c.batch = append(c.batch, sentMessage{to, phy, m.MessageID(), b[:n], timestamp})
	return err
}

func (c *fakeCarrier) Flush() error {
	c.sent = append(c.sent, c.batch...)
	c.batch = nil
	return nil
}

func (c *fakeCarrier) Admit(peers ...netip.AddrPort) { c.admitted = peers }

// rig is a phy that runs, in time of its own.
type rig struct {
	*phy
	testing.TB
	mac     *fakeMAC
	carrier *fakeCarrier
	time    time.Time
	seq     uint16
	from    netip.AddrPort
	waited  time.Duration // of the messages in the socket
}

var testPNF = netip.MustParseAddrPort("192.0.2.1:50010")

func newRig(t testing.TB, mu slot.Numerology, ahead SlotAhead) *rig {
	r := &rig{TB: t, mac: newFakeMAC(t, mu), carrier: &fakeCarrier{}, time: time.Unix(1_000_000, 0), from: testPNF}
	var m yamltext.Checks
	ahead.check(&m)
	if err := m.Err(nil); err != nil {
		t.Fatal(err)
	}
	r.phy = &phy{
		log: slog.New(slog.DiscardHandler), id: 1, ahead: ahead, resync: 50 * time.Millisecond, mac: r.mac, p7: r.carrier,
		watch: stopwatch.New(), woken: make(chan struct{}, 1), now: func() time.Time { return r.time },
	}
	r.begin([]netip.Addr{testPNF.Addr()})
	c, err := r.cellFor(netip.MustParseAddrPort("0.0.0.0:50011"), netip.MustParseAddr("192.0.2.9"))
	if err != nil {
		t.Fatal(err)
	}
	r.start(c, r.time)
	return r
}

// get has the phy receive a message.
func (r *rig) get(m nfapi.Message, timestamp uint32) {
	r.TB.Helper()
	b := make([]byte, 4096)
	n, err := m.EncodeBody(nfapi.OAI2025, b)
	if err != nil {
		r.TB.Fatal(err)
	}
	r.raw(m.MessageID(), b[:n], timestamp)
}

func (r *rig) raw(id nfapi.MessageID, body []byte, timestamp uint32) {
	r.seq++
	r.datagram(&transport.Datagram{
		Header: nfapi.Header{PhyID: 1, MessageID: id, Segment: r.seq & 0xff, Timestamp: timestamp}, Body: body, From: r.from, At: r.time, Waited: r.waited,
	})
}

func (r *rig) tick(n slot.Number) {
	r.TB.Helper()
	sfn, s := r.mac.cell.Numerology.Split(n)
	r.get(&nfapi.SlotIndication{SFN: sfn, Slot: s}, 0)
}

// synchronised has node sync found out; the PNF's clock is returned. The PNF's slot 0
// began a second ago.
func (r *rig) synchronised() clock.Timeline {
	r.TB.Helper()
	mu := r.mac.cell.Numerology
	pnf := clock.Timeline{Numerology: mu, Epoch: r.time.Add(-time.Second)}
	for range 40 * syncEnough {
		r.time = r.time.Add(5 * time.Millisecond)
		n, _ := pnf.Slot(r.time)
		r.tick(mu.Add(n, 6))
		r.answerSync(pnf, 100*time.Microsecond)
		if r.sync.ok() {
			return pnf
		}
	}
	r.TB.Fatal("no node sync")
	return pnf
}

// answerSync answers what was asked, under way for some time each way.
func (r *rig) answerSync(pnf clock.Timeline, one time.Duration) {
	for _, m := range r.carrier.sent {
		var ask nfapi.DLNodeSync
		if m.id != nfapi.MsgDLNodeSync || ask.DecodeBody(nfapi.OAI2025, m.body) != nil {
			continue
		}
		there := pnf.Micros(r.time.Add(one))
		r.time = r.time.Add(2 * one)
		r.get(&nfapi.ULNodeSync{T1: ask.T1, T2: there, T3: there}, 0)
	}
	r.carrier.sent = nil
}

// nowhere is a carrier that keeps nothing.
type nowhere struct{}

func (nowhere) Send(netip.AddrPort, uint16, nfapi.Message, uint32) error { return nil }
func (nowhere) Flush() error                                             { return nil }
func (nowhere) Admit(...netip.AddrPort)                                  {}

// quietMAC wants everything and keeps nothing.
type quietMAC struct{ *fakeMAC }

func (m *quietMAC) Indicate(*fapi.Indications) {}
func (m *quietMAC) Schedule(r *fapi.Requests)  { r.Have = m.have }
