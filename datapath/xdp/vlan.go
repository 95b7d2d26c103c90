package xdp

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Tagged ports. On a device of which a port has a VID the program takes the tag off
// what arrives for it, and puts it on what it sends. For the host the device has no
// tags: a tcx program at its exit tags what the host sends there, by the addresses
// in it. So ARP, Neighbour Discovery and the slow path work without a VLAN device.

// maxVID is the highest VLAN identifier there is. Source: IEEE Std 802.1Q-2022, table 9-2.
const maxVID = 4094

// Roles of a port in the map vlan_roles: VLAN_* in bpf/vlan.h.
const roleGTPU, roleN6 = 1, 2

// all returns the ports of both kinds.
func (p *ports) all() []port { return append(p.gtpu[:len(p.gtpu):len(p.gtpu)], p.n6...) }

// tagged reports whether a port on the device has a tag.
func (p *ports) tagged(index int) bool {
	for _, q := range p.all() {
		if q.index == index && q.VLAN != 0 {
			return true
		}
	}
	return false
}

func (p *ports) anyTagged() bool {
	return slices.ContainsFunc(p.all(), func(q port) bool { return q.VLAN != 0 })
}

func (p *ports) checkVLANs() error {
	for _, q := range p.all() {
		if q.VLAN > maxVID {
			return fmt.Errorf("xdp: %s: VLAN %d: want 1 to %d", q.Name, q.VLAN, maxVID)
		}
	}
	return nil
}

// tagAll lets the host's frames be tagged, and the programs know which tags there
// are, on all devices with tagged ports.
func (d *Driver) tagAll() error {
	done := map[int]bool{}
	for _, p := range d.ports.all() {
		if done[p.index] || !d.ports.tagged(p.index) {
			continue
		}
		done[p.index] = true
		d.keepTags(p.name)
		if err := d.tag(p.device); err != nil {
			return err
		}
	}
	return d.setRoles()
}

// setRoles tells the programs what the tags mean.
func (d *Driver) setRoles() error {
	roles := map[upfVlanKey]uint32{}
	for i, p := range d.ports.all() {
		role := uint32(roleGTPU)
		if i >= len(d.ports.gtpu) {
			role = roleN6
		}
		if d.ports.tagged(p.index) || len(d.cfg.Spread) > 0 {
			roles[upfVlanKey{Ifindex: uint32(p.index), Vid: uint32(p.VLAN)}] |= role
		}
	}
	for key, role := range roles {
		if err := d.objs.VlanRoles.Put(key, role); err != nil {
			return fmt.Errorf("xdp: VLAN %d: %w", key.Vid, err)
		}
	}
	return nil
}

// keepTags asks the device not to take tags off before the program sees the frame.
// A device that cannot be asked has no such offload.
func (d *Driver) keepTags(device string) {
	tool, err := ethtool.NewEthtool()
	if err == nil {
		defer tool.Close()
		err = tool.Change(device, map[string]bool{"rx-vlan-hw-parse": false})
	}
	if err != nil {
		d.log.Warn("VLAN offload stays as it is: if the device takes tags off, tagged frames are not seen", "device", device, "err", err)
	}
}

// tag attaches the program that tags what the host sends on the device.
func (d *Driver) tag(dev device) error {
	spec, err := loadVlan()
	if err != nil {
		return fmt.Errorf("xdp: VLAN program: %w", err)
	}
	table, count, other, err := d.ports.tags(dev.index)
	if err != nil {
		return err
	}
	for name, value := range map[string]any{"ports": table, "port_count": count, "other_vid": other} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("xdp: set %s: %w", name, err)
		}
	}
	var objs vlanObjects
	if err := spec.LoadAndAssign(&objs, nil); err != nil {
		return loadError(err)
	}
	defer objs.Close() // the link has a reference of its own
	return d.attachTags(objs.VlanLeave, dev)
}

// attachTags puts prog at the exit of the device, in place of one that an earlier
// process left there.
func (d *Driver) attachTags(prog *ebpf.Program, dev device) error {
	pin := ""
	if d.pins != nil {
		pin = filepath.Join(d.pins.dir, tagsPrefix+dev.name)
		if l, err := link.LoadPinnedLink(pin, nil); err == nil {
			if err = l.Update(prog); err == nil {
				d.attached(tagsPrefix+dev.name, l, false)
				return nil
			}
			_ = errors.Join(l.Unpin(), l.Close()) // of a device that went
		}
	}
	l, err := link.AttachTCX(link.TCXOptions{Program: prog, Attach: ebpf.AttachTCXEgress, Interface: dev.index})
	if err != nil {
		return fmt.Errorf("xdp: VLAN on %s needs tcx (Linux 6.6): %w", dev.name, err)
	}
	if pin != "" {
		if err := l.Pin(pin); err != nil {
			return errors.Join(fmt.Errorf("xdp: pin VLAN program of %s: %w", dev.name, err), l.Close())
		}
	}
	d.attached(tagsPrefix+dev.name, l, true)
	return nil
}

// tagTable is what the VLAN program knows of the endpoints on its device.
type tagTable [2 * maxEndpoints]vlanVlanPort

// tags returns the endpoints on the device with their addresses and on-link
// prefixes, and the VID of all other frames: that of N6, if N6 is on the device.
func (p *ports) tags(index int) (table tagTable, count, other uint32, err error) {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return table, 0, 0, fmt.Errorf("xdp: device %d: %w", index, err)
	}
	addrs, err := netlink.AddrList(link, unix.AF_UNSPEC)
	if err != nil {
		return table, 0, 0, fmt.Errorf("xdp: addresses of %s: %w", link.Attrs().Name, err)
	}
	for i := len(p.gtpu) - 1; i >= 0; i-- {
		e := &p.gtpu[i]
		if e.index != index {
			continue
		}
		other = uint32(e.VLAN)
		for _, a := range []netip.Addr{e.Address, e.Address6} {
			if a.IsValid() {
				table[count] = vlanVlanPort{Addr: vlanWords(a), Mask: onlinkMask(addrs, a), Vid: uint32(e.VLAN)}
				count++
			}
		}
	}
	for i := range p.n6 {
		if p.n6[i].index == index {
			return table, count, uint32(p.n6[i].VLAN), nil
		}
	}
	return table, count, other, nil
}

// vlanWords is an address as the VLAN program has it.
func vlanWords(a netip.Addr) (w vlanAddress) {
	words := networkOrder(a)
	w.Word[0] = uint64(words[0]) | uint64(words[1])<<32
	w.Word[1] = uint64(words[2]) | uint64(words[3])<<32
	return w
}

// onlinkMask returns the mask of the device's address a, or that of a alone.
func onlinkMask(addrs []netlink.Addr, a netip.Addr) vlanAddress {
	bits := 128
	for _, has := range addrs {
		if ip, ok := netip.AddrFromSlice(has.IP); ok && ip.Unmap() == a {
			ones, size := has.Mask.Size()
			bits = 128 - size + ones
		}
	}
	var b [16]byte
	for i := range b {
		b[i] = byte(uint16(0xff00) >> min(8, max(0, bits-8*i)))
	}
	return vlanWords(netip.AddrFrom16(b))
}
