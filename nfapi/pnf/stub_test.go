package pnf

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// lockedLayer is a layer that several goroutines may look at.
type lockedLayer struct {
	mu sync.Mutex
	layer
}

func (l *lockedLayer) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.layer.Start()
}

func (l *lockedLayer) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.layer.Stop()
}

func (l *lockedLayer) Slot(r *fapi.Requests, i *fapi.Indications) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.layer.Slot(r, i)
	if r.Have&fapi.ULTTI != 0 {
		i.Have |= fapi.CRC
		i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{RNTI: 0x4601})
	}
}

func (l *lockedLayer) told() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// vnfStub is a VNF that says what a test wants.
type vnfStub struct {
	t        *testing.T
	listener *transport.P5Listener
	p7       *transport.P7
	*transport.P5

	mu   sync.Mutex
	came []nfapi.MessageID
	crcs int
	echo bool // UL_TTI.request for the slot of each SLOT.indication
	from netip.AddrPort
}

func newVNFStub(t *testing.T, echo bool) *vnfStub {
	t.Helper()
	l, err := transport.ListenP5(transport.P5Config{Network: "tcp", Address: loopback.String()})
	if err != nil {
		t.Fatal(err)
	}
	p7, err := transport.ListenP7(transport.P7Config{Local: loopback})
	if err != nil {
		t.Fatal(err)
	}
	v := &vnfStub{t: t, listener: l, p7: p7, echo: echo}
	received := make(chan error, 1)
	go func() { received <- p7.Receive(v.datagram) }()
	t.Cleanup(func() {
		l.Close()
		p7.Close()
		if err := <-received; err != nil {
			t.Error(err)
		}
	})
	return v
}

func (v *vnfStub) datagram(d *transport.Datagram) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.came = append(v.came, d.Header.MessageID)
	v.from = d.From
	switch d.Header.MessageID {
	case nfapi.MsgCRCIndication:
		v.crcs++
	case nfapi.MsgSlotIndication:
		sfn, s, _ := d.Profile.PeekSlot(d.Header.MessageID, d.Body)
		if v.echo {
			m := &nfapi.ULTTIRequest{SFN: sfn, Slot: s}
			if err := errors.Join(v.p7.Send(d.From, d.Header.PhyID, m, 0), v.p7.Flush()); err != nil && !errors.Is(err, net.ErrClosed) {
				v.t.Error(err)
			}
		}
	}
}

// accept waits for the PNF.
func (v *vnfStub) accept() {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { v.listener.Close() })
	defer stop()
	var err error
	if v.P5, err = v.listener.Accept(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { v.Close() })
}

// ask sends a request and returns the code of its response, which has to be the next
// message that is no indication.
func (v *vnfStub) ask(phy uint16, m nfapi.Message) uint32 {
	v.t.Helper()
	if err := v.Send(phy, m); err != nil {
		v.t.Fatal(err)
	}
	for {
		h, got, err := v.Receive()
		if err != nil {
			v.t.Fatalf("%v: %v", m.MessageID(), err)
		}
		if h.MessageID == nfapi.MsgErrorIndication || h.MessageID == nfapi.MsgStopIndication {
			continue
		}
		if h.PhyID != phy {
			v.t.Errorf("%v is answered for phy %d", m.MessageID(), h.PhyID)
		}
		code, _ := codeIn(v.t, []outgoing{{m: got}})
		return code
	}
}

// bring brings PHYs up to RUNNING.
func (v *vnfStub) bring(phys ...nfapi.PHYRFConfig) {
	v.t.Helper()
	for _, m := range []nfapi.Message{&nfapi.PNFParamRequest{}, pnfConfigRequest(v.t, nfapi.OAI2025, phys...), &nfapi.PNFStartRequest{}} {
		if got := v.ask(0, m); got != 0 {
			v.t.Fatalf("%v: %d", m.MessageID(), got)
		}
	}
	for _, p := range phys {
		c := aCell(v.t)
		c.P7 = v.p7.LocalAddr()
		for _, m := range []nfapi.Message{&nfapi.ParamRequest{}, c.Request(nfapi.OAI2025), &nfapi.StartRequest{}} {
			if got := v.ask(p.PHYID, m); got != 0 {
				v.t.Fatalf("%v: %d", m.MessageID(), got)
			}
		}
	}
}

func (v *vnfStub) got(id nfapi.MessageID) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, m := range v.came {
		if m == id {
			n++
		}
	}
	return n
}

// pnf is where the PNF's P7 is.
func (v *vnfStub) pnf() netip.AddrPort {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.from
}
