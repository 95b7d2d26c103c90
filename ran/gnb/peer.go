package gnb

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// ifaTargetNetNSID is IFA_TARGET_NETNSID: the namespace of an address query (Linux 4.20). Source:
// linux/if_addr.h.
const ifaTargetNetNSID = 10

// farEndHas reports whether the other end of a veth, in any namespace, has an IPv4 address.
func farEndHas(veth netlink.Link, address netip.Addr) (bool, error) {
	attrs := veth.Attrs()
	socket, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return false, err
	}
	defer socket.Close()
	// Without this the kernel ignores the filter.
	if err := unix.SetsockoptInt(socket.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1); err != nil {
		return false, fmt.Errorf("NETLINK_GET_STRICT_CHK: %w", err)
	}
	request := nl.NewNetlinkRequest(unix.RTM_GETADDR, unix.NLM_F_DUMP)
	request.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: socket}}
	message := nl.NewIfAddrmsg(unix.AF_INET)
	message.Index = uint32(attrs.ParentIndex)
	request.AddData(message)
	if attrs.NetNsID >= 0 { // else it is in this namespace
		request.AddData(nl.NewRtAttr(ifaTargetNetNSID, nl.Uint32Attr(uint32(attrs.NetNsID))))
	}
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWADDR)
	if err != nil {
		return false, fmt.Errorf("addresses of the other end of %s: %w", attrs.Name, err)
	}
	for _, a := range answers {
		attributes, err := nl.ParseRouteAttr(a[nl.DeserializeIfAddrmsg(a).Len():])
		if err != nil {
			return false, err
		}
		for _, attribute := range attributes {
			is, ok := netip.AddrFromSlice(attribute.Value)
			if attribute.Attr.Type == unix.IFA_LOCAL && ok && is == address {
				return true, nil
			}
		}
	}
	return false, nil
}
