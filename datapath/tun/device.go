package tun

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// txQueueLen is how many packets the kernel keeps for a worker that is late.
const txQueueLen = 4096

// addrGenModeNone is IN6_ADDR_GEN_MODE_NONE of linux/if_link.h.
const addrGenModeNone = 1

// device is where bare packets leave and come from.
type device struct {
	*vnet.Device
	link   netlink.Link
	frames bool // of an Ethernet data network: frames as they are
	shared bool // packets come by rings: the queues are not read

	// Of a TAP device for IP packets: its address, and that of the UEs behind it.
	mac, peer [6]byte
}

func openDevice(c *Config, name string, ethernet bool) (*device, error) {
	opened, err := vnet.Open(vnet.Config{Name: name, TAP: c.TAP || ethernet, Queues: c.Workers})
	if err != nil {
		return nil, err
	}
	dev := &device{Device: opened, frames: ethernet}
	if err := dev.configure(c.MTU); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return dev, nil
}

// configure sets the device up.
func (dev *device) configure(mtu int) error {
	var err error
	if dev.link, err = netlink.LinkByName(dev.Name); err != nil {
		return fmt.Errorf("find %s: %w", dev.Name, err)
	}
	if dev.TAP {
		dev.mac, dev.peer = localMAC(), localMAC()
		if err := netlink.LinkSetHardwareAddr(dev.link, dev.mac[:]); err != nil {
			return fmt.Errorf("address of %s: %w", dev.Name, err)
		}
	}
	// No link-local address: the kernel sends nothing unsolicited on this link.
	_ = netlink.LinkSetIP6AddrGenMode(dev.link, addrGenModeNone)
	if err := netlink.LinkSetMTU(dev.link, mtu); err != nil {
		return fmt.Errorf("MTU %d of %s: %w", mtu, dev.Name, err)
	}
	if err := netlink.LinkSetTxQLen(dev.link, txQueueLen); err != nil {
		return fmt.Errorf("queue length %d of %s: %w", txQueueLen, dev.Name, err)
	}
	dev.switches()
	if err := netlink.LinkSetUp(dev.link); err != nil {
		return fmt.Errorf("set %s up: %w", dev.Name, err)
	}
	if dev.TAP && !dev.frames {
		return dev.introduce()
	}
	return nil
}

// switches sets the kernel's switches of this device, which is the UPF's own. Where one
// is not there, or not to be written, that of the namespace holds.
func (dev *device) switches() {
	for path, value := range map[string]string{
		"ipv4/conf/" + dev.Name + "/forwarding":       "1",
		"ipv4/conf/" + dev.Name + "/rp_filter":        "0",
		"ipv4/conf/" + dev.Name + "/accept_local":     "1", // ICMP errors of the UPF come from N6's address
		"ipv4/conf/" + dev.Name + "/accept_redirects": "0",
		"ipv4/conf/" + dev.Name + "/send_redirects":   "0",
		"ipv6/conf/" + dev.Name + "/accept_ra":        "0",
		"ipv6/conf/" + dev.Name + "/accept_redirects": "0",
	} {
		_ = os.WriteFile("/proc/sys/net/"+path, []byte(value), 0)
	}
}

// localMAC returns a random locally administered address.
func localMAC() (m [6]byte) {
	_, _ = rand.Read(m[:]) // never fails: package crypto/rand
	m[0] = m[0]&^1 | 2
	return m
}

// Next hops of UEs behind a TAP device: no host has these addresses, they only name the common
// neighbour of all UEs. The kernel's neighbour table therefore has two entries instead of one for
// each UE. Source: RFC 7600, 4.8 (192.0.0.8).
var (
	nextHop4 = netip.AddrFrom4([4]byte{192, 0, 0, 8})
	nextHop6 = netip.MustParseAddr("fe80::1")
)

// introduce tells the kernel the neighbour that UEs are behind.
func (dev *device) introduce() error {
	for _, a := range []netip.Addr{nextHop4, nextHop6} {
		err := netlink.NeighSet(&netlink.Neigh{
			LinkIndex: dev.link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: net.HardwareAddr(dev.peer[:]),
		})
		if err != nil && a.Is4() { // there may be no IPv6
			return fmt.Errorf("neighbour %v on %s: %w", a, dev.Name, err)
		}
	}
	return nil
}

func (dev *device) index() int { return dev.link.Attrs().Index }

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// unread makes the kernel queue nothing for the device, whose queues are not read. A queueing
// discipline stays, which hides the drops of the device from senders on this host: their TCP would
// slow down. The previous one takes its length from the device, this one took it at its creation.
func (dev *device) unread() error {
	if dev.shared {
		return nil
	}
	dev.shared = true
	fifo := netlink.QdiscAttrs{LinkIndex: dev.index(), Parent: netlink.HANDLE_ROOT}
	if err := netlink.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: fifo, QdiscType: "pfifo"}); err != nil {
		return fmt.Errorf("queueing discipline of %s: %w", dev.Name, err)
	}
	if err := netlink.LinkSetTxQLen(dev.link, 0); err != nil {
		return fmt.Errorf("queue length 0 of %s: %w", dev.Name, err)
	}
	return nil
}
