package rules

import (
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Capabilities is what a datapath can do, as the session manager knows it.
func Capabilities(can *api.Capabilities) session.Capabilities {
	return session.Capabilities{
		TunnelToTunnel: can.GetTunnelToTunnel(), Filters: can.GetFilters(), Usage: can.GetUsage(),
		Buffering: can.GetBuffering(), EndMarkers: can.GetEndMarker(), IPv6Tunnels: len(can.GetN3Ipv6()) > 0,
		FramedRoutes: can.GetFramedRoutes(), Hosts: can.GetHosts(), Marking: can.GetMarking(), PacketRate: can.GetPacketRate(),
		GBR: can.GetGbr(), Duplicate: can.GetDuplicate(), Redirect: can.GetRedirect(), Ethernet: can.GetEthernet(),
		Unstructured: can.GetUnstructured(), Encapsulations: can.GetEncapsulations(),
		DroppedDownlink: can.GetDroppedDownlink(), BeforeEnforcement: can.GetBeforeEnforcement(), Policies: len(can.GetForwardingPolicies()) > 0,
		ContainerDeletion: can.GetContainerDeletion(),
	}
}
