package xdp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestMain lets the test binary be the UPF that TestRestart kills.
func TestMain(m *testing.M) {
	if os.Getenv(restartEnv) != "" {
		if err := restartChild(os.Getenv(restartEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const restartEnv = "PLUMBLINE_RESTART_CHILD"

// restartChild is a UPF in the network namespace of the process: it takes over
// what is pinned, applies its sessions, and answers each line on its standard
// input with what its URRs have counted.
func restartChild(config string) error {
	var c restartConfig
	if _, err := fmt.Sscan(config, &c.n3, &c.n6, &c.address, &c.gateway, &c.pin, &c.sessions, &c.hook, &c.own); err != nil {
		return err
	}
	d, err := xdp.New(restartHooks[c.hook](xdp.Config{
		Endpoints: []datapath.Endpoint{{Name: "n3", Device: c.n3, Address: netip.MustParseAddr(c.address)}},
		N6:        n6On(c.n6, netip.MustParseAddr(c.gateway)), MaxSessions: c.sessions, Pin: c.pin,
		Log: slog.New(slog.DiscardHandler),
	}))
	if err != nil {
		return err
	}
	s := restartSession(netip.MustParseAddr(c.address), c.own)
	if err := d.Apply(context.Background(), &api.Change{Seid: 1, Session: s}); err != nil {
		return err
	}
	if err := d.Settle(context.Background()); err != nil {
		return err
	}
	fmt.Println("settled")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "close" {
			return d.Close()
		}
		u, err := d.Usage(1)
		if err != nil {
			return err
		}
		fmt.Println(u.GetUrrs()[0].GetUplinkPackets(), u.GetUrrs()[0].GetUplinkOctets())
	}
	select {} // until it is killed
}

type restartConfig struct {
	n3, n6, address, gateway, pin string
	sessions                      int
	hook                          string // of restartHooks
	own                           bool   // packets come through one more F-TEID of the UPF
}

var restartHooks = map[string]func(xdp.Config) xdp.Config{
	"xdp": func(c xdp.Config) xdp.Config { return c }, "tc": onTC, "clsact": onClsact,
}

func (c restartConfig) String() string {
	return fmt.Sprint(c.n3, " ", c.n6, " ", c.address, " ", c.gateway, " ", c.pin, " ", c.sessions, " ", c.hook, " ", c.own)
}

// firstTEID is where packets come to that go on to ulTEID.
const firstTEID = ulTEID + 1

func restartSession(local netip.Addr, own bool) *api.Session {
	ue := &api.UEAddress{Ipv4: number(netip.MustParseAddr("10.64.0.1"))}
	s := &api.Session{
		Seid: 1,
		Rules: []*api.Rule{{
			PdrId: 1, OuterHeaderRemoval: true, UrrIds: []uint32{7}, QerIds: []uint32{1},
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: ulTEID, Ipv4: number(local)}, UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		}},
		Qers: []*api.QER{{Id: 1, UplinkMbrBps: 10_000_000_000}},
		Urrs: []*api.URR{{Id: 7}},
	}
	if own {
		s.Rules = append(s.Rules, &api.Rule{
			PdrId: 2, OuterHeaderRemoval: true, Detect: &api.Detect{FTeid: &api.FTEID{Teid: firstTEID, Ipv4: number(local)}},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_CORE,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: ulTEID, Ipv4: number(local)},
			},
		})
	}
	return s
}

// child is a UPF process.
type child struct {
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Scanner
}

func startChild(t *testing.T, ns *topology.Namespace, c restartConfig) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), restartEnv+"="+c.String())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, ns.Do(cmd.Start))
	ch := &child{cmd, bufio.NewWriter(stdin), bufio.NewScanner(stdout)}
	t.Cleanup(ch.kill)
	if line := ch.line(); line != "settled" {
		t.Fatalf("UPF said %q", line)
	}
	return ch
}

func (c *child) line() string {
	c.out.Scan()
	return c.out.Text()
}

func (c *child) ask(t *testing.T, line string) string {
	t.Helper()
	_, err := c.in.WriteString(line + "\n")
	check(t, err)
	check(t, c.in.Flush())
	return c.line()
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // SIGKILL
	_ = c.cmd.Wait()
}

// TestRestart kills a UPF under traffic, more than once, and starts another, also on
// another hook, at last one with larger tables: no packet is lost, and usage is exact.
func TestRestart(t *testing.T) {
	for name, hooks := range map[string][]string{
		"xdp": {"xdp", "xdp", "xdp", "xdp"}, "hooks": {"xdp", "tc", "tc", "xdp", "clsact", "clsact", "xdp", "tc"},
	} {
		t.Run(name, func(t *testing.T) { testRestart(t, name, hooks, false) })
		t.Run(name+", own F-TEID", func(t *testing.T) { testRestart(t, name+"-own", hooks, true) })
	}
}

func testRestart(t *testing.T, name string, hooks []string, own bool) {
	top, err := topology.New(topology.Config{Name: "plt-restart-" + name})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	pin := filepath.Join(bpffs.New(t), "pin")
	t.Cleanup(func() { check(t, xdp.Unpin(pin)) })
	c := restartConfig{
		top.N3.UPF.Device, top.N6.UPF.Device, top.N3.UPF.Address.Addr().String(), top.N6.Peer.Address.Addr().String(), pin, 64, hooks[0], own,
	}
	upf := startChild(t, top.UPF, c)
	f := startFlow(t, top, own)
	next := func() {
		upf.kill()
		f.run(t, 100*time.Millisecond) // while no process is there
		stop := f.keepOn(t)
		upf = startChild(t, top.UPF, c)
		stop()
	}
	for _, c.hook = range hooks[1:] {
		f.run(t, 100*time.Millisecond)
		next()
	}
	c.sessions = 1000
	next()
	f.run(t, 200*time.Millisecond)
	f.end(t, f.sent)
	want := fmt.Sprint(f.sent, f.sent*uint64(28+flowPayload))
	if got := upf.ask(t, "usage"); got != want {
		t.Errorf("usage: %s, want %s", got, want)
	}
	if got := f.received.Load(); got != f.sent || f.sent < 1000 {
		t.Errorf("%d packets sent, %d received", f.sent, got)
	}
	if upf.ask(t, "close"); len(pinned(pin)) > 0 {
		t.Errorf("an orderly end left pins: %v", pinned(pin))
	}
}

func pinned(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// flow is uplink traffic of one UE, and its count in the data network.
type flow struct {
	gnb, dn  *net.UDPConn
	message  []byte
	to       netip.AddrPort
	sent     uint64
	received atomic.Uint64
	lost     sync.WaitGroup
}

const flowPayload = 32

func startFlow(t *testing.T, top *topology.Topology, own bool) *flow {
	teid := uint32(ulTEID)
	if own {
		teid = firstTEID
	}
	n := &network{Topology: top, ue: netip.MustParseAddr("10.64.0.1")}
	user := n.datagram(make([]byte, flowPayload))
	f := &flow{
		gnb:     listen(t, top.GNB, netip.AddrPortFrom(top.N3.Peer.Address.Addr(), gtpu.Port)),
		dn:      listen(t, top.DN, netip.AddrPortFrom(top.N6.Peer.Address.Addr(), dnPort)),
		message: append(gtpu.AppendGPDU(nil, teid, gtpu.PDUTypeUplink, 9, len(user)), user...),
		to:      netip.AddrPortFrom(top.N3.UPF.Address.Addr(), gtpu.Port),
	}
	wide(t, f.dn)
	check(t, f.dn.SetReadDeadline(time.Time{})) // until end
	f.lost.Go(func() {
		buf := make([]byte, 2048)
		for {
			size, err := f.dn.Read(buf)
			if err != nil {
				return
			}
			if size == flowPayload && binary.BigEndian.Uint64(buf) == 0 {
				f.received.Add(1)
			}
		}
	})
	return f
}

// run sends for so long, some thousand packets a second, and some hundred at least.
func (f *flow) run(t *testing.T, d time.Duration) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	least := f.sent + 300
	for end := time.Now().Add(d); time.Now().Before(end) || f.sent < least; <-tick.C {
		for range 4 {
			_, err := f.gnb.WriteToUDPAddrPort(f.message, f.to)
			check(t, err)
			f.sent++
		}
	}
}

// keepOn sends until the function that it returns is called.
func (f *flow) keepOn(t *testing.T) (stop func()) {
	end, done := make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := f.gnb.WriteToUDPAddrPort(f.message, f.to); err != nil {
				done <- err
				return
			}
			f.sent++
			select {
			case <-tick.C:
			case <-end:
				done <- nil
				return
			}
		}
	}()
	return func() {
		t.Helper()
		close(end)
		check(t, <-done)
	}
}

// TestRefused starts a UPF where another one runs, which it has to leave alone: the
// first one's programs go on as they were, without any help of its process.
func TestRefused(t *testing.T) {
	for hook := range restartHooks {
		t.Run(hook, func(t *testing.T) {
			top, err := topology.New(topology.Config{Name: "plt-refused-" + hook})
			check(t, err)
			t.Cleanup(func() { check(t, top.Close()) })
			pin := filepath.Join(bpffs.New(t), "pin")
			t.Cleanup(func() { check(t, xdp.Unpin(pin)) })
			c := restartConfig{
				top.N3.UPF.Device, top.N6.UPF.Device, top.N3.UPF.Address.Addr().String(), top.N6.Peer.Address.Addr().String(), pin, 64, hook, true,
			}
			upf := startChild(t, top.UPF, c)
			f := startFlow(t, top, true)
			f.run(t, 100*time.Millisecond)
			f.arrive(t, f.sent)
			before := pinned(pin)
			second := exec.Command(os.Args[0])
			second.Env = append(os.Environ(), restartEnv+"="+c.String())
			var said []byte
			check(t, top.UPF.Do(func() error {
				said, err = second.CombinedOutput()
				return nil
			}))
			if err == nil || !bytes.Contains(said, []byte("address already in use")) {
				t.Errorf("the second one ended with %v and said %q", err, said)
			}
			if after := pinned(pin); !slices.Equal(after, before) {
				t.Errorf("pins are %q, were %q", after, before)
			}
			check(t, upf.cmd.Process.Signal(unix.SIGSTOP))
			f.run(t, 100*time.Millisecond)
			f.end(t, f.sent)
			check(t, upf.cmd.Process.Signal(unix.SIGCONT))
			upf.ask(t, "close")
		})
	}
}

// end stops receiving, after so many packets.
func (f *flow) end(t *testing.T, want uint64) {
	t.Helper()
	f.arrive(t, want)
	check(t, f.dn.SetReadDeadline(time.Now()))
	f.lost.Wait()
}
