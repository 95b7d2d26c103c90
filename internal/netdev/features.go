// Package netdev asks the kernel what XDP can do on a device, and knows what names devices
// can have.
//
// Source: Linux, include/uapi/linux/netdev.h; Documentation/netlink/specs/netdev.yaml.
package netdev

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Features is what a device announces, enum netdev_xdp_act of linux/netdev.h.
type Features uint64

// The bits of Features that are spoken of here.
const (
	Basic       Features = 1 << 0
	Redirect    Features = 1 << 1
	Transmit    Features = 1 << 2 // it sends frames that are redirected to it
	ZeroCopy    Features = 1 << 3
	ReceiveFrag Features = 1 << 5
)

// String lists the features that a datapath may use.
func (f Features) String() string {
	var names []string
	for _, known := range []struct {
		bit  Features
		name string
	}{
		{Redirect, "redirect"},
		{Transmit, "redirect target"},
		{ZeroCopy, "AF_XDP zero copy"},
		{ReceiveFrag, "multi-buffer"},
	} {
		if f&known.bit != 0 {
			names = append(names, known.name)
		}
	}
	return strings.Join(names, ", ")
}

// NoTarget says why frames that XDP redirects to a device get lost, and "" if they do not, as
// far as can be told before a program is on it. kind is the type of the device; announced
// tells that it was asked for its features (Linux 6.3 or later).
//
// A veth hands them on only while its far end has GRO or an XDP program, and counts none
// that it loses. Other drivers take them once they have a program, and may announce it no
// sooner.
//
// Source: Linux, drivers/net/veth.c, veth_xdp_xmit and veth_set_xdp_features.
func NoTarget(kind string, f Features, announced bool) string {
	switch {
	case kind != "veth" || f&Transmit != 0:
		return ""
	case !announced:
		return "this kernel does not say whether its far end takes redirected frames"
	}
	return "its far end takes no redirected frames"
}

// Generic netlink family "netdev", linux/netdev.h.
const (
	familyName   = "netdev"
	version      = 1
	cmdDevGet    = 1
	attrIfindex  = 1
	attrFeatures = 3
)

// genlHeader is struct genlmsghdr of linux/genetlink.h: command, version and two
// reserved octets, which the kernel wants to be 0: nl.Genlmsg, of two octets,
// serializes to four, the last two being whatever follows it in memory.
type genlHeader [4]byte

// Len returns the length in octets.
func (h genlHeader) Len() int { return len(h) }

// Serialize returns the octets on the wire.
func (h genlHeader) Serialize() []byte { return h[:] }

// Kernel asks about the devices of one network namespace. It is not safe for
// concurrent use.
type Kernel struct {
	family uint16
	socket *nl.SocketHandle
}

// Open returns who asks about the devices in the caller's network namespace. Linux
// 6.3 or later.
func Open() (*Kernel, error) {
	family, err := netlink.GenlFamilyGet(familyName)
	if err != nil {
		return nil, fmt.Errorf("generic netlink family %s: %w", familyName, err)
	}
	socket, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("generic netlink: %w", err)
	}
	return &Kernel{family: family.ID, socket: &nl.SocketHandle{Socket: socket}}, nil
}

// Close ends the socket.
func (k *Kernel) Close() { k.socket.Close() }

// Announced returns what the device with that interface index says that it can do
// now: a veth device, say, sends what is redirected to it only as long as the other end
// receives by NAPI.
//
// One device at a time: the messages of a dump do not carry NLM_F_MULTI, so
// that a reader would stop after the first.
func (k *Kernel) Announced(index int) (Features, error) {
	request := nl.NewNetlinkRequest(int(k.family), 0)
	request.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_GENERIC: k.socket}
	request.AddData(genlHeader{cmdDevGet, version})
	request.AddData(nl.NewRtAttr(attrIfindex, nl.Uint32Attr(uint32(index))))
	messages, err := request.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return 0, fmt.Errorf("%s device %d: %w", familyName, index, err)
	}
	for _, m := range messages {
		if got, f, err := parse(m); err != nil || got == index {
			return f, err
		}
	}
	return 0, fmt.Errorf("%s device %d: no answer among %d", familyName, index, len(messages))
}

// Announced is [Kernel.Announced] in the caller's network namespace, once.
func Announced(index int) (Features, error) {
	k, err := Open()
	if err != nil {
		return 0, err
	}
	defer k.Close()
	return k.Announced(index)
}

// parse reads one answer: a generic netlink header, then attributes, in
// host byte order: length with header (2 octets), type (2), value, padded to a
// multiple of 4. The last one's padding may be missing.
//
// Not nl.ParseRouteAttr, which panics then.
func parse(message []byte) (index int, f Features, err error) {
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
		case kind == attrIfindex && len(value) == 4:
			index = int(binary.NativeEndian.Uint32(value))
		case kind == attrFeatures && len(value) == 8:
			f = Features(binary.NativeEndian.Uint64(value))
		}
		rest = rest[min((length+3)&^3, len(rest)):]
	}
	if index == 0 {
		return 0, 0, fmt.Errorf("netdev message % x: no interface index", message)
	}
	return index, f, nil
}
