package n4

import (
	"log/slog"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// Capabilities is what the datapaths, and the session manager as it is
// configured, can do.
type Capabilities struct {
	*api.Capabilities      // nil: nothing
	UEAddresses       bool // UE addresses are allocated: session.Config.Pools
	Predefined        bool // there are predefined rules: session.Config.Predefined
}

// features returns the UP function features that are advertised: each of them
// is done by the datapath, the session manager and this package.
// Source: TS 29.244 V18.6.0, 8.2.25.
func (c *Config) features(can Capabilities) pfcp.UPFunctionFeatures {
	f := pfcp.UPFeatureFTUP | pfcp.UPFeaturePDIU | pfcp.UPFeatureBUNDL | pfcp.UPFeatureSSET | pfcp.UPFeatureMPAS
	for _, x := range []struct {
		can bool
		f   pfcp.UPFunctionFeatures
	}{
		{can.GetFilters(), pfcp.UPFeaturePFDM | pfcp.UPFeaturePFDE},
		{can.GetUsage(), pfcp.UPFeatureMNOP | pfcp.UPFeatureVTIME | pfcp.UPFeatureQUOAC | pfcp.UPFeatureEPFAR},
		{can.GetBuffering(), pfcp.UPFeatureDDND | pfcp.UPFeatureDLBD | pfcp.UPFeatureUDBC},
		{can.GetBuffering() && can.GetDroppedDownlink(), pfcp.UPFeatureDDDS},
		{can.GetEndMarker(), pfcp.UPFeatureEMPU},
		{can.UEAddresses, pfcp.UPFeatureUEIP},
		{can.Predefined, pfcp.UPFeatureADPDP},
		{can.GetFilters(), pfcp.UPFeatureMTE},
		{can.GetFramedRoutes(), pfcp.UPFeatureFRRT | pfcp.UPFeatureIP6PL},
		{can.GetRedirect(), pfcp.UPFeatureTREU},
		{len(can.GetForwardingPolicies()) > 0, pfcp.UPFeatureTRST},
		{can.GetReplacement(), pfcp.UPFeatureIPREP},
	} {
		if x.can {
			f |= x.f
		}
	}
	return f &^ c.Hide
}

// features is what is advertised now.
func (e *Endpoint) features() pfcp.UPFunctionFeatures {
	return pfcp.UPFunctionFeatures(e.advertised.Load())
}

// SetCapabilities says that the datapath can do something else now: agents have
// come or gone. If that changes what is advertised, all CP functions are told.
// Source: TS 29.244 V18.6.0, 6.2.7.3.
func (e *Endpoint) SetCapabilities(can Capabilities) {
	f := e.config.features(can)
	if e.advertised.Swap(uint64(f)) == uint64(f) {
		return
	}
	for _, a := range e.peers.list() {
		e.background.Go(func() { e.tellFeatures(a) })
	}
}

// tellFeatures tells a CP function our features if it does not know them. What
// fails is tried again after the next heartbeat, a few times: some never answer.
func (e *Endpoint) tellFeatures(a *association) {
	for a.told.features.Load() != e.advertised.Load() && a.told.busy.CompareAndSwap(false, true) {
		f := e.features()
		if !a.told.mayTry(f) {
			a.told.busy.Store(false)
			return
		}
		a.told.features.Store(toldUnknown) // it may hear us without our hearing it
		err := e.tell(a.lifetime, a, &pfcp.AssociationUpdateRequest{NodeID: e.nodeID, UPFunctionFeatures: pfcp.Some(f)})
		if err == nil {
			a.told.features.Store(uint64(f))
		}
		a.told.busy.Store(false)
		if err != nil {
			e.log.event(kindAssociation, slog.LevelWarn, "n4: features not told", "node", a.node, "addr", a.addr, "error", err)
			return
		}
	}
}

// toldUnknown are features that nobody has.
const toldUnknown = ^uint64(0)

// told is what a CP function knows of us.
type told struct {
	features atomic.Uint64
	busy     atomic.Bool // it is being told

	// How often it was told the same; for the one that has set busy.
	last  pfcp.UPFunctionFeatures
	tries int
}

// maxTold is how often the same features are sent without an answer.
const maxTold = 3

// mayTry counts one more try to tell f, if there may be one.
func (t *told) mayTry(f pfcp.UPFunctionFeatures) bool {
	if t.last != f {
		t.last, t.tries = f, 0
	}
	t.tries++
	return t.tries <= maxTold
}
