package impair

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// party is a VNF or a PNF: what it has received.
type party struct {
	*transport.P7
	got chan nfapi.MessageID
}

func newParty(t *testing.T) party {
	t.Helper()
	// A busy machine may keep the segments of a message apart for longer than is usual.
	p, err := transport.ListenP7(transport.P7Config{Local: loopback, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	got, done := make(chan nfapi.MessageID, 10_000), make(chan error)
	go func() { done <- p.Receive(func(d *transport.Datagram) { got <- d.Header.MessageID }) }()
	t.Cleanup(func() {
		p.Close()
		<-done
	})
	return party{p, got}
}

func (p party) next(t *testing.T) nfapi.MessageID {
	t.Helper()
	select {
	case id := <-p.got:
		return id
	case <-time.After(patience):
		t.Fatal("no message came")
	}
	return 0
}

// TestRelay: messages cross both ways, long ones too; what is lost is what is counted;
// strangers are not heard; and the relay ends.
func TestRelay(t *testing.T) {
	vnf, pnf, stranger := newParty(t), newParty(t), newParty(t)
	r, err := NewRelay(Config{AsVNF: loopback, AsPNF: loopback, VNF: vnf.LocalAddr(), SFNOffset: 16,
		Rules: []Rule{{Messages: []string{"CRC"}, Loss: 0.3}, {Delay: 100 * time.Microsecond}}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	asVNF, _ := r.AsVNF()
	asPNF, err := r.AsPNF()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	type ended struct {
		result *Result
		err    error
	}
	done := make(chan ended)
	go func() {
		result, err := r.Run(ctx)
		done <- ended{result, err}
	}()
	send := func(from party, to netip.AddrPort, m nfapi.Message) {
		if err := errors.Join(from.Send(to, 1, m, 5), from.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	send(pnf, asVNF, &nfapi.SlotIndication{SFN: 1}) // from here on the PNF is known
	if id := vnf.next(t); id != nfapi.MsgSlotIndication {
		t.Errorf("got %v", id)
	}
	send(stranger, asPNF, &nfapi.SlotIndication{})
	send(stranger, asVNF, &nfapi.SlotIndication{})
	send(vnf, asPNF, &nfapi.ULDCIRequest{SFN: 17})
	if id := pnf.next(t); id != nfapi.MsgULDCIRequest {
		t.Errorf("got %v", id)
	}
	long := &nfapi.RXDataIndication{PDUs: []nfapi.RXDataPDU{{PDULength: 200_000, Payload: make([]byte, 200_000)}}}
	crcs := 0
	for range 20 {
		for range 10 {
			send(pnf, asVNF, &nfapi.CRCIndication{})
		}
		send(pnf, asVNF, long)
		for vnf.next(t) != nfapi.MsgRXDataIndication {
			crcs++
		}
	}
	cancel()
	end := <-done
	if end.err != nil {
		t.Fatal(end.err)
	}
	lost := uint64(0)
	for _, c := range end.result.Counts {
		if c.Message == "CRC.indication" {
			lost = c.Lost
			if c.Received != 200 || c.Lost == 0 || c.Lost == 200 {
				t.Errorf("got %+v", c)
			}
		}
	}
	if uint64(crcs)+lost != 200 || end.result.Strangers != 2 || end.result.NotSent != 0 {
		t.Errorf("%d of 200 came, %d are counted as lost, %d strangers, %d not sent", crcs, lost, end.result.Strangers, end.result.NotSent)
	}
	var text strings.Builder
	if err := end.result.Print(&text); err != nil || !strings.Contains(text.String(), "to-vnf") || !strings.Contains(text.String(), "2 of strangers") {
		t.Errorf("got %v:\n%s", err, text.String())
	}
	if s := vnf.Stats(); s.WrongChecksum+s.Malformed+s.Incomplete != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestRelayAddresses: without addresses it does not begin.
func TestRelayAddresses(t *testing.T) {
	_, err := NewRelay(Config{VNF: loopback}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "as_vnf: not set") {
		t.Errorf("got %v", err)
	}
}
