package doctor

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// xdpFeatures is what a device announces, enum netdev_xdp_act of linux/netdev.h.
type xdpFeatures uint64

// The bits of xdpFeatures that are spoken of here.
const (
	xdpBasic       xdpFeatures = 1 << 0
	xdpRedirect    xdpFeatures = 1 << 1
	xdpTransmit    xdpFeatures = 1 << 2
	xdpZeroCopy    xdpFeatures = 1 << 3
	xdpReceiveFrag xdpFeatures = 1 << 5
)

// String lists the features that a datapath may use.
func (f xdpFeatures) String() string {
	var names []string
	for _, known := range []struct {
		bit  xdpFeatures
		name string
	}{
		{xdpRedirect, "redirect"},
		{xdpTransmit, "redirect target"},
		{xdpZeroCopy, "AF_XDP zero copy"},
		{xdpReceiveFrag, "multi-buffer"},
	} {
		if f&known.bit != 0 {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ", ")
}

// Generic netlink family "netdev", linux/netdev.h.
const (
	netdevFamily          = "netdev"
	netdevVersion         = 1
	netdevCmdDevGet       = 1
	netdevAttrIfindex     = 1
	netdevAttrXDPFeatures = 3
)

// genlHeader is struct genlmsghdr of linux/genetlink.h: command, version and two
// reserved octets, which the kernel wants to be 0: nl.Genlmsg, of two octets,
// serializes to four, the last two being whatever follows it in memory.
type genlHeader [4]byte

// Len returns the length in octets.
func (h genlHeader) Len() int { return len(h) }

// Serialize returns the octets on the wire.
func (h genlHeader) Serialize() []byte { return h[:] }

// announcedXDP asks the kernel what the device with that interface index can
// do. Linux 6.3 or later.
//
// One device at a time: the messages of a dump do not carry NLM_F_MULTI, so
// that a reader would stop after the first.
func announcedXDP(index int) (xdpFeatures, error) {
	family, err := netlink.GenlFamilyGet(netdevFamily)
	if err != nil {
		return 0, fmt.Errorf("generic netlink family %s: %w", netdevFamily, err)
	}
	request := nl.NewNetlinkRequest(int(family.ID), 0)
	request.AddData(genlHeader{netdevCmdDevGet, netdevVersion})
	request.AddData(nl.NewRtAttr(netdevAttrIfindex, nl.Uint32Attr(uint32(index))))
	messages, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return 0, fmt.Errorf("%s device %d: %w", netdevFamily, index, err)
	}
	for _, m := range messages {
		if got, f, err := parseNetdev(m); err != nil || got == index {
			return f, err
		}
	}
	return 0, fmt.Errorf("%s device %d: no answer among %d", netdevFamily, index, len(messages))
}

// parseNetdev reads one answer: a generic netlink header, then attributes, in
// host byte order: length with header (2 octets), type (2), value, padded to a
// multiple of 4. The last one's padding may be missing.
//
// Not nl.ParseRouteAttr, which panics then.
func parseNetdev(message []byte) (index int, f xdpFeatures, err error) {
	if len(message) < len(genlHeader{}) {
		return 0, 0, fmt.Errorf("netdev message of %d octets", len(message))
	}
	for rest := message[len(genlHeader{}):]; len(rest) > 0; {
		if len(rest) < unix.SizeofNlAttr {
			return 0, 0, fmt.Errorf("netdev message % x: %d octets after the last attribute", message, len(rest))
		}
		length, kind := int(binary.NativeEndian.Uint16(rest)), binary.NativeEndian.Uint16(rest[2:])
		if length < unix.SizeofNlAttr || length > len(rest) {
			return 0, 0, fmt.Errorf("netdev message % x: attribute %d of %d octets in %d", message, kind, length, len(rest))
		}
		value := rest[unix.SizeofNlAttr:length]
		switch {
		case kind == netdevAttrIfindex && len(value) == 4:
			index = int(binary.NativeEndian.Uint32(value))
		case kind == netdevAttrXDPFeatures && len(value) == 8:
			f = xdpFeatures(binary.NativeEndian.Uint64(value))
		}
		rest = rest[min((length+3)&^3, len(rest)):]
	}
	if index == 0 {
		return 0, 0, fmt.Errorf("netdev message % x: no interface index", message)
	}
	return index, f, nil
}
