package vnf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// TestVNF: a PNF of two PHYs from connecting to the end.
func TestVNF(t *testing.T) {
	local := netip.MustParseAddrPort("127.0.0.1:0")
	s := serve(t, func(c *Config) {
		c.PNFs[0].PHYs = []PHY{{ID: 1, P7: local}, {ID: 5, P7: netip.MustParseAddrPort("0.0.0.0:0")}}
		c.Timeouts.Sync = -1
		c.Watch = func(string, uint16) *stopwatch.Watch { return stopwatch.New() }
	})
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	u.until(nfapi.MsgStartRequest)
	wait(t, "both phys run", func() bool { return s.macs[1].counts().starts == 1 && s.macs[5].counts().starts == 1 })
	for _, phy := range []uint16{1, 5} {
		if !u.vnf[phy].IsValid() || u.vnf[phy].Addr() != local.Addr() {
			t.Fatalf("phy %d has p7 at %v", phy, u.vnf[phy])
		}
		u.slots(phy, 20470, 20)
		wait(t, "all slots scheduled", func() bool { return s.macs[phy].counts().slots == 20 })
		// The first indication came before the first tick.
		if c := s.macs[phy].counts(); c.indicated != 19 || c.wrong != 0 || c.outOfOrder != 0 {
			t.Errorf("phy %d: got %+v", phy, c)
		}
	}
	wait(t, "the requests", func() bool { return u.got(nfapi.MsgULTTIRequest) == 40 })
	stats := s.Stats().PNFs[0]
	if stats.Stage != "running" || stats.PHYs[1].Stage != "running" || stats.PHYs[1].Counts.Ticks != 20 || stats.PHYs[1].Counts.ULTTI != 20 {
		t.Errorf("got %+v", stats)
	}

	s.cancel()
	u.until(nfapi.MsgPNFStopRequest)
	want := []string{
		"PNF_PARAM.request 0", "PNF_CONFIG.request 0", "PNF_START.request 0", "PARAM.request 1", "PARAM.request 5",
		"CONFIG.request 1", "CONFIG.request 5", "START.request 1", "START.request 5", "STOP.request 1", "STOP.request 5", "PNF_STOP.request 0",
	}
	if fmt.Sprint(u.asked) != fmt.Sprint(want) {
		t.Errorf("asked\n%q\nwant\n%q", u.asked, want)
	}
	select {
	case err := <-s.done:
		s.done <- nil
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the vnf does not end")
	}
	if c := s.macs[1].counts(); c.stops != 1 {
		t.Errorf("the mac was stopped %d times", c.stops)
	}
}

// TestReconnect: a PNF that is gone stops its PHYs, and is served when it is here again.
func TestReconnect(t *testing.T) {
	s := serve(t, nil)
	for i := range 3 {
		u := connect(t, s)
		u.until(nfapi.MsgStartRequest)
		wait(t, "the phy runs", func() bool { return s.macs[1].counts().starts == i+1 })
		before := s.macs[1].counts().slots
		u.slots(1, 100*i, 10)
		wait(t, "slots", func() bool { return s.macs[1].counts().slots == before+10 })
		u.Close()
		wait(t, "the phy stops", func() bool { return s.macs[1].counts().stops == i+1 && s.Stats().PNFs[0].Stage == "idle" })
		wait(t, "the entry is free", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.pnfs[0].conn == nil
		})
	}
	if got := s.Stats().PNFs[0]; got.Connections != 3 || got.Reason == "" {
		t.Errorf("got %+v", got)
	}
}

// TestSilence: a PNF whose SLOT.indications end is given up.
func TestSilence(t *testing.T) {
	s := serve(t, func(c *Config) { c.Timeouts.Silence = 50 * time.Millisecond })
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	if _, _, err := u.Receive(); err == nil {
		t.Error("got a message, want the end of the connection")
	}
	wait(t, "the phy stops", func() bool { return s.macs[1].counts().stops == 1 })
}

// TestRefused: strangers, and a second PNF where there is to be one, are refused and
// disturb nobody.
func TestRefused(t *testing.T) {
	s := serve(t, nil)
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	for _, from := range []string{"127.0.0.1:0", "127.0.0.2:0"} {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
		c, err := d.Dial("tcp", s.P5().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		var timeout net.Error
		if n, err := c.Read(make([]byte, 100)); n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("from %s: %d octets, %v, want the end", from, n, err)
		}
		c.Close()
	}
	if got := s.Stats(); got.Refused != 2 || got.PNFs[0].Stage != "running" {
		t.Errorf("got %+v", got)
	}
	wait(t, "the phy runs", func() bool { return s.macs[1].counts().starts == 1 })
	u.slots(1, 0, 5)
	wait(t, "slots", func() bool { return s.macs[1].counts().slots == 5 })
}

// TestStranger: an address that is no PNF's gets no answer.
func TestStranger(t *testing.T) {
	s := serve(t, func(c *Config) { c.PNFs[0].From = netip.MustParsePrefix("192.0.2.0/24") })
	c, err := net.Dial("tcp", s.P5().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 100)); n > 0 || err == nil {
		t.Errorf("got %d octets, %v", n, err)
	}
	wait(t, "it is counted", func() bool { return s.Stats().Refused == 1 })
	if got := s.Stats().PNFs[0]; got.Connections != 0 || got.Stage != "idle" {
		t.Errorf("got %+v", got)
	}
}

// TestBroken: what is no P5 ends the connection and nothing else; a body that cannot be
// read does not even that.
func TestBroken(t *testing.T) {
	s := serve(t, nil)
	c, err := net.Dial("tcp", s.P5().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	wait(t, "the connection ends", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pnfs[0].conn == nil && s.pnfs[0].status.Connections == 1
	})
	u := connect(t, s)
	if err := u.Send(1, &nfapi.Opaque{ID: nfapi.MsgConfigResponse, Body: []byte{0}}); err != nil {
		t.Fatal(err)
	}
	if err := u.Send(1, &nfapi.ErrorIndication{Message: 0x80, ErrorCode: codeInvalidSFN}); err != nil {
		t.Fatal(err)
	}
	u.until(nfapi.MsgStartRequest)
	wait(t, "the phy runs", func() bool { return s.macs[1].counts().starts == 1 })
	if got := s.Stats().PNFs[0]; got.Errors != 1 || got.PHYs[0].Counts.LateReports != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestHolding: who connects and says nothing does not hold the entry of a PNF for long.
func TestHolding(t *testing.T) {
	s := serve(t, func(c *Config) { c.Timeouts.Answer, c.Timeouts.Repeat = 20*time.Millisecond, -1 })
	c, err := net.Dial("tcp", s.P5().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wait(t, "the connection ends", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pnfs[0].conn == nil && s.pnfs[0].status.Connections == 1
	})
	if got := s.Stats().PNFs[0].Reason; got != "PNF_PARAM.request: no answer within 20ms: is it a pnf of profile oai-2025, as is configured here?" {
		t.Errorf("got %q", got)
	}
}

// TestNodeSyncLoopback: over real sockets node sync finds two clocks that agree.
func TestNodeSyncLoopback(t *testing.T) {
	s := serve(t, func(c *Config) { c.Timeouts.Sync = time.Millisecond })
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	wait(t, "the phy runs", func() bool { return s.macs[1].counts().starts == 1 })
	n := 0
	wait(t, "node sync", func() bool {
		u.slots(1, n, 1)
		n++
		return s.Stats().PNFs[0].PHYs[0].Synchronised
	})
}

func TestNewErrors(t *testing.T) {
	local := netip.MustParseAddrPort("127.0.0.1:0")
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy := netip.MustParseAddrPort(taken.LocalAddr().String())
	from := netip.MustParsePrefix("127.0.0.1/32")
	for name, test := range map[string]struct {
		config Config
		usage  bool
	}{
		"nothing":   {Config{}, true},
		"profile":   {Config{Profile: "oai-2019"}, true},
		"network":   {Config{P5: P5{Address: local, Network: "udp"}}, true},
		"UDP port":  {Config{P5: P5{Address: local, SCTPUDPPort: 9900}}, true},
		"no pnfs":   {Config{P5: P5{Address: local}}, true},
		"no from":   {Config{P5: P5{Address: local}, PNFs: []PNF{{PHYs: []PHY{{P7: local}}}}}, true},
		"no phys":   {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from}}}, true},
		"no p7":     {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{}}}}}, true},
		"same ids":  {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local}, {P7: local}}}}}, true},
		"same name": {Config{P5: P5{Address: local}, PNFs: []PNF{{Name: "a", From: from, PHYs: []PHY{{P7: local}}}, {Name: "a", From: from, PHYs: []PHY{{P7: local}}}}}, true},
		"same p7":   {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: busy}, {ID: 1, P7: busy}}}}}, true},
		"mode":      {Config{P5: P5{Address: local}, SlotAhead: SlotAhead{Mode: "3"}}, true},
		"min":       {Config{P5: P5{Address: local}, SlotAhead: SlotAhead{Min: 6 * time.Millisecond}}, true},
		"max":       {Config{P5: P5{Address: local}, SlotAhead: SlotAhead{Max: time.Second}}, true},
		"margin":    {Config{P5: P5{Address: local}, SlotAhead: SlotAhead{Margin: time.Second}}, true},
		"segments":  {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local, SegmentSize: 18}}}}}, true},
		"announce":  {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local, Announce: local}}}}}, true},
		"pnf_p7":    {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local, PNFP7: netip.MustParseAddrPort("0.0.0.0:7")}}}}}, true},
		"silence":   {Config{P5: P5{Address: local}, Timeouts: Timeouts{Silence: -1}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local}}}}}, true},
		"busy":      {Config{P5: P5{Address: local}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: busy}}}}}, false},
	} {
		v, err := New(test.config, func(string, uint16) (fapi.MAC, error) { return newFakeMAC(t, 1), nil }, slog.New(slog.DiscardHandler))
		if err == nil {
			v.Close()
			t.Errorf("%s: taken", name)
		} else if errors.Is(err, ErrConfig) != test.usage {
			t.Errorf("%s: %v; want an ErrConfig: %v", name, err, test.usage)
		}
	}
	c := Config{P5: P5{Address: local, Network: "tcp"}, PNFs: []PNF{{From: from, PHYs: []PHY{{P7: local}}}}}
	broken := errors.New("broken")
	if _, err := New(c, func(string, uint16) (fapi.MAC, error) { return nil, broken }, slog.New(slog.DiscardHandler)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the mac's error", err)
	}
}

// TestSCTPUDPPort: P5 over SCTP in UDP is at the port that is configured.
func TestSCTPUDPPort(t *testing.T) {
	free, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	port := free.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	c := Config{
		P5:   P5{Address: netip.MustParseAddrPort("127.0.0.1:50001"), Network: "sctp-udp", SCTPUDPPort: port},
		PNFs: []PNF{{From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []PHY{{P7: netip.MustParseAddrPort("127.0.0.1:0")}}}},
	}
	v, err := New(c, func(string, uint16) (fapi.MAC, error) { return newFakeMAC(t, 1), nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p5, err := transport.DialP5(ctx, transport.P5Config{Network: "sctp-udp", Address: "127.0.0.1:50001", EncapsulationPort: port})
	if err != nil {
		t.Fatal(err)
	}
	if err := p5.Close(); err != nil {
		t.Error(err)
	}
}
