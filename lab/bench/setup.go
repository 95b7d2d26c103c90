package bench

import (
	"slices"

	"plumbline/upf"
)

// upfConfig is the UPF's configuration for the topology: everything that the
// measurement does not ask for is as the UPF has it by default.
func (r *run) upfConfig() *upf.Config {
	t := r.topology
	c := upf.Default()
	c.NodeID = t.Config.N4UPF.String()
	c.N4.Address = t.Config.N4UPF
	c.N3 = upf.N3{Device: t.N3.UPF.Device, Address: t.N3.UPF.Address.Addr()}
	c.N6 = upf.N6{
		Device:  t.N6.UPF.Device,
		Gateway: t.N6.Peer.Address.Addr(), Gateway6: t.N6.Peer.Address6.Addr(),
	}
	c.Datapath, c.XDP.Mode = r.Datapath, r.XDPMode
	c.XDP.Spread = r.Spread
	c.TC.SuperPackets = r.Datapath == upf.DatapathTC // package gnb takes them
	if r.Datapath == upf.DatapathTUN || r.Datapath == upf.DatapathTAP {
		c.TUN.Routes = t.Config.UEPools // else there is one for each session
	}
	c.Sessions.Max = max(c.Sessions.Max, slices.Max(r.Sessions))
	return c
}

// mtu is that of Ethernet, or what the frames need: a user packet has an IPv4
// and a UDP header, and on N3 outer IPv4, UDP and GTP-U headers with a PDU
// Session Container.
func (r *run) mtu() int {
	const ethernet, ipv4, udp, gtpu = 1500, 20, 8, 16
	return max(ethernet, r.PayloadOctets+2*(ipv4+udp)+gtpu)
}
