package xdp_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/gtpu"
)

// toUPF: no user packet reaches a socket of the UPF's host, whichever way, nor leaves
// for a router that would send it there.
func (n *network) toUPF(t *testing.T) {
	host := listen(t, n.UPF, netip.AddrPortFrom(n.N6.UPF.Address.Addr(), dnPort))
	n.uplinkTo(t, n.N6.UPF.Address.Addr())
	n.waitDrops(t, "local", 1)
	n.uplinkTo(t, n.N3.UPF.Address.Addr())
	n.waitDrops(t, "local", 2)
	late := netip.MustParseAddr("10.44.0.1") // which comes while the UPF runs
	check(t, n.UPF.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: late.AsSlice(), Mask: net.CIDRMask(32, 32)}})
	}))
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		n.uplinkTo(t, late)
		if drops, err := n.upf.Drops(); err != nil || drops["local"] > 2 {
			check(t, err)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a new address of the host is not kept from UEs")
		}
	}
	check(t, host.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	if size, err := host.Read(make([]byte, 100)); err == nil {
		t.Errorf("a socket of the UPF's host got %d octets from a UE", size)
	}
}

// uplinkTo sends a G-PDU from the gNB with a packet of the UE to an address.
func (n *network) uplinkTo(t *testing.T, to netip.Addr) {
	t.Helper()
	user, dst := n.datagram(payload(10)), to.As4()
	copy(user[16:], dst[:])
	user[10], user[11] = 0, 0
	binary.BigEndian.PutUint16(user[10:], sum(user[:20]))
	message := append(gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user)), user...)
	_, err := n.gnb.WriteToUDPAddrPort(message, n.n3)
	check(t, err)
}
