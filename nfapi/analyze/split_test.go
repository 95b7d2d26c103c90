package analyze

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/nfapi"
	nfapicell "github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 60 * time.Second

// tap stands between VNF and PNF, and records what goes through it.
//
//	VNF ──► pnfSide ──► PNF        VNF ◄── pnfSide ◄┐
//	                    PNF ──► vnfSide ────────────┘
type tap struct {
	vnfSide, pnfSide *net.UDPConn

	mu      sync.Mutex
	packets []tapped
}

type tapped struct {
	at    time.Time
	toPNF bool
	b     []byte
}

func newTap(t *testing.T) *tap {
	t.Helper()
	open := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadBuffer(4 << 20); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	return &tap{vnfSide: open(), pnfSide: open()}
}

func addressOf(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }

// carry forwards datagrams from one socket by another one, until it is closed.
func (x *tap) carry(in, out *net.UDPConn, toPNF bool, to netip.AddrPort) {
	b := make([]byte, 1<<16)
	for {
		n, _, err := in.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.packets = append(x.packets, tapped{time.Now(), toPNF, bytes.Clone(b[:n])})
		x.mu.Unlock()
		_, _ = out.WriteToUDPAddrPort(b[:n], to)
	}
}

// file is a capture of what went through.
func (x *tap) file(t *testing.T) []byte {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.SortStableFunc(x.packets, func(a, b tapped) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	r := &recording{t: t}
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	if err := w.WriteFileHeader(1<<18, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, p := range x.packets {
		direction := toVNF
		if p.toPNF {
			direction = toPNF
		}
		frame := r.frame(direction, p.b)
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: p.at, CaptureLength: len(frame), Length: len(frame)}, frame); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// layer2 wants a PDSCH of 300 octets and a PUSCH in every slot.
type layer2 struct {
	cell  nfapicell.Config
	block []byte
}

func (m *layer2) Cell() *nfapicell.Config    { return &m.cell }
func (m *layer2) Start()                     {}
func (m *layer2) Stop()                      {}
func (m *layer2) Indicate(*fapi.Indications) {}

func (m *layer2) Schedule(r *fapi.Requests) {
	r.Have = fapi.DLTTI | fapi.ULTTI | fapi.TXData
	r.DLTTI.PDUs = append(r.DLTTI.PDUs, nfapi.DLTTIPDU{Type: typePDSCH, PDSCH: nfapi.PDSCHPDU{RNTI: rnti, NrOfCodewords: 1, TBSize: [2]uint32{300}}})
	r.TXData.PDUs = append(r.TXData.PDUs, nfapi.TXDataPDU{TLVs: []nfapi.TXDataTLV{{Length: 300, Payload: m.block}}})
	r.ULTTI.PDUs = append(r.ULTTI.PDUs, nfapi.ULTTIPDU{Type: typePUSCH, PUSCH: nfapi.PUSCHPDU{RNTI: rnti, PDUBitmap: 1, Data: nfapi.PUSCHData{TBSize: 40}}})
}

// layer1 receives each PUSCH.
type layer1 struct{ carried atomic.Int64 }

func (p *layer1) Configure(*nfapicell.Config) error { return nil }
func (p *layer1) Start() error                      { return nil }
func (p *layer1) Stop()                             {}

func (p *layer1) Slot(r *fapi.Requests, i *fapi.Indications) {
	if r.Have&fapi.ULTTI != 0 {
		p.carried.Add(1)
		i.Have = fapi.CRC | fapi.RXData
		i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{RNTI: rnti})
		i.RXData.PDUs = append(i.RXData.PDUs, nfapi.RXDataPDU{RNTI: rnti, PDULength: 40, Payload: make([]byte, 40)})
	}
}

// TestSplit: what a capture says is what the PNF itself has counted: SLOT.indications,
// requests by type, how far ahead. How many are late depends on the machine.
func TestSplit(t *testing.T) {
	const ahead = 8
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	x := newTap(t)
	upperP7, lowerP7 := freePort(t), freePort(t)
	mac, phy, watch := newLayer2(t), &layer1{}, stopwatch.New()
	upper := vnf.Config{
		P5: vnf.P5{Address: netip.MustParseAddrPort("127.0.0.1:0"), Network: "tcp"},
		PNFs: []vnf.PNF{{From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []vnf.PHY{
			{ID: 1, P7: upperP7, Announce: addressOf(x.vnfSide), PNFP7: addressOf(x.pnfSide)},
		}}},
		Timeouts: vnf.Timeouts{Answer: patience, Silence: patience, Sync: 5 * time.Millisecond},
	}
	v, err := vnf.New(upper, func(string, uint16) (fapi.MAC, error) { return mac, nil }, log)
	if err != nil {
		t.Fatal(err)
	}
	lower := pnf.Config{
		P5: pnf.P5{Network: "tcp", VNF: v.P5().String()}, P7: pnf.P7{Address: lowerP7}, PHYs: []pnf.PHYConfig{{ID: 1, SlotAhead: ahead}},
		NewPHY: func(uint16) (fapi.PHY, error) { return phy, nil }, Watch: func(uint16) *stopwatch.Watch { return watch },
	}
	p, err := pnf.New(lower, log)
	if err != nil {
		t.Fatal(err)
	}
	go x.carry(x.pnfSide, x.vnfSide, true, lowerP7)
	go x.carry(x.vnfSide, x.pnfSide, false, upperP7)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = v.Run(ctx) })
	running.Go(func() { _ = p.Run(ctx) })
	for end := time.Now().Add(patience); phy.carried.Load() < 500; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d slots within %v", phy.carried.Load(), patience)
		}
	}
	stop()
	running.Wait()
	a, err := Read(bytes.NewReader(x.file(t)), Options{SlotAhead: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Cells) != 1 || a.Undecoded+a.WrongChecksums > 0 {
		t.Fatalf("got %+v", a)
	}
	compare(t, a.Cells[0], watch.Snapshot("pnf"), ahead)
}

// compare holds a capture against what the PNF has counted: the capture has no more, and
// no less but for the slots at its end and what was on its way then.
func compare(t *testing.T, c *Cell, own *stopwatch.Snapshot, ahead int) {
	t.Helper()
	const ends = 40
	near := func(what string, got, want uint64) {
		if got > want || got+ends < want {
			t.Errorf("%s: got %d, the PNF has %d", what, got, want)
		}
	}
	if c.SlotAhead != ahead || c.Numerology != 1 {
		t.Errorf("got %d slots ahead, numerology %d", c.SlotAhead, c.Numerology)
	}
	near("SLOT.indications", uint64(c.Ticks.Count), own.Clock.Slots)
	near("messages to the PNF", own.ToPNF.Received, c.ToPNF.Received) // those under way at the end
	for _, one := range c.Requests {
		for i := range own.Messages {
			if own.Messages[i].Name == one.Message {
				near(one.Message, one.Counts.Came(), own.Messages[i].Counts.Came())
			}
		}
	}
	if len(c.Requests) != 3 || c.Broken.CRCWithoutPUSCH+c.Broken.PDSCHWithoutBlock+c.Broken.GoodWithoutRXData > 0 {
		t.Errorf("got %d types of requests, %+v", len(c.Requests), c.Broken)
	}
	if d := &c.Downlink; d.Octets != 300*d.Blocks || d.Again != 0 {
		t.Errorf("got %+v", d)
	}
	if u := &c.Uplink; u.Bad != 0 || u.Good < 400 {
		t.Errorf("got %+v", u)
	}
}

// freePort is an address that nobody has.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return addressOf(c)
}

func newLayer2(t *testing.T) *layer2 {
	t.Helper()
	tdd, err := slot.ParseTDD(1, "DDDSU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := nfapicell.Carrier{BandwidthMHz: 40, FrequencyKHz: 3_600_000, GridSize: 106, Antennas: 1}
	return &layer2{
		cell:  nfapicell.Config{Numerology: 1, TDD: tdd, Downlink: carrier, Uplink: carrier, SSB: nfapicell.SSB{PeriodMs: 20, Mask: 1 << 63}},
		block: make([]byte, 300),
	}
}
