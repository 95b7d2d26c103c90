package xdp_test

import (
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Fields of struct __sk_buff, and what a tcx program returns.
const (
	skbVLANPresent, skbVLANTCI = 20, 24
	tcxNext, tcxDrop           = -1, 2
	etherVLAN                  = 0x0081 // 0x8100 in wire order
)

// trunk makes a port speak with a tag alone, as a switch or a VLAN device would:
// what leaves gets the tag, what arrives with another tag or without is dropped.
func trunk(t *testing.T, p topology.Port, vid int32) {
	t.Helper()
	leave := asm.Instructions{
		asm.Mov.Imm(asm.R2, etherVLAN), asm.Mov.Imm(asm.R3, vid),
		asm.FnSkbVlanPush.Call(), asm.Mov.Imm(asm.R0, tcxNext), asm.Return(),
	}
	arrive := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, skbVLANPresent, asm.Word),
		asm.JEq.Imm(asm.R2, 0, "drop"),
		asm.LoadMem(asm.R2, asm.R6, skbVLANTCI, asm.Word),
		asm.And.Imm(asm.R2, 0xfff),
		asm.JNE.Imm(asm.R2, vid, "drop"),
		asm.FnSkbVlanPop.Call(), asm.Mov.Imm(asm.R0, tcxNext), asm.Return(),
		asm.Mov.Imm(asm.R0, tcxDrop).WithSymbol("drop"), asm.Return(),
	}
	attachTCX(t, p, ebpf.AttachTCXEgress, leave)
	attachTCX(t, p, ebpf.AttachTCXIngress, arrive)
	check(t, p.Namespace.Do(func() error { // tags in the frames, not beside them
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		return tool.Change(p.Device, map[string]bool{"tx-vlan-hw-insert": false})
	}))
}

func attachTCX(t *testing.T, p topology.Port, at ebpf.AttachType, program asm.Instructions) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, AttachType: at, Instructions: program, License: "GPL"})
	check(t, err)
	check(t, p.Namespace.Do(func() error {
		l, err := link.AttachTCX(link.TCXOptions{Program: prog, Attach: at, Interface: p.Index})
		if err == nil {
			t.Cleanup(func() { check(t, l.Close()) })
		}
		return err
	}))
	check(t, prog.Close())
}

// forget removes the neighbours that the topology has set, so that they have to be
// found.
func forget(t *testing.T, ports ...topology.Port) {
	t.Helper()
	for _, p := range ports {
		check(t, p.Namespace.Do(func() error {
			neighs, err := netlink.NeighList(p.Index, netlink.FAMILY_ALL)
			for i := range neighs {
				if neighs[i].State == netlink.NUD_PERMANENT && err == nil {
					err = netlink.NeighDel(&neighs[i])
				}
			}
			return err
		}))
	}
}

const vlanN3, vlanN6 = 103, 4094

// TestVLANs: N3 and N6 are tagged, no kernel here has a VLAN device, neighbours have
// to be found by ARP or Neighbour Discovery, and ping works.
func TestVLANs(t *testing.T) {
	for name, on := range map[string]func(xdp.Config) xdp.Config{"native": nil, "generic": nil, "tcx": onTC} {
		t.Run(name, func(t *testing.T) {
			n, mode := layNetwork(t, "xdp-vlan-"+name), xdp.Mode(name)
			n.on = on
			upf6, gnb6 := addAddress(t, n.N3.UPF, "fd03::1/64"), addAddress(t, n.N3.Peer, "fd03::2/64")
			n.tag(t, mode, upf6)
			gnb := n.N3.Peer.Address.Addr()
			n.n3 = netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port)
			n.gnb = listen(t, n.GNB, netip.AddrPortFrom(gnb, gtpu.Port))
			n.exchange(t, gnb)
			n.n3 = netip.AddrPortFrom(upf6, gtpu.Port) // N3 over IPv6
			n.gnb = listen(t, n.GNB, netip.AddrPortFrom(gnb6, gtpu.Port))
			n.exchange(t, gnb6)
			check(t, n.gnb.SetReadDeadline(time.Now().Add(30*time.Second)))
			go n.answerPings()
			ping(t, n.DN, n.ue)
		})
	}
}

// tag starts the UPF with both ports tagged.
func (n *network) tag(t *testing.T, mode xdp.Mode, upf6 netip.Addr) {
	t.Helper()
	trunk(t, n.N3.Peer, vlanN3)
	trunk(t, n.N6.Peer, vlanN6)
	forget(t, n.N3.UPF, n.N3.Peer, n.N6.UPF, n.N6.Peer)
	n6 := n6On(n.N6.UPF.Device, n.N6.Peer.Address.Addr())
	n6.Networks[0].VLAN = vlanN6
	n.startOn(t, mode, n6, datapath.Endpoint{
		Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr(), Address6: upf6, VLAN: vlanN3,
	})
}

// exchange sends packets of many sizes both ways: some, at first, the slow way.
func (n *network) exchange(t *testing.T, gnb netip.Addr) {
	t.Helper()
	n.install(t, gnb)
	n.untilResolved(t)
	for _, octets := range []int{0, 1, 100, 1000, 1408} {
		n.uplink(t, payload(octets))
		n.downlink(t, payload(octets))
	}
	n.uplink(t, payload(1472)) // outer fragments, put together by the host
	n.echo(t)
}

// answerPings is a UE that answers, until the gNB's socket is closed.
func (n *network) answerPings() {
	buf := make([]byte, 2048)
	for {
		size, err := n.gnb.Read(buf)
		if err != nil {
			return
		}
		h, err := gtpu.Parse(buf[:size])
		if err != nil || size < len(h)+28 || buf[len(h)+9] != 1 {
			continue
		}
		user := buf[len(h):size]
		src := [4]byte(user[12:16])
		copy(user[12:], user[16:20])
		copy(user[16:], src[:])
		user[20] = 0                                         // Echo Reply, of which
		sum := uint32(user[22])<<8 + uint32(user[23]) + 8<<8 // the checksum is that of the request and the difference
		sum += sum >> 16
		user[22], user[23] = byte(sum>>8), byte(sum)
		_, _ = n.gnb.WriteToUDPAddrPort(append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...), n.n3)
	}
}

// ping runs ping in ns.
func ping(t *testing.T, ns *topology.Namespace, to netip.Addr) {
	t.Helper()
	check(t, ns.Do(func() error {
		out, err := exec.Command("ping", "-c", "5", "-i", "0.05", "-W", "5", to.String()).CombinedOutput()
		t.Logf("%s", out)
		return err
	}))
}
