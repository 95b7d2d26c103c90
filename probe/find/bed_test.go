package find_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/nsenter"
	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/labtest"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/probe"
)

var scratch string // a directory that goes with the tests

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "plt-find-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		scratch = dir
		return m.Run()
	}())
}

// plumb is the program, built once by the first test that runs it: a fuzz worker does not.
var plumb = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "plumb")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/plumbline-upf/plumbline/cmd/plumb")
	build.Stderr = os.Stderr
	return path, build.Run()
})

// bed is a UPF that runs, with one session.
//
//	gnb 10.3.0.2 ── N3 ── UPF ── N6 ── 10.6.0.2 server
type bed struct {
	*topology.Topology
	upf     *dut.Instance
	smf     *n4load.Client
	session n4load.Session
	ran     *net.UDPConn // the gNB's
	server  *net.UDPConn
}

const serverPort = 7000

var beds atomic.Int32 // so far

// newBed starts a UPF and establishes a session.
func newBed(t *testing.T, kind dut.Kind, onAStick bool) *bed {
	t.Helper()
	top, err := topology.New(topology.Config{Name: fmt.Sprintf("plt-find-%d", beds.Add(1)), OnAStick: onAStick, Offload: kind.Offloads})
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{Topology: top}
	t.Cleanup(func() {
		if err := top.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.upf, err = dut.Start(t.Context(), kind, dut.At(top)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.upf.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.upf.Log())
		}
	})
	b.establish(t)
	b.ran = listen(t, top.GNB, netip.AddrPortFrom(top.N3.Peer.Address.Addr(), gtpu.Port))
	b.server = listen(t, top.DN, netip.AddrPortFrom(top.N6.Peer.Address.Addr(), serverPort))
	return b
}

func (b *bed) establish(t *testing.T) {
	t.Helper()
	template, err := b.upf.Template()
	if err != nil {
		t.Fatal(err)
	}
	b.smf = labtest.Associate(t, b.Topology)
	sessions := template.Sessions(0, 1)
	if _, err := b.smf.Establish(t.Context(), &template, sessions); err != nil {
		t.Fatal(err)
	}
	b.session = sessions[0]
}

// move gives the UPF other addresses, and other UEs, from the next start on.
func (b *bed) move(t *testing.T) {
	t.Helper()
	n3, n4, pool := netip.MustParsePrefix("10.3.0.7/24"), netip.MustParseAddr("10.4.0.7"), netip.MustParsePrefix("10.200.0.0/16")
	network := func(p netip.Prefix) *net.IPNet {
		return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
	}
	err := b.UPF.Do(func() error {
		var errs []error
		for device, address := range map[string]netip.Prefix{b.N3.UPF.Device: n3, "lo": netip.PrefixFrom(n4, 32)} {
			link, err := netlink.LinkByName(device)
			if err != nil {
				return err
			}
			errs = append(errs, netlink.AddrAdd(link, &netlink.Addr{IPNet: network(address)}))
		}
		return errors.Join(errs...)
	})
	if err == nil {
		err = b.DN.Do(func() error {
			return netlink.RouteAdd(&netlink.Route{Dst: network(pool), Gw: b.N6.UPF.Address.Addr().AsSlice()})
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.N3.UPF.Address, b.Config.N4UPF, b.Config.UEPools = n3, n4, []netip.Prefix{pool}
}

// restart kills the UPF, starts it again and establishes the session anew.
func (b *bed) restart(t *testing.T) {
	t.Helper()
	if err := errors.Join(b.upf.Kill(), b.smf.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := dut.Start(t.Context(), b.upf.Kind, dut.At(b.Topology))
	if err != nil {
		t.Fatal(err)
	}
	b.upf = again
	b.establish(t)
}

func listen(t *testing.T, n *topology.Namespace, at netip.AddrPort) (conn *net.UDPConn) {
	t.Helper()
	err := n.Do(func() (err error) {
		conn, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// payload is longer than whatever else is on the links.
const payload = 700

// uplink is a datagram of the UE to the server, in GTP-U.
func (b *bed) uplink(t *testing.T) []byte {
	t.Helper()
	ip := &layers.IPv4{
		Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP,
		SrcIP: b.session.UE.AsSlice(), DstIP: b.N6.Peer.Address.Addr().AsSlice(),
	}
	udp := &layers.UDP{SrcPort: 9000, DstPort: serverPort}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, ip, udp, gopacket.Payload(make([]byte, payload))); err != nil {
		t.Fatal(err)
	}
	header := []byte{0x30, 255, 0, 0, 0, 0, 0, 0} // G-PDU. Source: TS 29.281 V18.1.0, 5.1.
	binary.BigEndian.PutUint16(header[2:], uint16(len(buffer.Bytes())))
	binary.BigEndian.PutUint32(header[4:], b.session.ULTEID)
	return append(header, buffer.Bytes()...)
}

// exchange sends n datagrams there and back, one at a time.
func (b *bed) exchange(t *testing.T, n int) {
	t.Helper()
	up, got := b.uplink(t), make([]byte, 2000)
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(b.N3.UPF.Address.Addr(), gtpu.Port))
	for i := range n {
		if _, err := b.ran.WriteTo(up, to); err != nil {
			t.Fatal(err)
		}
		_ = b.server.SetReadDeadline(time.Now().Add(10 * time.Second))
		octets, ue, err := b.server.ReadFrom(got)
		if err != nil || octets != payload {
			t.Fatalf("datagram %d at the server: %d octets, %v", i, octets, err)
		}
		if _, err := b.server.WriteTo(got[:octets], ue); err != nil {
			t.Fatal(err)
		}
		_ = b.ran.SetReadDeadline(time.Now().Add(10 * time.Second))
		for octets = 0; octets < payload; { // Echo Requests come as well
			if octets, _, err = b.ran.ReadFrom(got); err != nil {
				t.Fatalf("datagram %d at the gNB: %v", i, err)
			}
		}
	}
}

// counter counts the packets of the test that pass a point.
type counter struct {
	point probe.Point
	seen  *ebpf.Map
}

// newCounter attaches a program to a point that counts long packets, before all others
// of what a device receives and behind them of what it sends.
func newCounter(t *testing.T, p probe.Point) *counter {
	t.Helper()
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { seen.Close() })
	const lengthOffset, next = 0, -1 // of struct __sk_buff: len; TCX_NEXT
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, lengthOffset, asm.Word),
		asm.JLT.Imm(asm.R2, payload, "out"),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, seen.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, next).WithSymbol("out"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	options := link.TCXOptions{Program: program, Attach: ebpf.AttachTCXIngress, Anchor: link.Head()}
	if p.Hook == probe.Egress {
		options.Attach, options.Anchor = ebpf.AttachTCXEgress, link.Tail()
	}
	inside(t, p.Namespace, func() error {
		device, err := net.InterfaceByName(p.Device)
		if err != nil {
			return err
		}
		options.Interface = device.Index
		l, err := link.AttachTCX(options)
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return err
	})
	return &counter{point: p, seen: seen}
}

// count returns how many packets have passed.
func (c *counter) count(t *testing.T) (n uint64) {
	t.Helper()
	if err := c.seen.Lookup(uint32(0), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// inside runs f in a namespace.
func inside(t *testing.T, path string, f func() error) {
	t.Helper()
	if err := nsenter.In(path, f); err != nil {
		t.Fatal(err)
	}
}
