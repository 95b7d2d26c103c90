package conformance

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// refusal is the common session with a change that no datapath takes.
func refusal(name string, why error, rule api.RuleType, id uint32, f func(s *api.Session)) script {
	return script{name + " is refused", []step{
		refuse(change(session(1, 1, ue1), f), why, rule, id),
		frames(1, upUnknown),
	}}
}

const (
	pdrRule = api.RuleType_PDR_RULE
	farRule = api.RuleType_FAR_RULE
)

// refusals: what is inconsistent, or what nobody does.
var refusals = []script{
	refusal("a PDR twice", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) { s.Rules[1].PdrId = 1 }),
	refusal("PDRs out of order", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) { s.Rules[1].Precedence = 1 }),
	refusal("a QER twice", datapath.ErrUnsupported, api.RuleType_QER_RULE, 1, func(s *api.Session) { s.Qers = append(s.Qers, s.Qers[0]) }),
	refusal("a URR that is not there", datapath.ErrNoRule, pdrRule, 1, func(s *api.Session) { s.Rules[0].UrrIds = []uint32{4} }),
	refusal("a BAR that is not there", datapath.ErrNoRule, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF, BarId: 4}
	}),
	refusal("TEID 0", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) { s.Rules[0].Detect.FTeid.Teid = 0 }),
	refusal("ACCESS without F-TEID", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) { s.Rules[0].Detect.FTeid = nil }),
	refusal("neither F-TEID nor UE IP address", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) { s.Rules[1].Detect.UeAddress = nil }),
	refusal("QFI 64", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) { s.Rules[0].Detect.Qfis = []uint32{64} }),
	refusal("QFI of a bare packet", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) { s.Rules[1].Detect.Qfis = []uint32{9} }),
	refusal("a UE prefix that is not global unicast", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) {
		s.Rules[1].Detect.UeAddress.Ipv6Prefix = 0xfe80 << 48
	}),
	refusal("a filter with a prefix of 33 bits", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) {
		s.Rules[0].Detect.Filters = []*api.Filter{{Remote: &api.Prefix{Address: make([]byte, 4), Bits: 33}}}
	}),
	refusal("a filter with an address of 5 octets", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) {
		s.Rules[0].Detect.Filters = []*api.Filter{{Local: &api.Prefix{Address: make([]byte, 5)}}}
	}),
	refusal("a filter with ports the wrong way round", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) {
		s.Rules[0].Detect.Filters = []*api.Filter{{RemotePorts: ports(2, 1)}}
	}),
	refusal("a tunnel that is not taken off", datapath.ErrUnsupported, pdrRule, 1, func(s *api.Session) { s.Rules[0].OuterHeaderRemoval = false }),
	refusal("Outer Header Removal of a bare packet", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) { s.Rules[1].OuterHeaderRemoval = true }),
	refusal("GTP-U Extension Header Deletion of a bare packet", datapath.ErrUnsupported, pdrRule, 2, func(s *api.Session) { s.Rules[1].DropsContainer = true }),
	refusal("ACCESS without Outer Header Creation", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation = nil
	}),
	refusal("from N6 to N6", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward = &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_SGI_LAN}
	}),
	refusal("Outer Header Creation with TEID 0", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation.Teid = 0
	}),
	refusal("Outer Header Creation to nowhere", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation.Ipv4 = 0
	}),
	refusal("Outer Header Creation to two addresses", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		s.Rules[1].Forward.OuterHeaderCreation.Ipv6 = GNBAddress6.AsSlice()
	}),
	refusal("DSCP 64", datapath.ErrUnsupported, farRule, 2, func(s *api.Session) {
		dscp := uint32(64)
		s.Rules[1].Forward.Dscp = &dscp
	}),
	refusal("a mark of QFI 64", datapath.ErrUnsupported, api.RuleType_QER_RULE, 1, func(s *api.Session) { s.Qers[0].Qfi = 64 }),
	refusal("an MBR above what a meter knows", datapath.ErrUnsupported, api.RuleType_QER_RULE, 1, func(s *api.Session) {
		s.Qers[0].DownlinkMbrBps = datapath.MaxMBR + 1
	}),
}
