package stages

import (
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Frame is what becomes of a frame.
type Frame struct {
	Reason datapath.Reason // ReasonNone: Packet is sent
	Packet []byte          // an IP packet
	Tunnel bool            // it leaves towards a GTP-U peer, not on N6
	Bridge bool            // Packet is a frame, on an Ethernet data network
	SEID   uint64          // of the session whose PDR matched; 0: none did
	PDRID  uint32
}

// FromN3 treats a frame that arrives where GTP-U does.
func (u *UPF) FromN3(frame []byte) Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.paused {
		return Frame{Reason: datapath.PassHost}
	}
	u.stages.N6.Expire(u.cfg.Now())
	d, reason := u.datagram(frame)
	if reason != datapath.ReasonNone {
		return u.finish(Out{Reason: reason})
	}
	return u.tunnelled(d)
}

// tunnelled treats a GTP-U message.
func (u *UPF) tunnelled(d Datagram) Frame {
	out := u.stages.Tunnelled(d)
	u.answer(d, out.Reason)
	return u.finish(out)
}

// answer sends what the message asks for, if any, but not too much of it.
func (u *UPF) answer(d Datagram, reason datapath.Reason) {
	if reason != datapath.PassSignalling && !u.restart.MayAnswer(reason) {
		return
	}
	for _, d := range u.stages.Signal(d, reason) {
		if u.answers.Allow(u.cfg.Now()) {
			u.signal(d)
		}
	}
}

// signal sends a message of the UPF's own.
func (u *UPF) signal(d Datagram) {
	if !datapath.Has(u.cfg.Endpoints, d.To.Addr()) {
		u.cfg.Send(d.Packet())
		return
	}
	if d.Pass() == datapath.ReasonNone {
		u.answer(d, datapath.PassSignalling)
	}
}

// FromN6 treats a frame that arrives from the first data network.
func (u *UPF) FromN6(frame []byte) Frame { return u.FromNetwork(1, frame) }

// FromNetwork treats a frame that arrives from the data network with this number.
func (u *UPF) FromNetwork(network int, frame []byte) Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.paused {
		return Frame{Reason: datapath.PassHost}
	}
	u.stages.N6.Expire(u.cfg.Now())
	if len(frame) < inet.LenEthernet {
		return u.finish(Out{Reason: datapath.PassHost})
	}
	packet := frame[inet.LenEthernet:]
	other := map[uint16]byte{inet.EtherIPv4: 6, inet.EtherIPv6: 4}[binary.BigEndian.Uint16(frame[12:])]
	if other == 0 || len(packet) > 0 && packet[0]>>4 == other {
		return u.finish(Out{Reason: datapath.PassHost})
	}
	return u.finish(u.stages.Bare(network, packet))
}

// FromBoth treats a frame that arrives on a device that is both, N3 and that of
// the data network with this number.
func (u *UPF) FromBoth(network int, frame []byte) Frame {
	f := u.FromN3(frame)
	if f.Reason == datapath.PassHost {
		return u.FromNetwork(network, frame)
	}
	return f
}

// FromEthernet treats a frame that arrives from the Ethernet data network with
// this number. Each session to which it goes has an outcome.
func (u *UPF) FromEthernet(network int, frame []byte) []Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	var frames []Frame
	if u.paused {
		return nil
	}
	for _, o := range u.stages.Ethernet(network, frame) {
		frames = append(frames, u.finish(o))
	}
	return frames
}

func (u *UPF) finish(o Out) Frame {
	if o.Reason != datapath.ReasonNone {
		u.drops[o.Reason]++
	}
	u.drops[datapath.DropCopy] += uint64(o.Lost)
	u.send(o.Others)
	u.send(o.Copies)
	for _, b := range o.Bridged {
		if f := u.finish(b); f.Reason == datapath.ReasonNone {
			u.cfg.Send(f.Packet)
		}
	}
	if f, again := u.again(o.Sent()); again {
		return f
	}
	f := Frame{Reason: o.Reason, Packet: o.Packet, Tunnel: o.Tunnelled()}
	if o.Rule != nil {
		f.SEID, f.PDRID = o.Rule.SEID, o.Rule.PDRID
		f.Bridge = o.Reason == datapath.ReasonNone && o.Rule.Ethernet != nil && o.Rule.Outer == nil
	}
	return f
}

// again treats a packet that leaves for an F-TEID of the UPF itself; false: it does
// not.
func (u *UPF) again(s Sent) (Frame, bool) {
	d, reason := u.stages.Again(s)
	switch {
	case d == nil:
		return Frame{}, false
	case reason != datapath.ReasonNone:
		return u.finish(Out{Reason: reason}), true
	}
	return u.tunnelled(*d), true
}

func (u *UPF) send(sent []Sent) {
	for _, s := range sent {
		if f, again := u.again(s); !again {
			u.cfg.Send(s.Packet)
		} else if f.Reason == datapath.ReasonNone {
			u.cfg.Send(f.Packet)
		}
	}
}

// datagram returns the UDP datagram of a frame to a GTP-U address and port.
func (u *UPF) datagram(frame []byte) (Datagram, datapath.Reason) {
	if len(frame) < inet.LenEthernet {
		return Datagram{}, datapath.PassHost
	}
	ip := frame[inet.LenEthernet:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case inet.EtherIPv4:
		if len(ip) >= inet.LenIPv4 && ip[0]>>4 == 4 {
			return u.datagram4(ip)
		}
	case inet.EtherIPv6:
		if len(ip) >= inet.LenIPv6 && ip[0]>>4 == 6 {
			return u.datagram6(ip)
		}
	}
	return Datagram{}, datapath.PassHost
}

func (u *UPF) datagram4(ip user) (Datagram, datapath.Reason) {
	if !u.local(ip.destination()) || ip[9] != inet.ProtoUDP {
		return Datagram{}, datapath.PassHost
	}
	if binary.BigEndian.Uint16(ip[6:])&maskFragment != 0 {
		return Datagram{}, datapath.PassFragment
	}
	packet, reason := parseIPv4(ip)
	if reason != datapath.ReasonNone {
		return Datagram{}, reason
	}
	return packet.udp(4 * int(packet[0]&0xf))
}

// datagram6 takes datagrams without extension headers: those with some are left
// to the host, which steps over them.
func (u *UPF) datagram6(ip user) (Datagram, datapath.Reason) {
	if !u.local(ip.destination()) || ip[6] != inet.ProtoUDP && ip[6] != extFragment {
		return Datagram{}, datapath.PassHost
	}
	if ip[6] == extFragment {
		return Datagram{}, datapath.PassFragment
	}
	packet, reason := parseUser(ip)
	if reason != datapath.ReasonNone {
		return Datagram{}, reason
	}
	return packet.udp(inet.LenIPv6)
}

// udp returns the datagram to the GTP-U port whose header is at octet at. Its
// checksum is not looked at: the user packet has its own.
func (u user) udp(at int) (Datagram, datapath.Reason) {
	udp := u[at:]
	if len(udp) < inet.LenUDP || binary.BigEndian.Uint16(udp[2:]) != gtpu.Port {
		return Datagram{}, datapath.PassHost
	}
	return Datagram{
		From:    netip.AddrPortFrom(u.source(), binary.BigEndian.Uint16(udp)),
		To:      netip.AddrPortFrom(u.destination(), gtpu.Port),
		Payload: udp[inet.LenUDP:],
	}, datapath.ReasonNone
}
