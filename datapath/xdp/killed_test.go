package xdp_test

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestKilledWhileQueued kills a UPF that has packets of a rule in the ring of its
// slow path. While it is only stopped, the rule's packets wait there; once it is
// dead they are lost, and all that come after them take the fast way, more than
// the ring would have taken.
func TestKilledWhileQueued(t *testing.T) {
	top, err := topology.New(topology.Config{Name: "plt-xdp-killed"})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	pin := filepath.Join(bpffs.New(t), "pin")
	t.Cleanup(func() { check(t, xdp.Unpin(pin)) })
	c := restartConfig{
		top.N3.UPF.Device, top.N6.UPF.Device, top.N3.UPF.Address.Addr().String(), top.N6.Peer.Address.Addr().String(), pin, 64, "xdp", false,
	}
	upf := startChild(t, top.UPF, c)
	f := startFlow(t, top, false)
	f.run(t, 100*time.Millisecond)
	f.arrive(t, f.sent)

	check(t, upf.cmd.Process.Signal(unix.SIGSTOP))
	leaveQueued(t, pin, top.N3.UPF.Device)
	before := f.sent
	f.send(t, 50)
	time.Sleep(50 * time.Millisecond)
	if got := f.received.Load(); got != before {
		t.Errorf("%d packets went past those that wait", got-before)
	}
	upf.kill()
	const after = 5000
	for range after / 500 {
		f.send(t, 500)
		f.arrive(t, f.sent-50) // so that no device's queue is too short
	}
	upf = startChild(t, top.UPF, c)
	f.send(t, 50)
	f.end(t, f.sent-50)
	if got := f.received.Load(); got != f.sent-50 {
		t.Errorf("%d of %d packets arrived; want all but the 50 that the dead process had", got, f.sent)
	}
	upf.ask(t, "close")
}

// send sends so many packets at once.
func (f *flow) send(t *testing.T, n int) {
	t.Helper()
	for range n {
		_, err := f.gnb.WriteToUDPAddrPort(f.message, f.to)
		check(t, err)
		f.sent++
	}
}

// arrive waits until so many packets have come.
func (f *flow) arrive(t *testing.T, want uint64) {
	t.Helper()
	for end := time.Now().Add(patience); f.received.Load() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d packets arrived", f.received.Load(), want)
		}
	}
}

// leaveQueued makes the programs on the device see what they do when a packet of
// the flow's rule is in the ring: RULE_QUEUED and a count of 1.
func leaveQueued(t *testing.T, pin, device string) {
	t.Helper()
	l, err := link.LoadPinnedLink(filepath.Join(pin, "link-"+device), nil)
	check(t, err)
	defer l.Close()
	info, err := l.Info()
	check(t, err)
	prog, err := ebpf.NewProgramFromID(info.Program)
	check(t, err)
	defer prog.Close()
	rules, queues := mapOf(t, prog, "rule_by_teid"), mapOf(t, prog, "queues")
	defer rules.Close()
	defer queues.Close()
	ues := mapOf(t, prog, "rule_by_ue")
	defer ues.Close()
	const ctlAt, ruleQueued = 8, 0x4000 // bpf/upf/rules.h
	var key uint32
	var rule []byte
	for all := rules.Iterate(); all.Next(&key, &rule); {
		if uint32(binary.NativeEndian.Uint64(rule)) == ulTEID {
			ctl := binary.NativeEndian.Uint32(rule[ctlAt:])
			binary.NativeEndian.PutUint32(rule[ctlAt:], ctl|ruleQueued)
			check(t, rules.Put(key, rule))
			check(t, queues.Put(ues.MaxEntries()+key, [2]uint32{1, 0}))
			return
		}
	}
	t.Fatal("the flow has no rule")
}

// mapOf returns the map of that name that the program has.
func mapOf(t *testing.T, prog *ebpf.Program, name string) *ebpf.Map {
	t.Helper()
	info, err := prog.Info()
	check(t, err)
	ids, _ := info.MapIDs()
	for _, id := range ids {
		m, err := ebpf.NewMapFromID(id)
		check(t, err)
		if about, err := m.Info(); err == nil && about.Name == name {
			return m
		}
		m.Close()
	}
	t.Fatalf("the program has no map %s", name)
	return nil
}
