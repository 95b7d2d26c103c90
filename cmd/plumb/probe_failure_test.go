package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/upf"
)

// probeBed is `plumb upf` with a TUN device and a session, for probes to stand at.
type probeBed struct {
	*trafficBed
	upf    *process
	server *net.UDPConn
}

// probeServerPort is where the UE's datagrams go.
const probeServerPort = 7000

func newProbeBed(t *testing.T) *probeBed {
	t.Helper()
	b := &probeBed{trafficBed: newTrafficBed(t, "plt-probe")}
	c := b.upfConfig()
	c.Datapath = upf.DatapathTUN
	b.upf = b.plumb("", "upf", "--config", b.file("upf.yaml", c))
	b.upf.wait("msg=up ")
	b.associate()
	b.establish(1)
	err := b.DN.Do(func() (err error) {
		b.server, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N6.Peer.Address.Addr(), probeServerPort)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.server.Close() })
	return b
}

// arrive waits until n datagrams more have come to the server.
func (b *probeBed) arrive(n int) {
	b.t.Helper()
	_ = b.server.SetReadDeadline(time.Now().Add(patience))
	for i := range n {
		if _, _, err := b.server.ReadFrom(make([]byte, 64)); err != nil {
			b.t.Fatalf("%d of %d datagrams at the server: %v", i, n, err)
		}
	}
}

// measure starts a probe at the UPF, and returns when it stands there.
func (b *probeBed) measure(args ...string) *process {
	b.t.Helper()
	p := b.plumb("", append([]string{"probe", "--pid", strconv.Itoa(b.upf.cmd.Process.Pid), "--interval", "50ms"}, args...)...)
	p.wait("probe: up")
	return p
}

// attached is how many programs are at the devices of the UPF's namespace.
func (b *probeBed) attached() (n int) {
	b.t.Helper()
	err := b.UPF.Do(func() error {
		devices, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, d := range devices {
			for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
				r, err := link.QueryPrograms(link.QueryOptions{Target: d.Index, Attach: at})
				if err != nil {
					return err
				}
				n += len(r.Programs)
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// foreign attaches a program of somebody else, which lets all packets go on.
func (b *probeBed) foreign() *ebpf.Program {
	b.t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { program.Close() })
	l, err := b.N3.UPF.AttachTCX(program)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { l.Close() })
	return program
}

// send has the UE send datagrams with these numbers; the same number makes the same
// packet.
func (b *probeBed) send(numbers ...uint32) {
	b.t.Helper()
	s := b.sessions[0]
	var conn *net.UDPConn
	err := b.GNB.Do(func() (err error) {
		conn, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N3.UPF.Address.Addr(), gtpu.Port)))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	for _, n := range numbers {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: s.UE.AsSlice(), DstIP: b.N6.Peer.Address.Addr().AsSlice()}
		udp := &layers.UDP{SrcPort: 9000, DstPort: probeServerPort}
		_ = udp.SetNetworkLayerForChecksum(ip)
		packet := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(packet, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, udp, gopacket.Payload(binary.BigEndian.AppendUint32(nil, n))); err != nil {
			b.t.Fatal(err)
		}
		message := []byte{0x30, 255, 0, byte(len(packet.Bytes()))} // G-PDU. Source: TS 29.281 V18.1.0, 5.1.
		message = binary.BigEndian.AppendUint32(message, s.ULTEID)
		if _, err := conn.Write(append(message, packet.Bytes()...)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// result reads what a probe has written, in whose series all packets are accounted for.
func (b *probeBed) result(path string) *export.Result {
	b.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	var r export.Result
	if err := json.Unmarshal(text, &r); err != nil {
		b.t.Fatal(err)
	}
	if !r.Total().Balanced() || r.Total().InFlight != 0 {
		b.t.Errorf("the account does not balance: %+v", r.Total())
	}
	return &r
}

// became is what became of the UE's packets.
func (b *probeBed) became(path string) (a probe.Account, withheld string) {
	b.t.Helper()
	for _, s := range b.result(path).Series {
		if s.Direction == probe.Uplink.String() {
			a, withheld = export.Sum(a, s.Account()), withheld+s.Withheld
		}
	}
	return a, withheld
}

// ends waits until a process has ended, with an exit code.
func (p *process) ends(code int) {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("%v does not end:\n%s", p.cmd.Args, p.log())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("%v: got exit code %d, want %d:\n%s", p.cmd.Args, got, code, p.log())
	}
}

// TestProbeFailures has a probe, its UPF and what both stand on fail.
func TestProbeFailures(t *testing.T) {
	b := newProbeBed(t)
	foreign := b.foreign()
	before := b.attached()
	file := func(name string) string { return filepath.Join(b.dir, name) }
	numbers := []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

	t.Run("stopped", func(t *testing.T) {
		p := b.measure("--json", file("stopped.json"), "--html", file("stopped.html"), "--parts")
		b.send(numbers...)
		b.arrive(len(numbers))
		p.stop()
		if got, _ := b.became(file("stopped.json")); got.Matched != uint64(len(numbers)) || got.In != got.Matched {
			t.Errorf("got %+v, want %d matched", got, len(numbers))
		}
		r := b.result(file("stopped.json"))
		if p := r.Series[0].Parts; p == nil || p.Packets != uint64(len(numbers)) || p.Unknown != 0 || p.QueuedNS.P50 == 0 || p.InsideNS.P50 == 0 {
			t.Errorf("parts: got %+v, want those of %d packets", p, len(numbers))
		}
		if len(r.Beyond) != 1 || r.Beyond[0].In != uint64(len(numbers)) {
			t.Errorf("beyond the UPF: got %+v, want %d packets", r.Beyond, len(numbers))
		}
		if _, err := os.Stat(file("stopped.html")); err != nil {
			t.Error(err)
		}
	})
	t.Run("killed", func(t *testing.T) {
		p := b.measure("--json", file("killed.json"))
		b.send(numbers...)
		b.arrive(len(numbers))
		p.kill()
		if _, err := os.Stat(file("killed.json")); err == nil {
			t.Error("half a result has the name of a whole one")
		}
	})
	t.Run("ambiguous", func(t *testing.T) {
		p := b.measure("--json", file("ambiguous.json"), "--timeout", "5s")
		b.hold(func() { b.send(7, 7, 7, 8) })
		b.arrive(4)
		b.signal(p, syscall.SIGTERM)
		p.ends(cli.ExitFailed)
		got, withheld := b.became(file("ambiguous.json"))
		if got.Ambiguous != 3 || got.Matched != 1 || got.Lost != 0 {
			t.Errorf("got %+v, want 3 ambiguous, 1 matched", got)
		}
		if withheld == "" || !strings.Contains(p.log(), "could not be told apart") {
			t.Errorf("withheld: %q; log:\n%s", withheld, p.log())
		}
	})
	t.Run("metrics address taken", func(t *testing.T) {
		p := b.measure("--metrics", "127.0.0.1:9108", "--duration", "1m")
		other := b.plumb("", "probe", "--pid", strconv.Itoa(b.upf.cmd.Process.Pid), "--metrics", "127.0.0.1:9108", "--json", file("taken.json"))
		other.ends(cli.ExitUsage)
		if _, err := os.Stat(file("taken.json.part")); err == nil || !strings.Contains(other.log(), "address already in use") {
			t.Errorf("%v; log:\n%s", err, other.log())
		}
		p.stop()
	})
	t.Run("UPF killed", func(t *testing.T) {
		p := b.measure("--json", file("upf.json"), "--timeout", "2s")
		b.send(numbers...)
		b.arrive(len(numbers))
		b.freeze()
		b.send(11, 12, 13)
		b.upf.kill()
		time.Sleep(2100 * time.Millisecond) // from the last one on
		p.stop()
		if got, _ := b.became(file("upf.json")); got.In != 13 || got.Matched != 10 || got.Lost != 3 {
			t.Errorf("got %+v, want 10 matched, 3 lost of 13", got)
		}
	})
	if got := b.attached(); got != before {
		t.Errorf("%d programs at devices, before the probes %d", got, before)
	}
	b.stillThere(foreign)
}

// hold has the UPF stand still during do.
func (b *probeBed) hold(do func()) {
	b.t.Helper()
	b.freeze()
	do()
	b.signal(b.upf, syscall.SIGCONT)
}

// freeze has the UPF stand still from now on.
func (b *probeBed) freeze() {
	b.t.Helper()
	b.signal(b.upf, syscall.SIGSTOP)
	for deadline := time.Now().Add(patience); b.running(b.upf); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not all threads stop within %v", patience)
		}
	}
}

// running reports whether a thread of a process is not stopped: they stop one by one.
func (b *probeBed) running(p *process) bool {
	b.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		b.t.Fatalf("threads of process %d: %v, %v", p.cmd.Process.Pid, threads, err)
	}
	return slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !bytes.Contains(stat, []byte(") T ")) // else it has just ended
	})
}

func (b *probeBed) signal(p *process, s syscall.Signal) {
	b.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		b.t.Fatal(err)
	}
}

// stillThere checks that a program is at the N3 device.
func (b *probeBed) stillThere(program *ebpf.Program) {
	b.t.Helper()
	info, err := program.Info()
	if err != nil {
		b.t.Fatal(err)
	}
	id, _ := info.ID()
	err = b.UPF.Do(func() error {
		r, err := link.QueryPrograms(link.QueryOptions{Target: b.N3.UPF.Index, Attach: ebpf.AttachTCXIngress})
		if err == nil && !slices.ContainsFunc(r.Programs, func(p link.AttachedProgram) bool { return p.ID == id }) {
			b.t.Errorf("the program of somebody else is gone: %+v", r.Programs)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
