package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// process is this program as a child.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu    sync.Mutex
	lines []string
	seen  chan struct{} // closed and replaced at each line
}

// plumb starts this program in the UPF's namespace. binary: another file of it;
// "": the one in the path.
func (b *trafficBed) plumb(binary string, args ...string) *process {
	b.t.Helper()
	if binary == "" {
		binary = "plumb"
	}
	return start(b.t, exec.Command(binary, args...), b.UPF.Do)
}

// start starts a command. within calls a function on a thread that nobody else has.
func start(t testing.TB, cmd *exec.Cmd, within func(func() error) error) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, done: make(chan struct{}), seen: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { // from a thread that lives as long as the child: see Pdeathsig
		err := within(func() error {
			err := p.cmd.Start()
			started <- err
			if err == nil {
				p.read(log)
				p.cmd.Wait() //nolint:errcheck // it is killed, as a rule
				close(p.done)
			}
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) read(log io.Reader) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		close(p.seen)
		p.seen = make(chan struct{})
		p.mu.Unlock()
	}
}

// wait returns when the log has a line with text.
func (p *process) wait(text string) {
	p.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for n := 0; ; {
		p.mu.Lock()
		lines, seen := p.lines, p.seen
		p.mu.Unlock()
		for ; n < len(lines); n++ {
			if strings.Contains(lines[n], text) {
				return
			}
		}
		select {
		case <-seen:
		case <-p.done:
			p.t.Fatalf("%v ended before %q:\n%s", p.cmd.Args, text, strings.Join(lines, "\n"))
		case <-timer.C:
			p.t.Fatalf("%v: no %q within %v:\n%s", p.cmd.Args, text, patience, strings.Join(lines, "\n"))
		}
	}
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended
	<-p.done
}

// stop is what systemd does.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%v does not end:\n%s", p.cmd.Args, p.log())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%v: exit code %d:\n%s", p.cmd.Args, code, p.log())
	}
}

// trafficBed is a UPF's surroundings: a gNB that sends, a data network that
// counts, and an SMF.
type trafficBed struct {
	*topology.Topology
	t        testing.TB
	dir      string
	smf      *n4load.Client
	template n4load.Template
	sessions []n4load.Session // accepted
	run      uint32
	sent     uint64 // frames, in all
}

func newTrafficBed(t testing.TB, name string) *trafficBed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	b := &trafficBed{Topology: top, t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	b.template = n4load.Template{
		UE: top.Config.UEPools[0].Addr().Next(), GNB: top.N3.Peer.Address.Addr(), DLTEID: 1, QFI: 9, URR: true}
	return b
}

// pin returns a directory of a bpffs that goes at the end.
func (b *trafficBed) pin() string {
	return filepath.Join(bpffs.New(b.t), "pin")
}

// upfConfig is a configuration of everything in one.
func (b *trafficBed) upfConfig() *upf.Config {
	c := upf.Default()
	c.N4.Address = b.Config.N4UPF
	b.ports(c)
	c.Metrics = upf.Metrics{}
	c.API.Socket = filepath.Join(b.dir, "api")
	return c
}

func (b *trafficBed) ports(c *upf.Config) {
	c.N3.Device, c.N3.Address = b.N3.UPF.Device, b.N3.UPF.Address.Addr()
	c.N6.Device, c.N6.Gateway = b.N6.UPF.Device, b.N6.Peer.Address.Addr()
}

// file writes a configuration.
func (b *trafficBed) file(name string, c *upf.Config) string {
	b.t.Helper()
	text, err := c.Marshal()
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// associate dials N4 as the SMF, and associates.
func (b *trafficBed) associate() {
	b.t.Helper()
	var err error
	doErr := b.UPF.Do(func() error {
		b.smf, err = n4load.Dial(n4load.Config{
			Local:  netip.AddrPortFrom(b.Config.N4SMF, pfcp.Port),
			Remote: netip.AddrPortFrom(b.Config.N4UPF, pfcp.Port), T1: 3 * time.Second, N1: 10})
		return err
	})
	if doErr != nil {
		b.t.Fatal(doErr)
	}
	b.t.Cleanup(func() { b.smf.Close() })
	if _, err := b.smf.Associate(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// establish establishes n sessions more, all of which have to be accepted.
func (b *trafficBed) establish(n int) *n4load.Report {
	b.t.Helper()
	more := b.template.Sessions(len(b.sessions), n)
	report, err := b.smf.Establish(b.t.Context(), &b.template, more)
	if err != nil {
		b.t.Fatal(err)
	}
	b.sessions = append(b.sessions, more...)
	return report
}

// uplink sends frames of the sessions while during runs and a moment longer, and
// returns how many were sent and what arrived.
func (b *trafficBed) uplink(sessions []n4load.Session, load generator.Load, during func()) (uint64, meter.Stream) {
	b.t.Helper()
	b.run++
	list := make([]generator.Session, len(sessions))
	for i, s := range sessions {
		list[i] = generator.Session{TEID: s.ULTEID, UE: s.UE, QFI: uint8(b.template.QFI)}
	}
	g, err := generator.New(generator.Config{
		Link: b.N3, Direction: generator.Uplink, Run: b.run, Server: b.N6.Peer.Address.Addr(), PayloadOctets: 64,
		Sessions: list, Access: generator.Uniform, Seed: uint64(b.run)})
	if err != nil {
		b.t.Fatal(err)
	}
	defer g.Close()
	m, err := meter.Attach(meter.Config{Port: b.N6.Peer, N3: b.N3, N6: b.N6, Direction: generator.Uplink, Run: b.run})
	if err != nil {
		b.t.Fatal(err)
	}
	defer m.Close()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	if during != nil {
		load.Duration = 2 * patience // it is ended before
	}
	type result struct {
		generator.Result
		err error
	}
	results := make(chan result, 1)
	go func() {
		r, err := g.Run(ctx, load)
		results <- result{r, err}
	}()
	if during != nil {
		during()
		time.Sleep(200 * time.Millisecond) // traffic behind what was done
		cancel()
	}
	r := <-results
	if r.err != nil && !errors.Is(r.err, context.Canceled) || r.Sent == 0 {
		b.t.Fatalf("%d frames sent: %v", r.Sent, r.err)
	}
	b.sent += r.Sent
	return r.Sent, b.arrived(m, r.Sent)
}

// arrived reads the meter when all has arrived, or as much as will.
func (b *trafficBed) arrived(m *meter.Meter, sent uint64) meter.Stream {
	b.t.Helper()
	var last meter.Stream
	for range 50 {
		s, err := m.Read()
		if err != nil {
			b.t.Fatal(err)
		}
		if last = s.Streams[0]; last.Received >= sent {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return last
}

// checkForwarded sends frames of all sessions, of each about framesEach: all
// arrive, as they should.
func (b *trafficBed) checkForwarded(what string, sessions []n4load.Session) {
	b.t.Helper()
	sent, got := b.uplink(sessions, generator.Load{Rate: 50_000, Frames: framesEach * uint64(len(sessions)), CPU: -1}, nil)
	if got.Received != sent || got.MisdeliveredTotal() != 0 {
		b.t.Errorf("%s: %d of %d frames arrived, %d of them wrong", what, got.Received, sent, got.MisdeliveredTotal())
	}
}

// framesEach is so many that it is not to be expected that a session has none.
const framesEach = 30
