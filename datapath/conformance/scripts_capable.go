package conformance

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// capable are scripts for datapaths that can do something. Who cannot refuses it
// (package datapath, TestEachCapability), and does not run them.
type capable struct {
	can     func(has *api.Capabilities) bool
	scripts []script
}

var capableScripts = []capable{
	{(*api.Capabilities).GetGbr, gbrScripts},
	{(*api.Capabilities).GetPacketRate, packetRateScripts},
	{(*api.Capabilities).GetMarking, markingScripts},
	{(*api.Capabilities).GetBeforeEnforcement, beforeScripts},
	{(*api.Capabilities).GetFramedRoutes, routeScripts},
	{(*api.Capabilities).GetHosts, hostScripts},
	{(*api.Capabilities).GetEthernet, etherScripts},
}

// scriptsFor returns those that a datapath of these capabilities runs.
func scriptsFor(has *api.Capabilities) []script {
	all := slices.Clone(scripts)
	for _, c := range capableScripts {
		if c.can(has) {
			all = append(all, c.scripts...)
		}
	}
	return all
}
