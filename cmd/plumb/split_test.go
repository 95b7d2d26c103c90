package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/upf"
)

// splitBed is a UPF of three processes: plumb n4, redis-server, plumb datapath.
//
//	SMF ─ N4 ─ plumb n4 ─ redis-server ─ plumb datapath ─ N3, N6
type splitBed struct {
	*trafficBed
	redis             *redistest.Server
	n4File, agentFile string
	n4, agent         *process
}

func newSplitBed(t *testing.T, name string) *splitBed {
	b := &splitBed{trafficBed: newTrafficBed(t, name), redis: redistest.Start(t)}
	n4 := b.upfConfig()
	n4.Datapath = upf.DatapathAgents
	n4.N3, n4.N6, n4.XDP = upf.N3{}, upf.N6{}, upf.Default().XDP
	n4.Store.Path = filepath.Join(b.dir, "store")
	n4.Bus.Redis.Address = b.redis.Address
	n4.Bus.Timeout = upf.Duration(time.Second)
	n4.Bus.Agents = []upf.Agent{{Name: "one", Number: 3, GTPU: []upf.GTPU{{Name: "n3", Address: b.Config.N3UPF.Addr()}}}}
	b.n4File = b.file("n4.yaml", n4)

	agent := upf.Default()
	b.ports(agent)
	agent.Metrics = upf.Metrics{}
	agent.API.Socket = filepath.Join(b.dir, "agent-api")
	agent.XDP.Pin = b.pin()
	agent.Bus.Redis.Address, agent.Bus.Agent = b.redis.Address, "one"
	b.agentFile = b.file("datapath.yaml", agent)

	b.startAgent()
	b.startN4()
	b.waitAgent()
	b.associate()
	return b
}

func (b *splitBed) startN4() {
	b.n4 = b.plumb("", "n4", "--config", b.n4File)
	b.n4.wait("msg=up ")
}

func (b *splitBed) startAgent() {
	b.agent = b.plumb("", "datapath", "--config", b.agentFile)
	b.agent.wait("msg=up ")
}

// waitAgent waits until the control plane can place sessions.
func (b *splitBed) waitAgent() {
	b.t.Helper()
	b.n4.wait(`msg="agent is up"`)
}

// held is how many sessions the agent says that its datapath holds.
func (b *splitBed) held() int {
	s, err := b.redis.Client.Get(b.t.Context(), "plumbline:{one}:alive").Result()
	if err != nil {
		return -1
	}
	a := new(api.Alive)
	if err := proto.Unmarshal([]byte(s), a); err != nil || !a.GetReconciled() {
		return -1
	}
	return int(a.GetSessions())
}

// checkHeld compares the datapath with what was accepted: it has so many
// sessions, and packets of each of them pass.
func (b *splitBed) checkHeld(what string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for b.held() != len(b.sessions) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: the agent holds %d sessions, want %d\nn4:\n%s\nagent:\n%s", what, b.held(), len(b.sessions), b.n4.log(), b.agent.log())
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.checkForwarded(what, b.sessions)
}

// TestSplit: sessions come over PFCP, Redis and the agent into the datapath, and
// packets pass; modification, deletion and usage work as in one process.
func TestSplit(t *testing.T) {
	b := newSplitBed(t, "plt-split")
	for line := range strings.Lines(b.n4.log()) {
		if strings.Contains(line, "msg=up ") && (strings.Contains(line, "n3=") || strings.Contains(line, "sessions_max=0")) {
			t.Errorf("what plumb n4 does not have: %s", line)
		}
	}
	b.establish(50)
	b.checkHeld("established")
	if r, err := b.smf.Modify(t.Context(), &b.template, b.sessions); err != nil || r.Accepted != len(b.sessions) {
		t.Errorf("modification: %+v, %v", r, err)
	}
	b.checkHeld("modified")
	counted := uint64(0)
	c := upf.NewClient(filepath.Join(b.dir, "api"))
	for _, x := range b.sessions {
		s, err := c.Session(t.Context(), upf.SEID(x.RemoteSEID))
		if err != nil || len(s.Rules.URRs) != 1 {
			t.Fatalf("usage: %+v, %v", s, err)
		}
		counted += s.Rules.URRs[0].UplinkPackets
	}
	if counted != b.sent {
		t.Errorf("%d packets counted, %d sent", counted, b.sent)
	}
	gone := b.sessions[:20]
	if r, err := b.smf.Delete(t.Context(), gone); err != nil || r.Accepted != len(gone) {
		t.Errorf("deletion: %+v, %v", r, err)
	}
	b.sessions = b.sessions[20:]
	b.checkHeld("the others")
	b.n4.stop()
	b.agent.stop()
	b.checkForwarded("without any process", b.sessions)
}

// TestSplitDeviceReplaced: the agent cannot open its datapath again when another device has
// the name of N6's; it ends with the exit code after which it is started again, and then
// has what is desired.
func TestSplitDeviceReplaced(t *testing.T) {
	b := newSplitBed(t, "plt-splitdev")
	b.establish(20)
	b.checkHeld("established")
	if err := b.Replace(&b.N6); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.agent.done:
	case <-time.After(patience):
		t.Fatalf("the agent goes on:\n%s", b.agent.log())
	}
	if code := b.agent.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1:\n%s", code, b.agent.log())
	}
	b.startAgent()
	b.checkHeld("started again")
	b.n4.stop()
	b.agent.stop()
}

// TestSplitStrikes ends each of the processes, and cuts them off from each other,
// in the middle of establishments. Afterwards every accepted session is in the
// datapath, and no other; packets of sessions that were there before flow on
// whatever is away.
func TestSplitStrikes(t *testing.T) {
	b := newSplitBed(t, "plt-strike")
	b.establish(20)
	before := b.sessions
	b.checkHeld("before")
	for _, tc := range []struct {
		name   string
		strike func()
	}{
		{"kill -9 plumb datapath", func() { b.agent.kill(); b.startAgent() }},
		{"kill -9 plumb n4", func() { b.n4.kill(); b.startN4(); b.waitAgent() }},
		{"kill -9 redis-server", func() { b.redis.Kill(); b.redis.Run() }},
		{"redis-server without its data", func() { b.redis.Kill(); b.redis.Forget(); b.redis.Run() }},
		{"redis-server cut off", func() { b.redis.Pause(); time.Sleep(1500 * time.Millisecond); b.redis.Resume() }},
	} {
		sent, got := b.uplink(before, generator.Load{Rate: 5000, CPU: -1}, func() { b.establishDuring(tc.strike) })
		if got.Received != sent || got.MisdeliveredTotal() != 0 {
			t.Errorf("%s: %d of %d frames arrived, %d wrong", tc.name, got.Received, sent, got.MisdeliveredTotal())
		}
		b.checkHeld(tc.name)
	}
}

// establishDuring keeps establishing sessions until a while after strike, and
// adds those that were accepted.
func (b *splitBed) establishDuring(strike func()) {
	b.t.Helper()
	const batch = 16
	ctx, stop := context.WithCancel(b.t.Context())
	accepted := make(chan []n4load.Session)
	first := len(b.sessions) + 1000*int(b.run)
	go func() {
		var list []n4load.Session
		for n := first; ctx.Err() == nil; n += batch {
			more := b.template.Sessions(n, batch)
			// An error says that some were refused.
			if _, err := b.smf.Establish(b.t.Context(), &b.template, more); err != nil {
				time.Sleep(10 * time.Millisecond)
			}
			for _, s := range more {
				if s.RemoteSEID != 0 {
					list = append(list, s)
				}
			}
		}
		accepted <- list
	}()
	strike()
	deadline := time.Now().Add(patience)
	for { // it works again
		more := b.template.Sessions(first+500_000, 1)
		if _, err := b.smf.Establish(b.t.Context(), &b.template, more); err == nil {
			b.sessions = append(b.sessions, more...)
			break
		} else if time.Now().After(deadline) {
			b.t.Fatalf("no session is accepted any more: %v\nn4:\n%s\nagent:\n%s", err, b.n4.log(), b.agent.log())
		}
		first++
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	b.sessions = append(b.sessions, <-accepted...)
}
