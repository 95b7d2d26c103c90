package probetest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/probetest"
)

const helperVariable = "PLT_PROBE_HELPER"

// helper is what another process is to attach.
type helper struct {
	UPF    probe.UPF
	Points []probe.Point
}

// serveHelper is that other process, if this one was started as such. It says so when
// everything is attached, and waits to be killed.
func serveHelper() {
	text := os.Getenv(helperVariable)
	if text == "" {
		return
	}
	var h helper
	err := json.Unmarshal([]byte(text), &h)
	var p *probe.Probe
	if err == nil {
		p, err = probe.Open(probe.Config{UPFs: []probe.UPF{h.UPF}})
	}
	for _, point := range h.Points {
		if err == nil {
			_, err = p.Attach(point)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%+v\n", err)
		os.Exit(1)
	}
	fmt.Println("attached")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// attached are the programs of a port's device.
func attached(t testing.TB, port topology.Port, at ebpf.AttachType) []link.AttachedProgram {
	t.Helper()
	var r *link.QueryResult
	must(t, port.Namespace.Do(func() (err error) {
		r, err = link.QueryPrograms(link.QueryOptions{Target: port.Index, Attach: at})
		return err
	}))
	return r.Programs
}

// ports are those of a forwarder of packets.
func (p *place) ports(t *testing.T) []topology.Port {
	t.Helper()
	port := topology.Port{Namespace: p.UPF, Device: tunDevice}
	must(t, p.UPF.Do(func() error {
		device, err := net.InterfaceByName(tunDevice)
		if err == nil {
			port.Index = device.Index
		}
		return err
	}))
	return []topology.Port{p.N3.UPF, port}
}

// TestKill kills a process that probes, and wants nothing to be left of it: neither on
// the devices nor anywhere in the kernel.
func TestKill(t *testing.T) {
	p := newPlace(t, "probe-kill", func(*probetest.Config) {})
	text, err := json.Marshal(helper{p.upf("upf"), p.inside(0)})
	must(t, err)
	other := exec.Command("/proc/self/exe")
	other.Env, other.Stderr = append(os.Environ(), helperVariable+"="+string(text)), os.Stderr
	in, err := other.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	killed := false
	defer func() {
		if !killed {
			_ = other.Process.Kill()
			_ = other.Wait()
		}
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the other process says %q: %v", line, err)
	}
	var programs []ebpf.ProgramID
	for _, port := range p.ports(t) {
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			list := attached(t, port, at)
			if len(list) != 1 {
				t.Fatalf("%s: %d programs at %v, want 1", port.Device, len(list), at)
			}
			programs = append(programs, list[0].ID)
		}
	}
	maps := mapsOf(t, programs)
	killed = true
	must(t, other.Process.Kill())
	_ = other.Wait()
	for _, port := range p.ports(t) {
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			if !await(func() bool { return len(attached(t, port, at)) == 0 }) {
				t.Errorf("%s: %v left", port.Device, attached(t, port, at))
			}
		}
	}
	if !await(func() bool { return gone(programs, maps) }) {
		t.Errorf("some of the programs %v or maps %v are left", programs, maps)
	}
}

// mapsOf are those that programs use.
func mapsOf(t *testing.T, programs []ebpf.ProgramID) []ebpf.MapID {
	t.Helper()
	var all []ebpf.MapID
	for _, id := range programs {
		program, err := ebpf.NewProgramFromID(id)
		must(t, err)
		info, err := program.Info()
		must(t, err)
		ids, ok := info.MapIDs()
		if !ok || len(ids) == 0 {
			t.Fatalf("program %d has no maps", id)
		}
		all = append(all, ids...)
		must(t, program.Close())
	}
	return all
}

// gone reports whether the kernel has freed all of them: it does so some time later.
func gone(programs []ebpf.ProgramID, maps []ebpf.MapID) bool {
	for _, id := range programs {
		if p, err := ebpf.NewProgramFromID(id); !errors.Is(err, os.ErrNotExist) {
			p.Close()
			return false
		}
	}
	for _, id := range maps {
		if m, err := ebpf.NewMapFromID(id); !errors.Is(err, os.ErrNotExist) {
			m.Close()
			return false
		}
	}
	return true
}

// TestOthers has programs of somebody else at all points, attached before and after the
// probe. They see every packet, and stay when the probe goes.
func TestOthers(t *testing.T) {
	p := newPlace(t, "probe-others", func(*probetest.Config) {})
	ports := p.ports(t)
	before := countAt(t, ports)
	w := newWatch(t, probe.Config{UPFs: []probe.UPF{p.upf("upf")}, Timeout: ample}, p.inside(0))
	after := countAt(t, ports)
	x := &exchange{place: p, watch: w, count: 200}
	x.run(t, &probetest.Kinds[0])
	x.counts(t)
	for _, c := range []*ebpf.Map{before, after} {
		var seen uint64
		if !await(func() bool { must(t, c.Lookup(uint32(0), &seen)); return seen >= 800 }) || seen > 800 {
			t.Errorf("somebody else's programs saw %d packets, want 800", seen)
		}
	}
	for _, a := range w.attachments {
		mustBe(t, a.Close())
	}
	for _, port := range ports {
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			if list := attached(t, port, at); len(list) != 2 {
				t.Errorf("%s: %d programs at %v, want the 2 of somebody else", port.Device, len(list), at)
			}
		}
	}
}

// countAt attaches programs both ways that count the packets of IP in one counter.
func countAt(t *testing.T, ports []topology.Port) *ebpf.Map {
	t.Helper()
	count, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	must(t, err)
	t.Cleanup(func() { count.Close() })
	for _, port := range ports {
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: countInstructions(count)})
			must(t, err)
			t.Cleanup(func() { program.Close() })
			must(t, port.Namespace.Do(func() error {
				l, err := link.AttachTCX(link.TCXOptions{Program: program, Interface: port.Index, Attach: at})
				if err == nil {
					t.Cleanup(func() { l.Close() })
				}
				return err
			}))
		}
	}
	return count
}

// countInstructions count a packet of IPv4 and let the next program have it.
func countInstructions(count *ebpf.Map) asm.Instructions {
	const (
		next     = -1     // TCX_NEXT
		protocol = 16     // __sk_buff.protocol
		ipv4     = 0x0008 // in network byte order
	)
	return asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, protocol, asm.Word),
		asm.JNE.Imm(asm.R2, ipv4, "next"),
		asm.LoadMapValue(asm.R1, count.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, next).WithSymbol("next"),
		asm.Return(),
	}
}
