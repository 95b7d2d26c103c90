package vnf

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// TestStoodStillConn: a VNF that has not run for a while takes in what has come meanwhile
// before it says that its PNF is silent, or does not answer.
func TestStoodStillConn(t *testing.T) {
	r := newRig(t, 1, SlotAhead{})
	v := &VNF{log: r.log}
	v.config.Timeouts.complete()
	p := &pnf{phys: []*phy{r.phy}, config: PNF{PHYs: []PHY{{ID: 1}}}, told: make([]string, 2)}
	p.status.PHYs = make([]PHYStats, 1)
	c := newConn(v, p, nil)
	if n := testing.AllocsPerRun(10, c.publish); n != 0 {
		t.Errorf("%v allocations to say what has not changed", n)
	}
	now := r.time
	c.looked = now
	pending := &c.proc.pnf
	pending.stage, pending.until, pending.request = stageStart, now.Add(time.Second), &nfapi.PNFStartRequest{}
	now = now.Add(5 * time.Second) // SIGSTOP, SIGCONT
	if got := c.passed(now); got != look || c.lost != nil || c.proc.err != nil {
		t.Fatalf("after standing still: look again after %v, want %v; lost %v, %v", got, look, c.lost, c.proc.err)
	}
	now = now.Add(look / 2)
	if got := c.passed(now); got != look/2 || c.proc.err != nil {
		t.Fatalf("after a message: look again after %v, want %v; %v", got, look/2, c.proc.err)
	}
	now = now.Add(look / 2)
	if c.passed(now); c.proc.err == nil {
		t.Error("who does not answer is never given up")
	}
	pending.until = time.Time{}
	for end := now.Add(c.vnf.config.Timeouts.Silence); now.Before(end); now = now.Add(look) {
		if c.passed(now); c.lost != nil {
			t.Fatalf("lost %v: %v after standing still", c.lost, now.Sub(c.since))
		}
	}
	if c.passed(now.Add(look)); c.lost == nil {
		t.Error("silence after standing still does not count")
	}
}

// TestSilenceAmongErrors: a PNF that sends nothing but ERROR.indications, however many, is
// as silent.
func TestSilenceAmongErrors(t *testing.T) {
	s := serve(t, func(c *Config) { c.Timeouts.Silence = 50 * time.Millisecond })
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	for end := time.Now().Add(patience); u.Send(1, &nfapi.ErrorIndication{Message: 0x80, ErrorCode: codeSFNOutOfSync}) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the connection goes on")
		}
	}
}

// TestReceiversFail: however many sockets of P7 fail, Run ends.
func TestReceiversFail(t *testing.T) {
	local := netip.MustParseAddrPort("127.0.0.1:0")
	var phys []PHY
	for id := range uint16(5) {
		phys = append(phys, PHY{ID: id, P7: local})
	}
	v, err := New(Config{
		P5: P5{Address: local, Network: "tcp"}, PNFs: []PNF{{From: netip.MustParsePrefix("127.0.0.1/32"), PHYs: phys}},
	}, func(string, uint16) (fapi.MAC, error) { return newFakeMAC(t, 1), nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, p7 := range v.pnfs[0].p7 { // somebody else receives already: Run cannot
		p7.Admit()
		came := make(chan struct{}, 1)
		group.Go(func() {
			if err := p7.Receive(func(*transport.Datagram) { came <- struct{}{} }); err != nil {
				t.Error(err)
			}
		})
		if err := errors.Join(p7.Send(p7.LocalAddr(), 1, &nfapi.SlotIndication{}, 0), p7.Flush()); err != nil {
			t.Fatal(err)
		}
		<-came
	}
	done := make(chan error, 1)
	go func() { done <- v.Run(t.Context()) }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Fatal("the vnf does not end")
	}
	group.Wait()
}

// TestLoggedOnce: what fails again and again as it did before is one line of the log; so
// is a PNF that comes and goes.
func TestLoggedOnce(t *testing.T) {
	log := &lines{}
	s := serveLog(t, nil, func(uint16) fapi.MAC { return newFakeMAC(t, 1) }, slog.New(slog.NewTextHandler(log, nil)))
	u := connect(t, s)
	u.answers[nfapi.MsgConfigRequest] = []nfapi.Message{&nfapi.ConfigResponse{ErrorCode: 2}}
	for range 5 {
		u.until(nfapi.MsgConfigRequest)
	}
	u.Close()
	wait(t, "it is gone", func() bool { return log.count("closed the connection") == 1 })
	for i := range 3 {
		again := connect(t, s)
		again.until(nfapi.MsgPNFParamRequest)
		again.Close()
		wait(t, "it is gone again", func() bool { return s.Stats().PNFs[0].Connections == uint64(i+2) && s.Stats().PNFs[0].Stage == "idle" })
	}
	for text, want := range map[string]int{"INVALID_CONFIG (2)": 1, "p5: connected": 2, "connection lost": 1} {
		if got := log.count(text); got != want {
			t.Errorf("%d lines with %q, want %d:\n%s", got, text, want, log)
		}
	}
}
