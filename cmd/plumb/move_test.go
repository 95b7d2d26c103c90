package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/upf"
)

// moveBed is `plumb upf`, and sessions in it that go from datapath to datapath.
type moveBed struct {
	*restartBed
	received uint64 // frames, in all
}

// userOctets is the length of the generator's user packets: IPv4, UDP, payload.
const userOctets = 20 + 8 + 64

func newMoveBed(t *testing.T, name, datapath string, change func(*moveBed)) *moveBed {
	b := &moveBed{restartBed: &restartBed{trafficBed: newTrafficBed(t, name)}}
	b.config = b.upfConfig()
	b.config.Datapath = datapath
	b.config.Sessions.Max = 1000
	b.config.TUN.Routes = b.Config.UEPools
	if change != nil {
		change(b)
	}
	b.file = b.trafficBed.file("upf.yaml", b.config)
	b.api = upf.NewClient(b.config.API.Socket)
	b.start("")
	b.associate()
	b.establish(40)
	return b
}

// send sends uplink frames while during runs. What was counted of all sessions has to
// be what has arrived, to the octet: none is counted twice, or lost behind the counter.
func (b *moveBed) send(what string, during func()) (lost uint64) {
	b.t.Helper()
	sent, got := b.uplink(b.sessions, generator.Load{Rate: 20_000, CPU: -1}, during)
	b.received += got.Received
	if got.MisdeliveredTotal() != 0 || got.Duplicated != 0 {
		b.t.Errorf("%s: %d frames wrong, %d twice", what, got.MisdeliveredTotal(), got.Duplicated)
	}
	packets, octets := b.usage()
	if packets != b.received || octets != b.received*userOctets {
		b.t.Errorf("%s: %d packets of %d octets counted, %d of %d arrived:\n%s",
			what, packets, octets, b.received, b.received*userOctets, b.upf.log())
	}
	return sent - got.Received
}

// usage is what the UPF counted of all sessions, uplink. Rules count what URRs do.
func (b *moveBed) usage() (packets, octets uint64) {
	b.t.Helper()
	for _, s := range b.sessions {
		x, err := b.api.Session(b.t.Context(), upf.SEID(s.RemoteSEID))
		if err != nil {
			b.t.Fatalf("session %#x: %v", s.RemoteSEID, err)
		}
		var rules, urrs upf.Usage
		for _, u := range x.Rules.URRs {
			urrs.Packets, urrs.Octets = urrs.Packets+u.UplinkPackets, urrs.Octets+u.UplinkOctets
		}
		for _, p := range x.Rules.PDRs {
			rules.Packets, rules.Octets = rules.Packets+p.Usage.Packets, rules.Octets+p.Usage.Octets
		}
		if rules.Packets != urrs.Packets || rules.Octets != urrs.Octets {
			b.t.Errorf("session %#x: rules counted %+v, URRs %+v", s.RemoteSEID, rules, urrs)
		}
		packets, octets = packets+urrs.Packets, octets+urrs.Octets
	}
	return packets, octets
}

// Check: N4 works on, and all sessions forward, old ones and new ones. In the kernel
// nothing is lost; user space may be kept from its work by this machine.
func (b *moveBed) check(what string, kernel bool) {
	b.t.Helper()
	r, err := b.smf.Modify(b.t.Context(), &b.template, b.sessions)
	if err != nil || r.Accepted != len(b.sessions) {
		b.t.Errorf("%s: modification of all: %+v, %v", what, r, err)
	}
	b.establish(1)
	before := b.counts()
	for end := time.Now().Add(patience); ; {
		lost := b.send(what, func() { time.Sleep(100 * time.Millisecond) })
		if kernel && lost != 0 {
			drops, err := b.api.Drops(b.t.Context())
			b.t.Errorf("%s: %d frames of %d lost, drops %+v, %v\n%s", what, lost, b.sent, drops, err, b.upf.log())
		}
		silent := 0
		for seid, n := range b.counts() {
			if n == before[seid] {
				silent++
			}
		}
		if silent == 0 {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s: %d sessions forward nothing\n%s", what, silent, b.upf.log())
		}
	}
}

// counts is how many packets each session has forwarded.
func (b *moveBed) counts() map[uint64]uint64 {
	b.t.Helper()
	all := map[uint64]uint64{}
	for _, s := range b.sessions {
		x, err := b.api.Session(b.t.Context(), upf.SEID(s.RemoteSEID))
		if err != nil {
			b.t.Fatalf("session %#x: %v", s.RemoteSEID, err)
		}
		for _, p := range x.Rules.PDRs {
			all[s.RemoteSEID] += p.Usage.Packets
		}
	}
	return all
}

// inKernel says which datapaths lose nothing on a machine that has other work.
var inKernel = map[string]bool{upf.DatapathXDP: true, upf.DatapathTC: true}

// tour visits every ordered pair of the datapaths: it begins with the first.
func tour(names []string) []string {
	list := []string{names[0]}
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if list[len(list)-1] != names[i] {
				list = append(list, names[i])
			}
			list = append(list, names[j], names[i])
		}
	}
	return list
}

var movable = []string{upf.DatapathXDP, upf.DatapathTC, upf.DatapathAFXDP, upf.DatapathTUN, upf.DatapathTAP, upf.DatapathP4}

// TestMove: sessions go from each datapath to each other one under traffic. Nothing
// that was counted is lost, N4 works on, and of the frames only those of the gap.
func TestMove(t *testing.T) {
	b := newMoveBed(t, "plt-move", movable[0], nil)
	b.check("at the start", inKernel[movable[0]])
	for _, to := range tour(movable)[1:] {
		var m *upf.Moved
		lost := b.send("to "+to, func() {
			time.Sleep(50 * time.Millisecond)
			var err error
			if m, err = b.api.Move(t.Context(), to); err != nil {
				t.Fatalf("move to %s: %v\n%s", to, err, b.upf.log())
			}
		})
		t.Logf("%s to %s: %d sessions in %v, gap %v, %d frames lost at 20 kpps", m.From, m.To, m.Sessions, m.Took, m.Gap, lost)
		if m.Sessions != len(b.sessions) {
			t.Errorf("to %s: %d sessions moved, want %d", to, m.Sessions, len(b.sessions))
		}
		if d, err := b.api.Datapath(t.Context()); err != nil || d.Name != to || !strings.HasPrefix(d.Why, "moved from "+m.From) {
			t.Errorf("to %s: %+v, %v forwards", to, d, err)
		}
		b.check(m.From+" to "+to, inKernel[to])
	}
	report, err := b.smf.Delete(t.Context(), b.sessions)
	if err != nil || report.Accepted != len(b.sessions) {
		t.Errorf("deletion of all: %+v, %v", report, err)
	}
	b.upf.stop()
}

// TestCapabilities: the capabilities that the documentation and the systemd unit name are
// enough to start, and to move between the datapaths in the kernel.
func TestCapabilities(t *testing.T) {
	b := newMoveBed(t, "plt-capable", upf.DatapathXDP, func(b *moveBed) {
		b.under = []string{"setpriv", "--bounding-set=-all,+net_admin,+bpf,+perfmon,+net_raw"}
	})
	b.check("at the start", true)
	for _, to := range []string{upf.DatapathTC, upf.DatapathXDP} {
		if _, err := b.api.Move(t.Context(), to); err != nil {
			t.Fatalf("move to %s: %v\n%s", to, err, b.upf.log())
		}
		b.check("moved to "+to, true)
	}
	b.upf.stop()
}

// TestMoveKilled: a UPF that is killed at any moment of a move starts again as it is
// configured, with all its sessions. As long as the move was not done, all is there that
// was counted before it began, and nothing is counted that did not arrive but what was
// under way at the kill.
func TestMoveKilled(t *testing.T) {
	b := newMoveBed(t, "plt-movekill", upf.DatapathXDP, func(b *moveBed) {
		b.config.Store.Path, b.config.XDP.Pin = t.TempDir()+"/store", b.pin()
	})
	const underWay = 256 // packets: a vector
	for _, delay := range []time.Duration{0, 5, 20, 50, 100, 200} {
		before, _ := b.urrs()
		moved := make(chan error, 1)
		_, got := b.uplink(b.sessions, generator.Load{Rate: 20_000, CPU: -1}, func() {
			go func() {
				_, err := b.api.Move(t.Context(), upf.DatapathTUN)
				moved <- err
			}()
			time.Sleep(delay * time.Millisecond)
			b.upf.kill()
			b.start("")
		})
		done := <-moved == nil
		after, octets := b.urrs()
		if after > before+got.Received+underWay || octets != after*userOctets || !done && after < before {
			t.Errorf("killed after %d ms, moved %v: %d packets of %d octets counted, before %d, of %d that arrived:\n%s",
				delay, done, after, octets, before, got.Received, b.upf.log())
		}
		if d, err := b.api.Datapath(t.Context()); err != nil || d.Name != upf.DatapathXDP {
			t.Errorf("killed after %d ms: %+v, %v forwards", delay, d, err)
		}
		b.checkForwarded("after a kill in a move", b.sessions)
	}
}

// TestRestartElsewhere: the UPF is started again with another datapath, after an orderly
// stop, and where tables were pinned after kill -9, too. All sessions are there, and all
// that was counted.
func TestRestartElsewhere(t *testing.T) {
	b := newMoveBed(t, "plt-elsewhere", upf.DatapathXDP, func(b *moveBed) { b.config.Store.Path = t.TempDir() + "/store" })
	again := func(datapath, pin string, end func()) {
		t.Helper()
		b.config.Datapath, b.config.XDP.Pin = datapath, pin
		b.file = b.trafficBed.file("upf.yaml", b.config)
		end()
		b.start("")
	}
	pin := b.pin()
	for _, step := range []struct {
		to   string
		pin  string
		kill bool
	}{
		{upf.DatapathTUN, "", false}, {upf.DatapathXDP, pin, false}, {upf.DatapathAFXDP, pin, true}, {upf.DatapathTC, pin, false},
		{upf.DatapathTAP, pin, true}, {upf.DatapathXDP, pin, false}, {upf.DatapathTC, pin, true},
	} {
		what := fmt.Sprintf("restart with %s, pin %q, kill %v", step.to, step.pin, step.kill)
		before, octets := b.urrs()
		again(step.to, step.pin, map[bool]func(){true: b.upf.kill, false: b.upf.stop}[step.kill])
		if after, more := b.urrs(); after != before || more != octets {
			t.Errorf("%s: %d packets of %d octets counted, before it %d of %d", what, after, more, before, octets)
		}
		if d, err := b.api.Datapath(t.Context()); err != nil || d.Name != step.to {
			t.Errorf("%s: %+v, %v forwards", what, d, err)
		}
		sent, got := b.uplink(b.sessions, generator.Load{Rate: 20_000, Frames: 4000, CPU: -1}, nil)
		if after, more := b.urrs(); after != before+got.Received || more != octets+got.Received*userOctets || got.Received == 0 {
			t.Errorf("%s: %d packets of %d octets counted, want %d and %d; %d of %d frames arrived:\n%s",
				what, after, more, before+got.Received, octets+got.Received*userOctets, got.Received, sent, b.upf.log())
		}
	}
}

// urrs is what all URRs counted, uplink.
func (b *moveBed) urrs() (packets, octets uint64) {
	b.t.Helper()
	for _, s := range b.sessions {
		x, err := b.api.Session(b.t.Context(), upf.SEID(s.RemoteSEID))
		if err != nil {
			b.t.Fatalf("session %#x: %v\n%s", s.RemoteSEID, err, b.upf.log())
		}
		for _, u := range x.Rules.URRs {
			packets, octets = packets+u.UplinkPackets, octets+u.UplinkOctets
		}
	}
	return packets, octets
}

// BenchmarkMove moves 100 k sessions from xdp to tun and back, under traffic: how long
// no datapath took packets, and how long it took in all.
func BenchmarkMove(bench *testing.B) {
	const sessions = 100_000
	b := &restartBed{trafficBed: newTrafficBed(bench, "plt-movebench")}
	b.config = b.upfConfig()
	b.config.Sessions.Max, b.config.TUN.Routes = sessions+10, b.Config.UEPools
	b.file = b.trafficBed.file("upf.yaml", b.config)
	b.api = upf.NewClient(b.config.API.Socket)
	b.start("")
	b.associate()
	b.establish(sessions)
	var gap, took time.Duration
	for bench.Loop() {
		b.uplink(b.sessions, generator.Load{Rate: 20_000, CPU: -1}, func() {
			for _, to := range []string{upf.DatapathTUN, upf.DatapathXDP} {
				m, err := b.api.Move(bench.Context(), to)
				if err != nil {
					bench.Fatal(err)
				}
				gap, took = gap+m.Gap, took+m.Took
				bench.Logf("to %s: gap %v of %v", to, m.Gap, m.Took)
			}
		})
	}
	bench.ReportMetric(0, "ns/op")
	bench.ReportMetric(gap.Seconds()/float64(2*bench.N), "s-gap")
	bench.ReportMetric(took.Seconds()/float64(2*bench.N), "s-move")
}
