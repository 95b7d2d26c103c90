package find

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// verdict is how a process gets and sends packets, and by which devices.
type verdict struct {
	datapath Datapath // empty: it does not, as far as can be seen
	why      string
	at       []*device // that it takes packets from by itself: of XDP, TC, TUN, tunnels, AF_PACKET
}

// known reports whether the verdict says where packets go through the process.
func (v *verdict) known() bool { return v.datapath != "" && v.datapath != Sockets }

// judge says how a process gets packets in a namespace that has these devices. held are
// the programs that any process holds: what nobody holds was left by one that pinned it.
func judge(p *process, space uint64, devices []device, held map[uint32]bool) verdict {
	for _, try := range []func() verdict{
		func() verdict { return p.judgeXDP(space, devices) },
		func() verdict { return p.judgeTC(space, devices) },
		func() verdict { return p.judgeTUN(devices) },
		func() verdict { return p.judgeTunnels(devices) },
		func() verdict { return p.judgePinned(devices, held) },
		func() verdict { return p.judgePackets(space, devices) },
	} {
		if v := try(); len(v.at) > 0 {
			return v
		}
	}
	switch {
	case p.bypass != "":
		return verdict{datapath: DPDK, why: "it has " + p.bypass + " open"}
	case p.has(gtpuSocket):
		return verdict{datapath: Sockets, why: "it has a socket for GTP-U, and nothing else that is known"}
	}
	return verdict{}
}

func (p *process) judgeXDP(space uint64, devices []device) verdict {
	v := verdict{datapath: XDP}
	if !p.lives(space) {
		return v
	}
	for i := range devices {
		if d := &devices[i]; d.xdp != 0 && p.programs[d.xdp] {
			v.add(d, fmt.Sprintf("XDP program %d", d.xdp))
		}
	}
	if p.xsks {
		v.datapath = AFXDP
		v.why += ", AF_XDP sockets"
	}
	return v
}

func (p *process) judgeTC(space uint64, devices []device) verdict {
	v := verdict{datapath: TC}
	if !p.lives(space) {
		return v
	}
	for i := range devices {
		d := &devices[i]
		for id := range d.ingress {
			if p.programs[id] && !isInner(d, devices) {
				v.add(d, fmt.Sprintf("program %d at tcx or clsact", id))
				break
			}
		}
	}
	return v
}

func (p *process) judgeTUN(devices []device) verdict {
	v := verdict{datapath: TUN}
	for _, name := range p.tuns {
		for i := range devices {
			if d := &devices[i]; d.name == name && d.kind == "tuntap" {
				if d.ethernet {
					v.datapath = TAP
				}
				v.add(d, "/dev/net/tun")
			}
		}
	}
	return v
}

// judgeTunnels knows the kernel's tunnels by their device. Which process they belong to
// only its sockets show.
func (p *process) judgeTunnels(devices []device) verdict {
	v := verdict{datapath: GTP}
	if !p.has(gtpuSocket) && !p.has(pfcpSocket) {
		return v
	}
	for i := range devices {
		if d := &devices[i]; d.isTunnel() {
			v.add(d, d.kind+" device")
		}
	}
	return v
}

// judgePinned takes programs of XDP that no process holds for those of a UPF that has
// nothing else.
func (p *process) judgePinned(devices []device, held map[uint32]bool) verdict {
	v := verdict{datapath: XDP}
	if !p.has(gtpuSocket) && !p.has(pfcpSocket) {
		return v
	}
	for i := range devices {
		if d := &devices[i]; d.xdp != 0 && !held[d.xdp] {
			v.add(d, fmt.Sprintf("XDP program %d of no process", d.xdp))
		}
	}
	return v
}

func (p *process) judgePackets(space uint64, devices []device) verdict {
	v := verdict{datapath: Packet}
	for _, s := range p.sockets {
		if s.kind != packetSocket || s.space != space {
			continue
		}
		for i := range devices {
			if d := &devices[i]; d.index == s.device {
				v.add(d, "AF_PACKET socket")
			}
		}
	}
	return v
}

// add notes a device once.
func (v *verdict) add(d *device, sign string) {
	for _, other := range v.at {
		if other == d {
			return
		}
	}
	v.at = append(v.at, d)
	if v.why != "" {
		v.why += ", "
	}
	v.why += sign + " at " + d.name
}

// isInner reports whether a veth pair is a UPF's own detour: both of its ends are here,
// and neither has an address or is part of a bridge.
func isInner(d *device, devices []device) bool {
	if !d.isVeth() || d.belowSpace >= 0 || len(d.addrs) > 0 || d.master != 0 {
		return false
	}
	for i := range devices {
		if other := &devices[i]; other.index == d.below {
			return len(other.addrs) == 0 && other.master == 0
		}
	}
	return false
}

// lives reports whether the process is in a namespace, or its GTP-U is: programs that it
// has elsewhere measure others, as a probe's do.
func (p *process) lives(space uint64) bool {
	return p.space == space || slices.ContainsFunc(p.sockets, func(s socket) bool { return s.kind == gtpuSocket && s.space == space })
}

// has reports whether the process has a socket of that kind.
func (p *process) has(kind socketKind) bool {
	for _, s := range p.sockets {
		if s.kind == kind {
			return true
		}
	}
	return false
}

// addresses returns those of the process's sockets of a kind; nil: any, or none.
func (p *process) addresses(kind socketKind) []netip.Addr {
	var list []netip.Addr
	seen := map[netip.Addr]bool{}
	for _, s := range p.sockets {
		if s.kind != kind || seen[s.local] {
			continue
		}
		if s.local.IsUnspecified() {
			return nil
		}
		seen[s.local] = true
		list = append(list, s.local)
	}
	return list
}

// isUPF reports whether a process that has its packets in a namespace is taken for a UPF
// without having been named. One with TUN devices that speaks PFCP elsewhere may be a
// gNB and an SMF in one, as test tools are.
func (p *process) isUPF(v *verdict, space uint64) bool {
	switch v.datapath {
	case XDP, AFXDP, TC, GTP:
		return p.has(pfcpSocket) || p.has(gtpuSocket)
	case TUN, TAP, Packet, DPDK:
		return p.speaks(space)
	}
	return false
}

// speaks reports whether the process has a socket for PFCP in a namespace.
func (p *process) speaks(space uint64) bool {
	return slices.ContainsFunc(p.sockets, func(s socket) bool { return s.kind == pfcpSocket && s.space == space })
}

// describe says what a process is, for errors.
func (p *process) describe(v *verdict) string {
	var signs []string
	if p.has(pfcpSocket) {
		signs = append(signs, "PFCP")
	}
	if p.has(gtpuSocket) {
		signs = append(signs, "GTP-U")
	}
	if v.known() {
		signs = append(signs, v.why)
	}
	return fmt.Sprintf("%s (process %d: %s)", p.command, p.pid, strings.Join(signs, ", "))
}
