package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
)

// usual returns the on-link prefix and the gateway of an IP version, if there is
// no more than that.
func usual(routes []nexthop.Route, is4 bool) (onlink netip.Prefix, gateway netip.Addr, ok bool) {
	for _, r := range routes {
		switch {
		case r.Prefix.Addr().Is4() != is4:
		case len(r.Gateways) == 0 && r.MTU == 0 && !onlink.IsValid() && r.Prefix.Bits() > 0 && (is4 || r.Prefix.Bits() <= 64):
			onlink = r.Prefix
		case len(r.Gateways) == 1 && r.MTU == 0 && r.Prefix.Bits() == 0:
			gateway = r.Gateways[0].Addr
		default:
			return onlink, gateway, false
		}
	}
	return onlink, gateway, true
}

// simple4 sets what a way has of IPv4 in itself, if that is all.
func (n *network) simple4(w *upfN6Way, routes []nexthop.Route) bool {
	onlink, gateway, ok := usual(routes, true)
	if !ok {
		return false
	}
	prefix, mask := uint32(1), uint32(0)
	if onlink.IsValid() {
		a := onlink.Addr().As4()
		prefix, mask = binary.BigEndian.Uint32(a[:]), ^uint32(0)<<(32-onlink.Bits())
	}
	atomic.StoreUint32(&w.OnlinkIp4, prefix)
	atomic.StoreUint32(&w.MaskIp4, mask)
	atomic.StoreUint32(&w.GatewayIp4, n.d.routes.gateway(n.index, gateway))
	return true
}

func (n *network) simple6(w *upfN6Way, routes []nexthop.Route) bool {
	onlink, gateway, ok := usual(routes, false)
	if !ok {
		return false
	}
	prefix, mask := uint64(1), uint64(0)
	if onlink.IsValid() {
		a := onlink.Addr().As16()
		prefix, mask = binary.BigEndian.Uint64(a[:]), ^uint64(0)<<(64-onlink.Bits())
	}
	atomic.StoreUint64(&w.OnlinkIp6, prefix)
	atomic.StoreUint64(&w.MaskIp6, mask)
	atomic.StoreUint32(&w.GatewayIp6, n.d.routes.gateway(n.index, gateway))
	return true
}
