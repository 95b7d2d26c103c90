package datapath

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// checkForward looks at the FAR of r.
func checkForward(s *api.Session, r *api.Rule, has *api.Capabilities) error {
	f := r.GetForward()
	if what := lacksForward(s, f, has); what != "" {
		return farError(r, "%s: %w", what, ErrUnsupported)
	}
	for _, d := range f.GetDuplicates() {
		if err := checkDuplicate(s, d, has); err != nil {
			return farError(r, "copies %w", err)
		}
	}
	if err := checkRedirect(f.GetRedirect()); err != nil {
		return farError(r, "redirect %w", err)
	}
	if f.GetRedirect() != nil && s.GetPduType() != api.PDUType_IP {
		return farError(r, "redirect of what is no IP packet: %w", ErrUnsupported)
	}
	if f.GetRedirect() != nil && !Uplink(r.GetDetect().GetSourceInterface()) {
		return farError(r, "redirect of packets from %v: %w", r.GetDetect().GetSourceInterface(), ErrUnsupported)
	}
	if err := checkReplacement(s, f); err != nil {
		return farError(r, "IP Address and Port number Replacement %w", err)
	}
	switch f.GetAction() {
	case api.Action_DROP:
		return nil
	case api.Action_BUFF:
		return checkBuffer(s, r)
	case api.Action_FORW:
	default:
		return farError(r, "Apply Action %d: %w", f.GetAction(), ErrUnsupported)
	}
	return checkTowards(s, r, has)
}

// checkTowards looks at where a FAR with FORW sends.
func checkTowards(s *api.Session, r *api.Rule, has *api.Capabilities) error {
	f := r.GetForward()
	tunnelled, ohc, to := r.GetDetect().GetFTeid() != nil, f.GetOuterHeaderCreation(), f.GetDestinationInterface()
	ethernet := s.GetPduType() == api.PDUType_ETHERNET
	switch {
	case api.Interface_name[int32(to)] == "":
		return farError(r, "Destination Interface %d: %w", to, ErrUnsupported)
	case tunnelled && !r.GetOuterHeaderRemoval():
		return pdrError(r, "no Outer Header Removal: %w", ErrUnsupported)
	case ohc == nil && s.GetPduType() == api.PDUType_UNSTRUCTURED:
		return farError(r, "no Outer Header Creation for T-PDUs that are no IP packets: %w", ErrUnsupported)
	case isWrap(ohc) && (!tunnelled || to == api.Interface_ACCESS || to == api.Interface_CP_FUNCTION):
		return farError(r, "Outer Header Creation %v from %v to %v: %w", ohc.GetEncapsulation(), r.GetDetect().GetSourceInterface(), to, ErrUnsupported)
	case ohc == nil && (to == api.Interface_ACCESS || to == api.Interface_CP_FUNCTION):
		return farError(r, "no Outer Header Creation towards %v: %w", to, ErrUnsupported)
	case ohc == nil && !tunnelled && !ethernet:
		// Neither F-TEID nor Outer Header Creation would make the UPF a router
		// between two data networks: N6 to N6-LAN, which needs a next hop that
		// the contract does not name.
		return farError(r, "no Outer Header Creation for Source Interface %v without F-TEID: %w",
			r.GetDetect().GetSourceInterface(), ErrUnsupported)
	case ohc != nil && tunnelled && !has.GetTunnelToTunnel() && ohc.GetEncapsulation() == api.Encapsulation_GTPU:
		return pdrError(r, "from tunnel to tunnel (FAR %d): %w", r.GetFarId(), ErrUnsupported)
	case f.Dscp != nil && f.GetDscp() > 63:
		return farError(r, "DSCP %d: %w", f.GetDscp(), ErrUnsupported)
	case ohc != nil && f.GetForwardingPolicy() != "":
		return farError(r, "Forwarding Policy %s with Outer Header Creation: %w", f.GetForwardingPolicy(), ErrUnsupported)
	case ohc == nil && f.GetNetworkInstance() != "" && !knows(has, f.GetNetworkInstance()):
		return farError(r, "Network Instance %s: %w", f.GetNetworkInstance(), ErrUnsupported)
	case tunnelled && isTunnel(ohc, r.GetDetect().GetFTeid()):
		return farError(r, "Outer Header Creation to the PDR's own F-TEID, TEID %#x: %w", ohc.GetTeid(), ErrUnsupported)
	}
	if ohc == nil {
		return nil
	}
	if err := checkOuter(s, ohc, has); err != nil {
		return farError(r, "Outer Header Creation %w", err)
	}
	return nil
}

// SlowOnly reports whether r asks for what no fast path does: the slow path, which is the
// same for all of them, does all of it. A new element of a FAR begins here.
func SlowOnly(s *api.Session, r *api.Rule) bool {
	f := r.GetForward()
	return f.GetRedirect() != nil || f.GetReplacement() != nil ||
		f.GetDestinationInterface() == api.Interface_CP_FUNCTION || // tunnels without extension headers
		f.GetOuterHeaderCreation().GetEncapsulation() != api.Encapsulation_GTPU ||
		r.GetUnwrap() != api.Unwrap_UNWRAP_NONE || r.GetDropsContainer() ||
		s.GetPduType() == api.PDUType_UNSTRUCTURED
}

// isEndpoint reports whether ohc is towards the UPF itself.
func isEndpoint(ohc *api.OuterHeaderCreation, has *api.Capabilities) bool {
	return ohc.GetIpv4() != 0 && slices.Contains(has.GetN3Ipv4(), ohc.GetIpv4()) ||
		slices.ContainsFunc(has.GetN3Ipv6(), func(a []byte) bool { return bytes.Equal(a, ohc.GetIpv6()) })
}

// isTunnel reports whether ohc is into the tunnel that ends at f.
func isTunnel(ohc *api.OuterHeaderCreation, f *api.FTEID) bool {
	return ohc.GetTeid() == f.GetTeid() &&
		(ohc.GetIpv4() != 0 && ohc.GetIpv4() == f.GetIpv4() || len(ohc.GetIpv6()) > 0 && bytes.Equal(ohc.GetIpv6(), f.GetIpv6()))
}

// isWrap reports whether ohc is UDP/IP or IP, towards a data network.
func isWrap(ohc *api.OuterHeaderCreation) bool {
	return ohc.GetEncapsulation() == api.Encapsulation_UDP || ohc.GetEncapsulation() == api.Encapsulation_PLAIN_IP
}

// tooManyDuplicates names what a FAR with more than MaxDuplicates asks for.
var tooManyDuplicates = fmt.Sprintf("more than %d copies", MaxDuplicates)

// lacksForward returns what of the FAR this datapath cannot do for s, or "".
func lacksForward(s *api.Session, f *api.Forward, has *api.Capabilities) string {
	return lacks(
		need{f.GetAction() == api.Action_BUFF, has.GetBuffering(), "BUFF"},
		need{len(f.GetDuplicates()) > 0, has.GetDuplicate(), "DUPL"},
		need{len(f.GetDuplicates()) > MaxDuplicates, false, tooManyDuplicates},
		need{f.GetRedirect() != nil, has.GetRedirect(), "redirect"},
		need{f.GetReplacement() != nil, has.GetReplacement(), "IP Address and Port number Replacement"},
		need{f.GetNotifyDiscarded(), has.GetDroppedDownlink(), "notice of discarded packets"},
		need{f.GetProxyArp() || f.GetProxyNd(), has.GetEthernet() && s.GetPduType() == api.PDUType_ETHERNET, "proxying of ARP and Neighbour Discovery"},
		need{unknownPolicy(f, has), false, "unknown Forwarding Policy"},
	)
}

func unknownPolicy(f *api.Forward, has *api.Capabilities) bool {
	unknown := func(name string) bool {
		return name != "" && !slices.Contains(has.GetForwardingPolicies(), name)
	}
	return unknown(f.GetForwardingPolicy()) ||
		slices.ContainsFunc(f.GetDuplicates(), func(d *api.Duplicate) bool { return unknown(d.GetForwardingPolicy()) })
}

func checkDuplicate(s *api.Session, d *api.Duplicate, has *api.Capabilities) error {
	ohc, to := d.GetOuterHeaderCreation(), d.GetDestinationInterface()
	switch {
	case api.Interface_name[int32(to)] == "":
		return fmt.Errorf("to Destination Interface %d: %w", to, ErrUnsupported)
	case ohc == nil && (to == api.Interface_ACCESS || to == api.Interface_CP_FUNCTION):
		return fmt.Errorf("without Outer Header Creation towards %v: %w", to, ErrUnsupported)
	case d.Dscp != nil && d.GetDscp() > 63:
		return fmt.Errorf("with DSCP %d: %w", d.GetDscp(), ErrUnsupported)
	case ohc == nil && s.GetPduType() == api.PDUType_UNSTRUCTURED:
		return fmt.Errorf("without Outer Header Creation of what is no IP packet: %w", ErrUnsupported)
	case ohc == nil && d.GetNetworkInstance() != "" && !knows(has, d.GetNetworkInstance()):
		return fmt.Errorf("to Network Instance %s: %w", d.GetNetworkInstance(), ErrUnsupported)
	case ohc == nil:
		return nil
	case isEndpoint(ohc, has): // where a rule may copy it again, and so on
		return fmt.Errorf("to an F-TEID of the UP function: %w", ErrUnsupported)
	}
	return checkOuter(s, ohc, has)
}

// checkRedirect: a URL that can stand in an HTTP header, or a host of one or of
// each IP version.
// Source: RFC 3986, 2.
func checkRedirect(r *api.Redirect) error {
	if r == nil {
		return nil
	}
	host := r.GetIpv4() != 0 || len(r.GetIpv6()) > 0
	odd := strings.ContainsFunc(r.GetUrl(), func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", c) })
	switch {
	case host == (r.GetUrl() != ""):
		return fmt.Errorf("to URL %.40q and host %#x, %x: %w", r.GetUrl(), r.GetIpv4(), r.GetIpv6(), ErrUnsupported)
	case odd || len(r.GetUrl()) > 1024:
		return fmt.Errorf("to URL %.40q: %w", r.GetUrl(), ErrUnsupported)
	case len(r.GetIpv6()) != 0 && len(r.GetIpv6()) != 16:
		return fmt.Errorf("to address %x: %w", r.GetIpv6(), ErrUnsupported)
	}
	return nil
}

// checkReplacement: in IP packets that are not redirected, by what fits into their headers.
func checkReplacement(s *api.Session, f *api.Forward) error {
	r := f.GetReplacement()
	switch to, from := len(r.GetDestinationIpv6()), len(r.GetSourceIpv6()); {
	case r == nil:
		return nil
	case s.GetPduType() != api.PDUType_IP:
		return fmt.Errorf("in what is no IP packet: %w", ErrUnsupported)
	case f.GetRedirect() != nil:
		return fmt.Errorf("beside Redirect Information: %w", ErrUnsupported)
	case to != 0 && to != 16, from != 0 && from != 16, r.GetDestinationPort() > 65535, r.GetSourcePort() > 65535:
		return fmt.Errorf("by %x port %d, from %x port %d: %w", r.GetDestinationIpv6(), r.GetDestinationPort(), r.GetSourceIpv6(), r.GetSourcePort(), ErrUnsupported)
	}
	return nil
}

// checkOuter looks at an Outer Header Creation of any kind.
func checkOuter(s *api.Session, ohc *api.OuterHeaderCreation, has *api.Capabilities) error {
	kind := ohc.GetEncapsulation()
	ethernet := s.GetPduType() == api.PDUType_ETHERNET
	what := lacks(
		need{kind == api.Encapsulation_UDP || kind == api.Encapsulation_PLAIN_IP, has.GetEncapsulations(), "of an outer header other than GTP-U"},
		need{kind == api.Encapsulation_TAG || ohc.CTag != nil || ohc.STag != nil, has.GetEthernet() && ethernet, "of tags"},
		need{api.Encapsulation_name[int32(kind)] == "", false, "of an unknown kind"},
	)
	switch {
	case what != "":
		return fmt.Errorf("%s: %w", what, ErrUnsupported)
	case ohc.GetCTag() > 0xffff || ohc.GetSTag() > 0xffff:
		return fmt.Errorf("with tags %#x, %#x: %w", ohc.GetCTag(), ohc.GetSTag(), ErrUnsupported)
	case ohc.GetPort() > 65535 || (ohc.GetPort() != 0) != (kind == api.Encapsulation_UDP):
		return fmt.Errorf("of %v to port %d: %w", kind, ohc.GetPort(), ErrUnsupported)
	case kind == api.Encapsulation_GTPU:
		return checkTunnel(ohc, has)
	case ohc.GetTeid() != 0:
		return fmt.Errorf("of %v with TEID %#x: %w", kind, ohc.GetTeid(), ErrUnsupported)
	case kind == api.Encapsulation_TAG:
		return nil
	case kind == api.Encapsulation_PLAIN_IP && s.GetPduType() == api.PDUType_UNSTRUCTURED:
		return fmt.Errorf("of %v around T-PDUs that are no IP packets: %w", kind, ErrUnsupported)
	}
	return checkHost(ohc)
}

// checkTunnel looks at a GTP-U tunnel into which the datapath is to send.
func checkTunnel(ohc *api.OuterHeaderCreation, has *api.Capabilities) error {
	if ohc.GetTeid() == 0 {
		return fmt.Errorf("with TEID 0: %w", ErrUnsupported)
	}
	return checkPeer(ohc, has)
}

// checkPeer looks at a host to which the datapath is to send: it needs an address
// of its own of the same IP version.
func checkPeer(ohc *api.OuterHeaderCreation, has *api.Capabilities) error {
	if err := checkHost(ohc); err != nil {
		return err
	}
	v4, v6 := ohc.GetIpv4() != 0, len(ohc.GetIpv6()) > 0
	switch {
	case v4 && len(has.GetN3Ipv4()) == 0:
		return fmt.Errorf("to %#x: no endpoint over IPv4: %w", ohc.GetIpv4(), ErrUnsupported)
	case v6 && len(has.GetN3Ipv6()) == 0:
		return fmt.Errorf("to %x: no endpoint over IPv6: %w", ohc.GetIpv6(), ErrUnsupported)
	}
	return nil
}

// checkHost looks at the address of a host.
func checkHost(ohc *api.OuterHeaderCreation) error {
	v4, v6 := ohc.GetIpv4() != 0, len(ohc.GetIpv6()) > 0
	if v4 == v6 || v6 && len(ohc.GetIpv6()) != 16 {
		return fmt.Errorf("to %#x and %x: want one address: %w", ohc.GetIpv4(), ohc.GetIpv6(), ErrUnsupported)
	}
	return nil
}

func checkBuffer(s *api.Session, r *api.Rule) error {
	f := r.GetForward()
	switch {
	case r.GetDetect().GetFTeid() != nil && !r.GetOuterHeaderRemoval():
		return pdrError(r, "no Outer Header Removal: %w", ErrUnsupported)
	case f.GetBarId() != 0 && FindBAR(s, f.GetBarId()) == nil:
		return farError(r, "BAR %d: %w", f.GetBarId(), ErrNoRule)
	}
	return nil
}

// farElements are those of [Elements] that a FAR has.
var farElements = []Element{
	{"FAR", "Apply Action: DROP", "8.2.26", func(s *api.Session) { up(s).Forward.Action = api.Action_DROP }, Done, Program, Vectors, Pipeline},
	{"FAR", "Apply Action: FORW", "8.2.26", func(s *api.Session) { up(s).Forward.Action = api.Action_FORW }, Done, Program, Vectors, Pipeline},
	{"FAR", "none yet, or FORW without its tunnel", "7.5.2.2, 7.5.2.3", func(s *api.Session) {
		down(s).Forward = &api.Forward{Incomplete: true}
	}, Done, Program, Vectors, Pipeline},
	{"FAR", "DROP since a quota is used up", "5.2.2.2.1", func(s *api.Session) {
		down(s).Forward = &api.Forward{Spent: true}
	}, Done, Program, Vectors, Pipeline},
	{"FAR", "Apply Action: BUFF, NOCP", "8.2.26", func(s *api.Session) { down(s).Forward.Action, down(s).Forward.Notify = api.Action_BUFF, true }, Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "Apply Action: BDPN, DDPN", "8.2.26", func(s *api.Session) {
		down(s).Forward.Action, down(s).Forward.NotifyDiscarded = api.Action_BUFF, true
	}, Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "Apply Action: DUPL", "7.5.2.3-3", func(s *api.Session) {
		up(s).Forward.Duplicates = []*api.Duplicate{{OuterHeaderCreation: down(s).GetForward().GetOuterHeaderCreation()}}
	}, Done, Program, SlowPath, SlowPath},
	{"FAR", "Outer Header Creation: GTP-U/UDP/IPv4", "8.2.56", func(*api.Session) {}, Done, Program, Vectors, Pipeline},
	{"FAR", "Outer Header Creation: GTP-U/UDP/IPv6", "8.2.56", func(s *api.Session) {
		down(s).Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 1, Ipv6: []byte{0x20, 1, 0xd, 0xb8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}
	}, Done, Program, Vectors, Pipeline},
	{"FAR", "Outer Header Creation out of a tunnel: N9, S5/S8-U, indirect forwarding", "8.2.56", func(s *api.Session) {
		up(s).Detect.UeAddress = &api.UEAddress{Ipv4: up(s).GetDetect().GetUeAddress().GetIpv4()}
		up(s).Forward.OuterHeaderCreation = down(s).GetForward().GetOuterHeaderCreation()
	}, Done, Program, Vectors, Pipeline},
	{"FAR", "Outer Header Creation: UDP/IP, IP", "8.2.56", overUDP, Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "Outer Header Creation: C-TAG, S-TAG", "8.2.56", framed(func(s *api.Session) {
		up(s).Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG, CTag: number(1)}
	}), Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "Transport Level Marking", "8.2.12", func(s *api.Session) { down(s).Forward.Dscp = number(46) }, Done, Program, Vectors, Pipeline},
	{"FAR", "Redirect Information", "8.2.20", func(s *api.Session) { up(s).Forward.Redirect = &api.Redirect{Url: "http://example.org/"} }, Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "IP Address and Port number Replacement", "8.2.200", func(s *api.Session) {
		up(s).Forward.Replacement = &api.Replacement{DestinationIpv4: 0xc6120009, DestinationPort: 8080}
	}, Done, SlowPath, SlowPath, SlowPath},
	{"FAR", "Proxying, beside the slow path's answers", "8.2.97", framed(func(s *api.Session) {
		up(s).Forward.ProxyArp, down(s).Forward.ProxyArp, down(s).Forward.ProxyNd = true, true, true
	}), Done, Program, SlowPath, SlowPath},
}
