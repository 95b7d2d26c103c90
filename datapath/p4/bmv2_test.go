package p4

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/plumbline-upf/plumbline/p4/compiled"
	server "github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
	switches "github.com/plumbline-upf/plumbline/p4/target"
)

// side is a target with two ports, and who controls it.
//
//	far ports ── veth ── ports 1 and 2 of the target ── CPU port ── in
type side struct {
	name   string
	client *client
	far    map[uint32]port.Sender
	out    chan string // what leaves: port and frame
	in     chan string // what is handed to the CPU: port, reason and frame
}

// program is what simple_switch_grpc is called.
const program = "simple_switch_grpc"

// sides are plumb p4switch and BMv2, with the UPF's pipeline and no entries.
func sides(t *testing.T) [2]*side {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%v: BMv2's target for P4Runtime (github.com/p4lang/behavioral-model, built with PI and without Thrift)", err)
	}
	s := newSpace(t)
	own, other := s.newSide("plumb p4switch", "own"), s.newSide(program, "bm")
	s.startOwn(own)
	s.startOther(other)
	return [2]*side{own, other}
}

// space is a network namespace, which ends with the test.
type space struct {
	t    testing.TB
	work chan func() error
	done chan error
}

func newSpace(t testing.TB) *space {
	t.Helper()
	s := &space{t: t, work: make(chan func() error), done: make(chan error)}
	go func() { // a thread that ends with the goroutine, and what it has started with it
		runtime.LockOSThread()
		for f := range s.work {
			s.done <- f()
		}
	}()
	t.Cleanup(func() { close(s.work) })
	s.do(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	s.do(func() error { // the kernel is to send nothing by itself
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	})
	return s
}

// do runs f in the namespace.
func (s *space) do(f func() error) {
	s.t.Helper()
	s.work <- f
	if err := <-s.done; err != nil {
		s.t.Fatal(err)
	}
}

// newSide makes the devices of a side: its ports are prefix1 and prefix2.
func (s *space) newSide(name, prefix string) *side {
	s.t.Helper()
	one := &side{name: name, far: map[uint32]port.Sender{}, out: make(chan string, 64), in: make(chan string, 64)}
	for n := uint32(1); n <= 2; n++ {
		near, far := fmt.Sprint(prefix, n), fmt.Sprint(prefix, "far", n)
		var p port.Port
		s.do(func() (err error) {
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: near, MTU: 1500}, PeerName: far}); err != nil {
				return err
			}
			for _, device := range []string{near, far} {
				link, err := netlink.LinkByName(device)
				if err != nil {
					return err
				}
				if err := netlink.LinkSetUp(link); err != nil {
					return err
				}
			}
			if p, err = port.Open(port.Config{Device: far}); err != nil {
				return err
			}
			one.far[n], err = p.NewSender()
			return err
		})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			one.receive(p.Receiver(0), n, stop)
		}()
		s.t.Cleanup(func() {
			close(stop)
			<-stopped
			_ = p.Close()
		})
	}
	return one
}

// receive takes what leaves by a port.
func (s *side) receive(r port.Receiver, number uint32, stop chan struct{}) {
	frames := make([]port.Frame, 8)
	for {
		select {
		case <-stop:
			return
		default:
		}
		for _, f := range frames[:r.Receive(frames)] {
			s.out <- fmt.Sprintf("port %d: %x", number, f.Buf[f.Start:f.End])
		}
		r.Release()
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.Descriptor()), Events: unix.POLLIN}}, 20)
	}
}

// startOwn runs the switch of package target.
func (s *space) startOwn(one *side) {
	s.t.Helper()
	ports := map[uint32]port.Port{}
	for n := uint32(1); n <= 2; n++ {
		s.do(func() (err error) {
			ports[n], err = port.Open(port.Config{Device: fmt.Sprint("own", n)})
			return err
		})
	}
	sw, err := switches.New(switches.Config{Ports: ports, CPUPort: cpuPort})
	if err != nil {
		s.t.Fatal(err)
	}
	srv := server.New(server.Config{DeviceID: 1}, sw, slog.New(slog.DiscardHandler))
	sw.Start(srv)
	s.t.Cleanup(func() {
		srv.Close()
		_ = sw.Close()
		for _, p := range ports {
			_ = p.Close()
		}
	})
	one.control(s.t, func() (*grpc.ClientConn, error) { return srv.Dial() })
}

// startOther runs BMv2.
func (s *space) startOther(one *side) {
	s.t.Helper()
	directory := s.t.TempDir()
	socket := filepath.Join(directory, "grpc")
	var said bytes.Buffer
	cmd := exec.Command(program, "--no-p4", "--device-id", "1", "-i", "1@bm1", "-i", "2@bm2", "--",
		"--grpc-server-addr", "unix:"+socket, "--cpu-port", fmt.Sprint(cpuPort))
	cmd.Dir, cmd.Stdout, cmd.Stderr = directory, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.do(cmd.Start)
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s: %s", program, last(said.String(), 2000))
		}
	})
	one.control(s.t, (&Target{Address: "unix:" + socket}).dial)
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// control becomes the controller of a target, when that is up.
func (s *side) control(t testing.TB, dial func() (*grpc.ClientConn, error)) {
	t.Helper()
	pipe, err := newPipeline(compiled.V1Model())
	if err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		if s.client, err = connect(t.Context(), conn, 1, 1, pipe, false, s.message); err == nil {
			break
		}
		_ = conn.Close()
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	t.Cleanup(func() { _ = s.client.close() })
	if err := s.client.setPipeline(t.Context(), pipe); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
}

func (s *side) message(m *p4rt.StreamMessageResponse) {
	in := m.GetPacket()
	if in == nil {
		return
	}
	all := map[string]string{}
	for _, m := range in.GetMetadata() {
		for _, name := range []string{inPort, inReason} {
			if m.GetMetadataId() == s.client.schema.ports[name] {
				all[name] = hex.EncodeToString(m.GetValue())
			}
		}
	}
	s.in <- fmt.Sprintf("from port %s, reason %s: %x", all[inPort], all[inReason], in.GetPayload())
}

// moved are counters of the pipeline: all that a frame may move.
func (s *side) moved(t testing.TB) map[string]count {
	t.Helper()
	var cells []cell
	name := map[cell]string{}
	for counter, n := range map[string]int{counterForwarded: 64, counterRefused: 64, counterDropped: 63, "handed": 63} {
		for i := range n {
			c := cell{s.client.schema.counters[counter], uint32(i)}
			cells, name[c] = append(cells, c), fmt.Sprint(counter, " ", i)
		}
	}
	got, err := s.client.read(t.Context(), cells)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	all := map[string]count{}
	for c, n := range got {
		if n != (count{}) {
			all[name[c]] = n
		}
	}
	return all
}

// since takes what was counted before off.
func since(now, before map[string]count) map[string]count {
	now = maps.Clone(now)
	for name, n := range now {
		had := before[name]
		if n == had {
			delete(now, name)
			continue
		}
		now[name] = count{n.packets - had.packets, n.octets - had.octets}
	}
	return now
}

// outcome is what becomes of a frame.
type outcome struct {
	Leaves []string // by ports, or to the CPU
	Counts []string
}

// send has a frame come to a port, or to the CPU port for port 2, and waits for what becomes of it.
func (s *side) send(t testing.TB, from uint32, frame []byte) outcome {
	t.Helper()
	before := s.moved(t)
	if from == cpuPort {
		out := &p4rt.PacketOut{Payload: frame, Metadata: []*p4rt.PacketMetadata{{MetadataId: s.client.schema.ports[outPort], Value: number(2)}}}
		if err := s.client.stream.Send(&p4rt.StreamMessageRequest{Update: &p4rt.StreamMessageRequest_Packet{Packet: out}}); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	} else {
		s.far[from].Send(frame)
		s.far[from].Flush()
	}
	var o outcome
	for begin := time.Now(); len(o.Leaves) == 0 && time.Since(begin) < 5*time.Second; {
		select {
		case got := <-s.out:
			o.Leaves = append(o.Leaves, got)
		case got := <-s.in:
			o.Leaves = append(o.Leaves, got)
		case <-time.After(20 * time.Millisecond):
			for name := range since(s.moved(t), before) {
				if name[:len(counterDropped)] == counterDropped {
					o.Leaves = append(o.Leaves, "nothing")
				}
			}
		}
	}
	moved := since(s.moved(t), before)
	for _, name := range slices.Sorted(maps.Keys(moved)) {
		o.Counts = append(o.Counts, fmt.Sprintf("%s: %d, %d octets", name, moved[name].packets, moved[name].octets))
	}
	return o
}

// write has all updates done.
func (s *side) write(ctx context.Context, t testing.TB, updates []*p4rt.Update) {
	t.Helper()
	refused, err := s.client.write(ctx, updates)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	for i, why := range refused {
		t.Errorf("%s: update %d, %v: %v", s.name, i, updates[i], why)
	}
}
