package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/p4/target"
	"github.com/plumbline-upf/plumbline/upf"
)

// p4Bed is plumb upf on a P4 target, plumb p4switch, each a process of its own, and plumb gnb --n4.
//
//	plt-p4t-gnb: UE 10.45.0.2 ── n3 10.3.0.2 ─── sw1, port 1 ┐           ┌ port 2, sw2 ─── n6 10.6.0.2 :plt-p4t-dn
//	                                                    plt-p4t-sw: p4switch
//	                                           TAP n3 10.3.0.1 ┴── upf ──┴ TAP n6 10.6.0.1
type p4Bed struct {
	t        *testing.T
	dir      string
	grpc     string   // where the switch listens
	switched *os.File // what the switch reports
	upf, gnb *process
	api      *upf.Client
	sent     uint64 // pings
}

const (
	p4UPF = `
node_id: 10.3.0.1
n4: {address: 10.3.0.1}
n3: {device: n3, address: 10.3.0.1}
n6: {device: n6, gateway: 10.6.0.2}
datapath: p4
p4:
  target: 127.0.0.1:9559
  ports: [{device: n3, port: 1}, {device: n6, port: 2}]
pools:
  - {name: internet, prefixes: [10.45.0.0/16]}
store: {path: ""}
api: {socket: %s}
`
	p4GNB = `
n3: {address: 10.3.0.2, upf: 10.3.0.1}
ues:
  - {name: ue1, addresses: [10.45.0.2], downlink_teid: 0x2001, qfi: 9, namespace: plt-p4t-gnb, routes: [10.6.0.0/24]}
`
)

func newP4Bed(t *testing.T) *p4Bed {
	b := &p4Bed{t: t, dir: t.TempDir(), grpc: "127.0.0.1:9559"}
	for _, name := range []string{"plt-p4t-sw", "plt-p4t-gnb", "plt-p4t-dn"} {
		_ = exec.Command("ip", "netns", "del", name).Run() // of a test that was killed
		ip(t, "netns add "+name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
		ip(t, "-n "+name+" link set lo up")
	}
	ip(t, "-n plt-p4t-sw link add sw1 type veth peer name n3 netns plt-p4t-gnb")
	ip(t, "-n plt-p4t-sw link add sw2 type veth peer name n6 netns plt-p4t-dn")
	for _, device := range []string{"sw1", "sw2"} { // the ports are the switch's, not the kernel's
		ip(t, "netns exec plt-p4t-sw sysctl -qw net.ipv6.conf."+device+".disable_ipv6=1")
		ip(t, "-n plt-p4t-sw link set "+device+" arp off up")
	}
	for _, device := range []string{"n3", "n6"} {
		ip(t, "netns exec plt-p4t-sw ip tuntap add dev "+device+" mode tap")
	}
	for _, one := range [][3]string{
		{"sw", "n3", "10.3.0.1"}, {"sw", "n6", "10.6.0.1"}, {"gnb", "n3", "10.3.0.2"}, {"dn", "n6", "10.6.0.2"},
	} {
		ip(t, fmt.Sprintf("-n plt-p4t-%s addr add %s/24 dev %s", one[0], one[2], one[1]))
		ip(t, fmt.Sprintf("-n plt-p4t-%s link set %s up", one[0], one[1]))
	}
	ip(t, "-n plt-p4t-dn route add 10.45.0.0/16 via 10.6.0.1")
	b.api = upf.NewClient(filepath.Join(b.dir, "api"))
	return b
}

// plumb starts this program in a namespace.
func (b *p4Bed) plumb(namespace string, stdout *os.File, args ...string) *process {
	b.t.Helper()
	cmd := exec.Command("ip", append([]string{"netns", "exec", "plt-p4t-" + namespace, "plumb"}, args...)...)
	if stdout != nil {
		cmd.Stdout = stdout
	}
	return start(b.t, cmd, func(f func() error) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return f()
	})
}

// file writes a configuration.
func (b *p4Bed) file(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// turnOn starts a switch that has no pipeline yet.
func (b *p4Bed) turnOn() *process {
	b.t.Helper()
	var err error
	if b.switched, err = os.CreateTemp(b.dir, "switch"); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { b.switched.Close() })
	sw := b.plumb("sw", b.switched, "p4switch", "-i", "1@sw1", "-i", "2@sw2", "--grpc", b.grpc, "--json")
	sw.wait("msg=up ")
	return sw
}

// report asks a switch what it has counted.
func (b *p4Bed) report(sw *process) (r target.Report) {
	b.t.Helper()
	before, err := os.ReadFile(b.switched.Name())
	if err == nil {
		err = sw.cmd.Process.Signal(syscall.SIGUSR1)
	}
	for deadline := time.Now().Add(patience); err == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var all []byte
		if all, err = os.ReadFile(b.switched.Name()); err == nil && json.Unmarshal(all[len(before):], &r) == nil {
			return r
		}
	}
	b.t.Fatalf("no report: %v: %s", err, sw.log())
	return r
}

// ping sends echo requests from the UE to the data network and fails unless all are answered.
func (b *p4Bed) ping(n int) {
	b.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", "plt-p4t-gnb", "ping", "-c", fmt.Sprint(n), "-i", "0.02", "-W", "5", "-I", "ue1", "10.6.0.2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0% packet loss") {
		b.t.Errorf("ping: %v: %s\n%s\n%s", err, out, b.upf.log(), b.gnb.log())
	}
	b.sent += uint64(n)
}

// reached pings until an answer comes that the CPU has had no part in: neighbours, and what the
// gNB puts in front of user packets, are learnt first.
func (b *p4Bed) reached(sw *process) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		before := b.report(sw).P4Runtime
		err := exec.Command("ip", "netns", "exec", "plt-p4t-gnb", "ping", "-c", "1", "-W", "1", "-I", "ue1", "10.6.0.2").Run()
		b.sent++
		if err == nil && b.report(sw).P4Runtime.PacketIns == before.PacketIns {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("no answer by the target alone within %v: %v:\n%s\n%s", patience, err, b.upf.log(), b.gnb.log())
		}
	}
}

// usage returns what the session has counted, by PDR ID.
func (b *p4Bed) usage() map[uint16]upf.Usage {
	b.t.Helper()
	page, err := b.api.Sessions(b.t.Context(), upf.SessionQuery{UEAddress: netip.MustParseAddr("10.45.0.2")})
	if err != nil || len(page.Sessions) != 1 {
		b.t.Fatalf("sessions %+v: %v", page, err)
	}
	s, err := b.api.Session(b.t.Context(), page.Sessions[0].SEID)
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[uint16]upf.Usage{}
	for _, p := range s.Rules.PDRs {
		all[p.ID] = p.Usage
	}
	return all
}

// TestP4Target: the pipeline of a switch that is a process of its own forwards what the UPF has
// put there, counts it, and is given everything again when it has been killed.
func TestP4Target(t *testing.T) {
	b := newP4Bed(t)
	sw := b.turnOn()
	b.upf = b.plumb("sw", nil, "upf", "--config", b.file("upf.yaml", fmt.Sprintf(p4UPF, filepath.Join(b.dir, "api"))))
	b.upf.wait("msg=up ")
	b.gnb = b.plumb("gnb", nil, "gnb", "--config", b.file("gnb.yaml", p4GNB), "--n4", "10.3.0.1")
	b.gnb.wait("msg=up ")
	b.reached(sw)
	b.through(sw)

	sw.kill()
	b.upf.wait("target is away")
	sw = b.turnOn()
	b.upf.wait("target is back")
	b.reached(sw)
	b.through(sw)
	b.gnb.stop()
	b.upf.stop()
	sw.stop()
}

// TestP4TargetGone: a switch that hangs is away within seconds. Sessions can be looked at and removed meanwhile,
// and are not in it when it is back; and a UPF that ends takes its entries from it.
func TestP4TargetGone(t *testing.T) {
	const n4UPF = "10.4.0.1"
	b := newP4Bed(t)
	ip(t, "-n plt-p4t-sw link add n4 type veth peer name n4 netns plt-p4t-gnb") // N4 goes past the switch
	for ns, address := range map[string]string{"sw": n4UPF, "gnb": "10.4.0.2"} {
		ip(t, "-n plt-p4t-"+ns+" addr add "+address+"/24 dev n4")
		ip(t, "-n plt-p4t-"+ns+" link set n4 up")
	}
	b.grpc = "unix:" + filepath.Join(b.dir, "p4runtime")
	sw := b.turnOn()
	config := strings.NewReplacer("n4: {address: 10.3.0.1}", "n4: {address: "+n4UPF+"}", "127.0.0.1:9559", b.grpc).Replace(p4UPF)
	b.upf = b.plumb("sw", nil, "upf", "--config", b.file("upf.yaml", fmt.Sprintf(config, filepath.Join(b.dir, "api"))))
	b.upf.wait("msg=up ")
	gnbConfig := b.file("gnb.yaml", p4GNB)
	b.gnb = b.plumb("gnb", nil, "gnb", "--config", gnbConfig, "--n4", n4UPF)
	b.gnb.wait("msg=up ")
	b.reached(sw)
	for _, to := range []string{upf.DatapathTUN, upf.DatapathAFXDP} {
		if m, err := b.api.Move(t.Context(), to); err == nil || !strings.Contains(err.Error(), "no other datapath can take its place") {
			t.Errorf("moved to %s: %+v, %v", to, m, err)
		}
	}
	b.ping(3)
	b.wantTarget(true, 1)

	if err := sw.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	b.upf.wait("target is away")
	b.wantTarget(false, 1)
	b.usage()
	if _, err := b.api.Drops(t.Context()); err != nil {
		t.Errorf("drops while the target is away: %v", err)
	}
	b.gnb.stop() // it removes its session
	if page, err := b.api.Sessions(t.Context(), upf.SessionQuery{}); err != nil || len(page.Sessions) != 0 {
		t.Errorf("sessions %+v, %v: want none", page, err)
	}
	if err := sw.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.upf.wait("target is back")
	b.wantTarget(true, 0)
	b.gnb = b.plumb("gnb", nil, "gnb", "--config", gnbConfig, "--n4", n4UPF)
	b.gnb.wait("msg=up ")
	b.reached(sw)
	b.through(sw)
	b.wantTarget(true, 1)

	sw.kill() // its socket stays
	sw = b.turnOn()
	b.reached(sw)

	b.upf.stop()
	before := b.report(sw)
	_ = exec.Command("ip", "netns", "exec", "plt-p4t-gnb", "ping", "-c", "5", "-i", "0.02", "-W", "1", "-I", "ue1", "10.6.0.2").Run()
	if now := b.report(sw); now.Ports[1].TxFrames != before.Ports[1].TxFrames {
		t.Errorf("%d frames have left to the data network, of a UPF that has ended", now.Ports[1].TxFrames-before.Ports[1].TxFrames)
	}
	sw.stop()
	b.gnb.kill()
}

// wantTarget states how the target is.
func (b *p4Bed) wantTarget(up bool, sessions int) {
	b.t.Helper()
	d, err := b.api.Datapath(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if t := d.Target; t == nil || t.Up != up || t.Up != (t.Why == "") || t.Sessions != sessions || t.CPUSessions != 0 || len(t.Handed) == 0 || t.Address == "" {
		b.t.Errorf("target %+v, want up %v with %d sessions", t, up, sessions)
	}
}

// through states that pings go through the target, and not by the CPU, and are counted.
func (b *p4Bed) through(sw *process) {
	b.t.Helper()
	const pings, octets = 40, 84
	reported, used := b.report(sw), b.usage()
	b.ping(pings)
	r := b.report(sw)
	if in, out := r.Ports[0].RxFrames-reported.Ports[0].RxFrames, r.Ports[1].TxFrames-reported.Ports[1].TxFrames; in < pings || out < pings {
		b.t.Errorf("%d frames came from the gNB, and %d left to the data network, want %d", in, out, pings)
	}
	// ARP, PFCP and what IPv6 says when a device comes up are the CPU's.
	if n := r.P4Runtime.PacketIns - reported.P4Runtime.PacketIns; n > pings/2 {
		b.t.Errorf("%d packets went to the CPU, of %d", n, 2*pings)
	}
	now := b.usage()
	if len(now) != 2 {
		b.t.Errorf("usage of %d PDRs, want 2", len(now))
	}
	for id, u := range now {
		was := used[id]
		if u.Packets-was.Packets != pings || u.Octets-was.Octets != pings*octets || u.DroppedPackets != 0 {
			b.t.Errorf("PDR %d: %+v after %+v, want %d packets of %d octets more", id, u, was, pings, octets)
		}
		if u.Packets > b.sent {
			b.t.Errorf("PDR %d has counted %d packets of %d", id, u.Packets, b.sent)
		}
	}
}
