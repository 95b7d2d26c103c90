package vnf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 30 * time.Second

// echoMAC counts, under a lock.
type echoMAC struct {
	cell cell.Config

	mu   sync.Mutex
	last slot.Number
	macCounts
}

type macCounts struct{ starts, stops, slots, indicated, outOfOrder, wrong int }

func (m *echoMAC) Cell() *cell.Config { return &m.cell }

func (m *echoMAC) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starts++
}

func (m *echoMAC) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stops++
}

func (m *echoMAC) Indicate(i *fapi.Indications) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.indicated++
	if i.Have != fapi.CRC || len(i.CRC.CRCs) != 1 || i.CRC.CRCs[0].RNTI != 0x4601 {
		m.wrong++
	}
}

func (m *echoMAC) Schedule(r *fapi.Requests) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slots > 0 && m.cell.Numerology.Distance(r.At, m.last) <= 0 {
		m.outOfOrder++
	}
	m.slots, m.last = m.slots+1, r.At
	r.Have = fapi.ULTTI
}

func (m *echoMAC) counts() macCounts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.macCounts
}

// served is a VNF that runs.
type served struct {
	*VNF
	macs   map[uint16]*echoMAC
	cancel context.CancelFunc
	done   chan error
}

func serve(t *testing.T, change func(*Config)) *served {
	t.Helper()
	macs := map[uint16]*echoMAC{}
	s := serveMAC(t, change, func(phy uint16) fapi.MAC {
		macs[phy] = &echoMAC{cell: newFakeMAC(t, 1).cell}
		return macs[phy]
	})
	s.macs = macs
	return s
}

// serveMAC runs a VNF with MACs that newMAC makes.
func serveMAC(t *testing.T, change func(*Config), newMAC func(phy uint16) fapi.MAC) *served {
	t.Helper()
	return serveLog(t, change, newMAC, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func serveLog(t *testing.T, change func(*Config), newMAC func(phy uint16) fapi.MAC, log *slog.Logger) *served {
	t.Helper()
	local := netip.MustParseAddrPort("127.0.0.1:0")
	c := Config{
		P5:   P5{Address: local, Network: "tcp"},
		PNFs: []PNF{{Name: "one", From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []PHY{{ID: 1, P7: local}}}},
		// A machine that does something else for a while is no silence.
		Timeouts: Timeouts{Answer: patience, Silence: patience, Retry: 10 * time.Millisecond},
	}
	if change != nil {
		change(&c)
	}
	s := &served{done: make(chan error, 1)}
	var err error
	s.VNF, err = New(c, func(_ string, phy uint16) (fapi.MAC, error) { return newMAC(phy), nil }, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-s.done:
		case <-time.After(patience):
			t.Error("the vnf does not end")
		}
	})
	return s
}

// lines is a log that a test looks at.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// count is how many lines have a text.
func (l *lines) count(text string) (n int) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// wait waits until something is so.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// stub is a PNF that answers as it is told.
type stub struct {
	*transport.P5
	t       *testing.T
	p7      *transport.P7
	vnf     map[uint16]netip.AddrPort // where each PHY is to send
	answers map[nfapi.MessageID][]nfapi.Message
	asked   []string

	mu       sync.Mutex
	requests map[nfapi.MessageID]int
}

func connect(t *testing.T, s *served) *stub {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p5, err := transport.DialP5(ctx, transport.P5Config{Network: "tcp", Address: s.P5().String()})
	if err != nil {
		t.Fatal(err)
	}
	p7, err := transport.ListenP7(transport.P7Config{Local: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	u := &stub{P5: p5, t: t, p7: p7, vnf: map[uint16]netip.AddrPort{}, requests: map[nfapi.MessageID]int{}}
	u.answers = map[nfapi.MessageID][]nfapi.Message{
		nfapi.MsgPNFParamRequest:  {&nfapi.PNFParamResponse{}},
		nfapi.MsgPNFConfigRequest: {&nfapi.PNFConfigResponse{}},
		nfapi.MsgPNFStartRequest:  {&nfapi.PNFStartResponse{}},
		nfapi.MsgPNFStopRequest:   {&nfapi.PNFStopResponse{}},
		nfapi.MsgParamRequest:     {&nfapi.ParamResponse{}},
		nfapi.MsgConfigRequest:    {&nfapi.ConfigResponse{}},
		nfapi.MsgStartRequest:     {&nfapi.StartResponse{}},
		nfapi.MsgStopRequest:      {&nfapi.StopResponse{}, &nfapi.StopIndication{}},
	}
	received := make(chan error, 1)
	go func() { received <- p7.Receive(u.datagram) }()
	t.Cleanup(func() {
		p5.Close()
		p7.Close()
		if err := <-received; err != nil {
			t.Error(err)
		}
	})
	return u
}

func (u *stub) datagram(d *transport.Datagram) {
	if d.Header.MessageID == nfapi.MsgDLNodeSync {
		var ask nfapi.DLNodeSync
		if err := ask.DecodeBody(d.Profile, d.Body); err != nil {
			u.t.Error(err)
		}
		m := &nfapi.ULNodeSync{T1: ask.T1, T2: ask.T1, T3: ask.T1} // clocks that agree
		if err := errors.Join(u.p7.Send(d.From, d.Header.PhyID, m, 0), u.p7.Flush()); err != nil && !errors.Is(err, net.ErrClosed) {
			u.t.Error(err)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests[d.Header.MessageID]++
}

func (u *stub) got(id nfapi.MessageID) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[id]
}

// until answers requests until one of a kind has been answered.
func (u *stub) until(last nfapi.MessageID) {
	u.t.Helper()
	for {
		h, m, err := u.Receive()
		if err != nil {
			u.t.Fatalf("waiting for %v: %v", last, err)
		}
		u.asked = append(u.asked, fmt.Sprintf("%v %d", h.MessageID, h.PhyID))
		if c, ok := m.(*nfapi.ConfigRequest); ok {
			u.vnf[h.PhyID] = endpoint(u.t, c)
		}
		for _, a := range u.answers[h.MessageID] {
			if err := u.Send(h.PhyID, a); err != nil {
				u.t.Fatal(err)
			}
		}
		if h.MessageID == last {
			return
		}
	}
}

// endpoint is where CONFIG.request wants P7.
func endpoint(t *testing.T, m *nfapi.ConfigRequest) netip.AddrPort {
	t.Helper()
	var addr netip.Addr
	var port uint32
	for i := range m.TLVs {
		switch m.TLVs[i].Tag {
		case nfapi.TagP7VNFAddressIpv4:
			addr, _ = netip.AddrFromSlice(m.TLVs[i].Value)
		case nfapi.TagP7VNFPort:
			port, _ = m.TLVs[i].Uint(nfapi.OAI2025)
		}
	}
	return netip.AddrPortFrom(addr, uint16(port))
}

// say sends a message of P7.
func (u *stub) say(phy uint16, m nfapi.Message) {
	u.t.Helper()
	if err := errors.Join(u.p7.Send(u.vnf[phy], phy, m, 0), u.p7.Flush()); err != nil {
		u.t.Fatal(err)
	}
}

// slots sends CRC.indication and SLOT.indication of some slots, which nobody may lose.
func (u *stub) slots(phy uint16, from, n int) {
	u.t.Helper()
	for i := from; i < from+n; i++ {
		u.say(phy, &nfapi.CRCIndication{SFN: uint16(i / 20 % 1024), Slot: uint16(i % 20), CRCs: []nfapi.CRC{{RNTI: 0x4601}}})
		u.say(phy, &nfapi.SlotIndication{SFN: uint16(i / 20 % 1024), Slot: uint16(i % 20)})
		if i%20 == 0 {
			time.Sleep(time.Millisecond) // the socket has room for many more
		}
	}
}
