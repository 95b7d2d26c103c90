package pnf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 30 * time.Second

var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// servedPNF is a PNF that runs.
type servedPNF struct {
	*PNF
	layers map[uint16]*lockedLayer
	cancel context.CancelFunc
	done   chan error
}

func runPNF(t *testing.T, v *vnfStub, change func(*Config)) *servedPNF {
	t.Helper()
	s := &servedPNF{layers: map[uint16]*lockedLayer{}, done: make(chan error, 1)}
	c := Config{
		P5:   P5{Network: "tcp", VNF: v.listener.Addr().String(), Timeout: patience, Reconnect: leastPause},
		P7:   P7{Address: loopback},
		PHYs: []PHYConfig{{ID: 1, SlotAhead: 6}},
		NewPHY: func(id uint16) (fapi.PHY, error) {
			s.layers[id] = &lockedLayer{}
			return s.layers[id], nil
		},
	}
	if change != nil {
		change(&c)
	}
	var err error
	if s.PNF, err = New(c, slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-s.done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("the pnf does not end")
		}
	})
	return s
}

// until waits until something is so.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// TestPNF: over real sockets, from connecting to STOP and START again.
func TestPNF(t *testing.T) {
	v := newVNFStub(t, true)
	p := runPNF(t, v, nil)
	v.accept()
	v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
	until(t, "requests meet their slots", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.crcs >= 20
	})
	if got := p.Stats().State; got != "RUNNING" {
		t.Errorf("the pnf is %s", got)
	}
	if got := v.ask(1, &nfapi.StopRequest{}); got != 0 {
		t.Fatalf("STOP: %d", got)
	}
	slots := p.Stats().PHYs[0].Slots
	if slots == 0 {
		t.Error("no slots")
	}
	if got := v.ask(1, &nfapi.StartRequest{}); got != 0 {
		t.Fatalf("START: %d", got)
	}
	before := v.got(nfapi.MsgSlotIndication)
	until(t, "slots again", func() bool { return v.got(nfapi.MsgSlotIndication) > before+20 })
	if got := v.ask(0, &nfapi.PNFStopRequest{}); got != 0 {
		t.Fatalf("PNF_STOP: %d", got)
	}
	if got, want := p.layers[1].told(), []string{"configure", "start", "stop", "start", "stop"}; !slices.Equal(got, want) {
		t.Errorf("the phy was told %q, want %q", got, want)
	}
	until(t, "the state after PNF_STOP", func() bool { return p.Stats().State == "CONFIGURED" }) // behind its response
	if got := p.Stats(); got.PHYs[0].Slots <= slots || got.PHYs[0].OnTime < 20 {
		t.Errorf("got %+v", got)
	}
}

// TestConnectAgain: a VNF that is gone stops everything; when it is here again it is
// served as if nothing had been.
func TestConnectAgain(t *testing.T) {
	v := newVNFStub(t, false)
	p := runPNF(t, v, nil)
	for i := range 3 {
		v.accept()
		v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
		before := v.got(nfapi.MsgSlotIndication)
		until(t, "slots", func() bool { return v.got(nfapi.MsgSlotIndication) > before })
		v.Close()
		until(t, "the phy stops", func() bool { return len(p.layers[1].told()) == 3*(i+1) })
	}
	if got := p.Stats(); got.Connections < 3 {
		t.Errorf("got %+v", got)
	}
}

// TestNoVNF: the PNF tries until there is a VNF.
func TestNoVNF(t *testing.T) {
	v := newVNFStub(t, false)
	address := v.listener.Addr().String()
	v.listener.Close()
	p := runPNF(t, v, func(c *Config) { c.P5.VNF = address })
	time.Sleep(20 * time.Millisecond) // some attempts, or none: both are fine
	if got := p.Stats(); got.Connections != 0 || got.State != "IDLE" {
		t.Errorf("got %+v", got)
	}
	var err error
	if v.listener, err = transport.ListenP5(transport.P5Config{Network: "tcp", Address: address}); err != nil {
		t.Skipf("the port is somebody else's meanwhile: %v", err)
	}
	defer v.listener.Close()
	v.accept()
	v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
}

// TestSilentVNF: a VNF that begins and does not go on is given up.
func TestSilentVNF(t *testing.T) {
	v := newVNFStub(t, false)
	runPNF(t, v, func(c *Config) { c.P5.Timeout = 50 * time.Millisecond })
	v.accept()
	for {
		if _, _, err := v.Receive(); err != nil {
			break
		}
	}
	v.accept() // and tried again
}

// served is how a PNF of a profile ends that a VNF of another one speaks to; answered says
// whether it has answered before.
func served(t *testing.T, pnf, vnf nfapi.Profile, speak bool) (answered bool, err error) {
	t.Helper()
	l, err := transport.ListenP5(transport.P5Config{Network: "tcp", Address: loopback.String(), Profile: vnf})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := New(Config{
		Profile: pnf.String(), P5: P5{VNF: l.Addr().String()}, P7: P7{Address: loopback}, PHYs: []PHYConfig{{ID: 1}},
		NewPHY: func(uint16) (fapi.PHY, error) { return &layer{}, nil },
	}, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.endpoints[0].open(pnf, p.config.P7); err != nil {
		t.Fatal(err)
	}
	defer p.endpoints[0].p7.Load().Close()
	here, err := transport.DialP5(t.Context(), transport.P5Config{Network: "tcp", Profile: pnf, Address: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.serve(t.Context(), here)
		ended <- err
	}()
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if speak {
		if err := there.Send(0, &nfapi.PNFParamRequest{}); err != nil {
			t.Fatal(err)
		}
		_, m, err := there.Receive()
		answered = err == nil && m.MessageID() == nfapi.MsgPNFParamResponse
	}
	there.Close()
	return answered, <-ended
}

// TestOtherProfile: a VNF of a profile that cannot be understood is told of, with what is
// to be set; those of OpenAirInterface understand each other.
func TestOtherProfile(t *testing.T) {
	for _, vnf := range nfapi.Profiles() {
		for _, pnf := range nfapi.Profiles() {
			answered, err := served(t, pnf, vnf, true)
			if same := (vnf == nfapi.Aerial) == (pnf == nfapi.Aerial); same != answered || same == errors.Is(err, errProfile) {
				t.Errorf("pnf %v, vnf %v: answered: %v, and then %v", pnf, vnf, answered, err)
			}
		}
	}
}

// TestUnwanted: a VNF that closes the connection at once does not want this PNF.
func TestUnwanted(t *testing.T) {
	if _, err := served(t, nfapi.OAI2025, nfapi.OAI2025, false); !errors.Is(err, errUnwanted) {
		t.Errorf("got %v, want %v", err, errUnwanted)
	}
}

// TestWrongPHY: messages for a PHY that there is not are counted, and no other's.
func TestWrongPHY(t *testing.T) {
	v := newVNFStub(t, false)
	p := runPNF(t, v, nil)
	v.accept()
	v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
	until(t, "slots", func() bool { return v.got(nfapi.MsgSlotIndication) > 0 })
	for range 20 {
		if err := errors.Join(v.p7.Send(v.pnf(), 2, ulTTI(1, 0), 0), v.p7.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all are counted", func() bool { return p.Stats().NoPHY == 20 })
	if got := p.Stats().PHYs[0]; got.Late+got.Early+got.OnTime+got.Unexpected != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestLate: a request that is late is reported over P5.
func TestLate(t *testing.T) {
	v := newVNFStub(t, false)
	p := runPNF(t, v, nil)
	v.accept()
	v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
	until(t, "slots", func() bool { return v.got(nfapi.MsgSlotIndication) > 0 })
	now, _ := p.phys[0].running.Load().line.Slot(time.Now())
	late := slot.Numerology(1).Add(now, -5)
	if err := errors.Join(v.p7.Send(v.pnf(), 1, ulTTI(1, late), 0), v.p7.Flush()); err != nil {
		t.Fatal(err)
	}
	h, m, err := v.Receive()
	if err != nil {
		t.Fatal(err)
	}
	sfn, s := slot.Numerology(1).Split(late)
	e, ok := m.(*nfapi.ErrorIndication)
	if !ok || h.PhyID != 1 || e.SFN != sfn || e.Slot != s || e.Message != 0x81 || e.ErrorCode != uint8(codeOutOfSync) {
		t.Errorf("got %v %+v, want an ERROR.indication of %d.%d", h, m, sfn, s)
	}
}

// TestStrangers: who is not the VNF is not heard over P7.
func TestStrangers(t *testing.T) {
	v := newVNFStub(t, false)
	p := runPNF(t, v, nil)
	v.accept()
	v.bring(nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
	stranger, err := transport.ListenP7(transport.P7Config{Local: loopback})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	until(t, "slots", func() bool { return v.got(nfapi.MsgSlotIndication) > 0 })
	for range 20 {
		if err := errors.Join(stranger.Send(v.pnf(), 1, &nfapi.DLNodeSync{}, 0), stranger.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all are refused", func() bool { return p.Stats().P7[0].Strangers == 20 })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p.PNF)
	families, err := registry.Gather()
	text := fmt.Sprint(families)
	for _, want := range []string{`name:"reason" value:"stranger"} counter:{value:20`, `name:"nfapi_pnf_no_phy_total"`} {
		if err != nil || !strings.Contains(strings.ReplaceAll(text, "  ", " "), want) {
			t.Errorf("no %s in %s, %v", want, text, err)
		}
	}
	if got := p.Stats().PHYs[0].NodeSyncs; got != 0 {
		t.Errorf("%d strangers were answered", got)
	}
}

// TestTwoPHYs: two of them, on one socket and on two, run side by side.
func TestTwoPHYs(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprint("own socket ", own), func(t *testing.T) {
			v := newVNFStub(t, true)
			p := runPNF(t, v, func(c *Config) {
				c.PHYs = []PHYConfig{{ID: 1, SlotAhead: 6}, {ID: 2, SlotAhead: 4}}
				if !own {
					c.P7.Address = freePort(t)
				}
			})
			if want := map[bool]int{false: 1, true: 2}[own]; len(p.endpoints) != want {
				t.Errorf("%d sockets, want %d", len(p.endpoints), want)
			}
			v.accept()
			v.bring(nfapi.PHYRFConfig{PHYID: 9, PHYConfigIndex: 2}, nfapi.PHYRFConfig{PHYID: 1, PHYConfigIndex: 1})
			until(t, "requests for both", func() bool {
				s := p.Stats()
				return taken(s.PHYs[0]) > 10 && taken(s.PHYs[1]) > 10
			})
			if got := v.ask(9, &nfapi.StopRequest{}); got != 0 {
				t.Fatalf("STOP: %d", got)
			}
			before := taken(p.Stats().PHYs[0])
			until(t, "the other one goes on", func() bool { return taken(p.Stats().PHYs[0]) > before+10 })
		})
	}
}

// taken is how many requests a PHY that runs has had. On a busy machine they are late.
func taken(s PHYStats) uint64 { return s.OnTime + s.Late }

// freePort is a port that nobody has just now.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	c, err := net.ListenPacket("udp", loopback.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return netip.MustParseAddrPort(c.LocalAddr().String())
}
