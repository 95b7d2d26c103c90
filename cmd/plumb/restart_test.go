package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/upf"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// restartBed is `plumb upf` with a store and pins, and sessions in it.
type restartBed struct {
	*trafficBed
	config *upf.Config
	file   string
	under  []string // the program that starts plumb, and its arguments; none: this one
	upf    *process
	api    *upf.Client
}

func newRestartBed(t testing.TB, name string, sessions int) *restartBed {
	b := &restartBed{trafficBed: newTrafficBed(t, name)}
	b.config = b.upfConfig()
	b.config.Store.Path = filepath.Join(b.dir, "store")
	b.config.XDP.Pin = b.pin()
	b.config.Sessions.Max = max(sessions+10, 1000)
	b.file = b.trafficBed.file("upf.yaml", b.config)
	b.api = upf.NewClient(b.config.API.Socket)
	b.start("")
	b.associate()
	b.establish(sessions)
	return b
}

func (b *restartBed) start(binary string) {
	args := []string{"upf", "--config", b.file}
	if len(b.under) != 0 {
		binary, args = b.under[0], slices.Concat(b.under[1:], []string{"plumb"}, args)
	}
	b.upf = b.plumb(binary, args...)
	b.upf.wait("msg=up ")
}

// counted is what the UPF counted of all sessions, uplink.
func (b *restartBed) counted() (sessions int, packets uint64) {
	b.t.Helper()
	for _, s := range b.sessions {
		x, err := b.api.Session(b.t.Context(), upf.SEID(s.RemoteSEID))
		if err != nil {
			b.t.Errorf("session %#x: %v", s.RemoteSEID, err)
			continue
		}
		sessions++
		for _, u := range x.Rules.URRs {
			packets += u.UplinkPackets
		}
	}
	return sessions, packets
}

// checkAfter compares sessions and usage with what they have to be, and goes on
// as if nothing had been.
func (b *restartBed) checkAfter() {
	b.t.Helper()
	sessions, packets := b.counted()
	if sessions != len(b.sessions) || packets != b.sent {
		b.t.Errorf("%d of %d sessions, %d packets counted of %d sent:\n%s", sessions, len(b.sessions), packets, b.sent, b.upf.log())
	}
	r, err := b.smf.Modify(b.t.Context(), &b.template, b.sessions)
	if err != nil || r.Accepted != len(b.sessions) {
		b.t.Errorf("modification of all: %+v, %v", r, err)
	}
	b.establish(5)
	b.checkForwarded("old and new sessions", b.sessions)
}

// TestRestart kills `plumb upf` under traffic, and starts it again, as it is and
// as another binary: no packet is lost, no session, and all usage is there.
func TestRestart(t *testing.T) {
	b := newRestartBed(t, "plt-restart", 40)
	for _, tc := range []struct {
		name string
		do   func()
	}{
		{"kill -9", func() { b.upf.kill(); b.start("") }},
		{"upgrade", func() {
			other := copyBinary(t, b.upf.cmd.Path, b.dir)
			b.upf.kill()
			b.start(other)
		}},
		{"orderly stop", func() { b.upf.stop(); b.start("") }},
		{"kill -9 twice", func() {
			b.upf.kill()
			p := b.plumb("", "upf", "--config", b.file) // at any moment of its start
			time.Sleep(20 * time.Millisecond)
			p.kill()
			b.start("")
		}},
	} {
		sent, got := b.uplink(b.sessions, generator.Load{Rate: 5000, CPU: -1}, tc.do)
		if got.Received != sent || got.MisdeliveredTotal() != 0 || got.Duplicated != 0 {
			t.Errorf("%s: %d of %d frames arrived, %d wrong, %d twice", tc.name, got.Received, sent, got.MisdeliveredTotal(), got.Duplicated)
		}
		b.checkAfter()
	}
	report, err := b.smf.Delete(t.Context(), b.sessions)
	if err != nil || report.Accepted != len(b.sessions) {
		t.Errorf("deletion of all: %+v, %v", report, err)
	}
}

func copyBinary(t testing.TB, path, dir string) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, "plumb"), os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// TestReboot: after a start of the machine, which leaves the store but no pins,
// sessions are restored, or forgotten, as it is configured.
func TestReboot(t *testing.T) {
	for _, tc := range []struct {
		afterReboot string
		want        int
	}{{upf.RebootRestore, 20}, {upf.RebootForget, 0}} {
		t.Run(tc.afterReboot, func(t *testing.T) {
			b := newRestartBed(t, "plt-reboot", 20)
			b.upf.kill()
			reboot(t, b.config)
			b.config.Store.AfterReboot = tc.afterReboot
			b.file = b.trafficBed.file("upf.yaml", b.config)
			b.start("")
			page, err := b.api.Sessions(t.Context(), upf.SessionQuery{})
			if err != nil || page.Total != tc.want {
				t.Fatalf("%d sessions, %v, want %d:\n%s", page.Total, err, tc.want, b.upf.log())
			}
			if tc.want > 0 {
				b.checkForwarded("restored sessions", b.sessions)
			}
		})
	}
}

// reboot removes what a start of the machine does, and has the store think that
// there was one.
func reboot(t testing.TB, c *upf.Config) {
	t.Helper()
	if err := os.RemoveAll(c.XDP.Pin); err != nil {
		t.Fatal(err)
	}
	j, err := store.OpenJournal(store.JournalConfig{Dir: c.Store.Path})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Load(t.Context(), func(byte, uint64, []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	const boot = 1 // package upf keeps the machine's boot id there
	j.Save(store.Meta, boot, []byte("another start"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRestart is a kill -9 of `plumb upf` that holds 100 k sessions, under
// traffic: "down" is from the kill until N4 answers again, "reconciled" the part
// of it from the start of the new process on, "cpu" what that process had of the
// CPUs until then, which says more on a machine that has other work.
func BenchmarkRestart(bench *testing.B) {
	const sessions = 100_000
	b := newRestartBed(bench, "plt-restart", sessions)
	lost := uint64(0)
	var down, reconciled, cpu time.Duration
	for bench.Loop() {
		sent, got := b.uplink(b.sessions, generator.Load{Rate: 100_000, CPU: -1}, func() {
			time.Sleep(time.Second)
			begin := time.Now()
			b.upf.kill()
			killed := time.Now()
			b.start("")
			down, reconciled = down+time.Since(begin), reconciled+time.Since(killed)
			cpu += b.upf.cpu()
		})
		lost += sent - got.Received
		bench.Log(sent, "frames sent,", got.Received, "received,", got.MisdeliveredTotal(), "wrong;", b.upf.restored())
	}
	bench.ReportMetric(0, "ns/op")
	bench.ReportMetric(down.Seconds()/float64(bench.N), "s-down")
	bench.ReportMetric(reconciled.Seconds()/float64(bench.N), "s-reconciled")
	bench.ReportMetric(cpu.Seconds()/float64(bench.N), "cpu-s")
	bench.ReportMetric(float64(lost), "frames-lost")
	n, packets := b.counted()
	bench.ReportMetric(float64(sessions-n), "sessions-lost")
	bench.ReportMetric(float64(b.sent-packets), "packets-not-counted")
}

// BenchmarkStart is the start of `plumb upf` that finds its tables, with few
// sessions, until N4 answers: time, and what it had of the CPUs until then.
func BenchmarkStart(bench *testing.B) {
	b := newRestartBed(bench, "plt-start", 10)
	var took, cpu time.Duration
	for bench.Loop() {
		b.upf.kill()
		begin := time.Now()
		b.start("")
		took += time.Since(begin)
		cpu += b.upf.cpu()
	}
	bench.ReportMetric(0, "ns/op")
	bench.ReportMetric(took.Seconds()/float64(bench.N), "s-up")
	bench.ReportMetric(cpu.Seconds()/float64(bench.N), "cpu-s")
}

// restored is the line of the log about the sessions restored.
func (p *process) restored() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines {
		if strings.Contains(line, "sessions restored") {
			return line
		}
	}
	return ""
}

// cpu is what the process has used of the CPUs, in ticks of 10 ms.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	// Source: proc_pid_stat(5); the name, which may have spaces, ends with ')'.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const utime, stime, tick = 14 - 3, 15 - 3, 10 * time.Millisecond
	var ticks time.Duration
	for _, i := range []int{utime, stime} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			p.t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * tick
}
