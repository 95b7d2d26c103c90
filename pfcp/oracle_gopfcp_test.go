package pfcp

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// goPFCPFacts states what go-pfcp reads in b.
func goPFCPFacts(t *testing.T, b []byte) []string {
	t.Helper()
	if _, err := message.Parse(b); err != nil {
		t.Fatalf("go-pfcp: %v\n%x", err, b)
	}
	h, err := message.ParseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	ies, err := ie.ParseMultiIEs(h.Payload)
	if err != nil {
		t.Fatal(err)
	}
	f := newFacts(Header{Type: MessageType(h.Type), Sequence: h.SequenceNumber, S: h.HasSEID(), SEID: h.SEID})
	for _, i := range ies {
		f.goPFCP(t, i)
	}
	slices.Sort(*f.out)
	return *f.out
}

// goPFCP states one IE by go-pfcp's accessors.
func (f facts) goPFCP(t *testing.T, i *ie.IE) {
	t.Helper()
	f = f.ie(IEType(i.Type))
	if len(i.ChildIEs) > 0 {
		for _, child := range i.ChildIEs {
			f.goPFCP(t, child)
		}
		return
	}
	switch i.Type {
	case ie.NodeID:
		f.text(map[uint8]string{0: "ipv4", 1: "ipv6", 2: "id"}[i.Payload[0]&0xf], i.NodeID)
	case ie.FSEID:
		v, err := i.FSEID()
		f.fields(t, err, "seid", v.SEID)
		f.addrs(goAddr(v.IPv4Address), goAddr(v.IPv6Address))
	case ie.FTEID:
		v, err := i.FTEID()
		f.fields(t, err, "CH", number(v.HasCh()))
		if v.HasChID() {
			f.is("choose_id", v.ChooseID)
		}
		if !v.HasCh() {
			f.is("TEID", v.TEID)
			f.addrs(goAddr(v.IPv4Address), goAddr(v.IPv6Address))
		}
	case ie.UEIPAddress:
		v, err := i.UEIPAddress()
		f.fields(t, err, "SD", v.Flags>>2&1)
		f.addrs(goAddr(v.IPv4Address), goAddr(v.IPv6Address))
	case ie.SDFFilter:
		v, err := i.SDFFilter()
		f.fields(t, err, "flow_description", v.FlowDescription)
		if v.HasBID() {
			f.is("sdf_filter_id", v.SDFFilterID)
		}
	case ie.OuterHeaderCreation:
		v, err := i.OuterHeaderCreation()
		f.fields(t, err, "TEID", v.TEID)
		f.addrs(goAddr(v.IPv4Address), goAddr(v.IPv6Address))
	case ie.NetworkInstance:
		if i.Payload[0] < 'a' {
			f.text("instance", i.NetworkInstanceFQDN)
		} else {
			f.text("instance", i.NetworkInstance)
		}
	case ie.APNDNN:
		f.text("apn_dnn", i.APNDNN)
	case ie.ApplyAction:
		f.is("DROP", number(i.HasDROP()))
		f.is("FORW", number(i.HasFORW()))
		f.is("BUFF", number(i.HasBUFF()))
		f.is("NOCP", number(i.HasNOCP()))
	default:
		f.goPFCPNumber(t, i)
	}
}

// goPFCPNumber states an IE that is one number, or a few.
func (f facts) goPFCPNumber(t *testing.T, i *ie.IE) {
	t.Helper()
	switch i.Type {
	case ie.PDRID:
		value(t, f, "id", i.PDRID)
	case ie.FARID:
		value(t, f, "id", i.FARID)
	case ie.QERID:
		value(t, f, "id", i.QERID)
	case ie.URRID:
		value(t, f, "id", i.URRID)
	case ie.BARID:
		value(t, f, "id", i.BARID)
	case ie.QERCorrelationID:
		value(t, f, "id", i.QERCorrelationID)
	case ie.Precedence:
		if v, err := i.Precedence(); err != nil || v != 0 { // 0 is no fact of ours
			value(t, f, "precedence", i.Precedence)
		}
	case ie.SourceInterface:
		value(t, f, "interface", i.SourceInterface)
	case ie.DestinationInterface:
		value(t, f, "interface", i.DestinationInterface)
	case ie.TGPPInterfaceType:
		value(t, f, "interface_type", i.TGPPInterfaceType)
	case ie.QFI:
		value(t, f, "QFI", i.QFI)
	case ie.RQI:
		value(t, f, "RQI", i.RQI)
	case ie.AveragingWindow:
		value(t, f, "averaging_window", i.AveragingWindow)
	case ie.PDNType:
		value(t, f, "pdn_type", i.PDNType)
	case ie.Cause:
		value(t, f, "cause", i.Cause)
	case ie.OffendingIE:
		value(t, f, "type", i.OffendingIE)
	case ie.OuterHeaderRemoval:
		value(t, f, "header", i.OuterHeaderRemovalDescription)
	case ie.MBR:
		value(t, f, "ul", i.MBRUL)
		value(t, f, "dl", i.MBRDL)
	case ie.GBR:
		value(t, f, "ul", i.GBRUL)
		value(t, f, "dl", i.GBRDL)
	case ie.GateStatus:
		value(t, f, "ul", i.GateStatusUL)
		value(t, f, "dl", i.GateStatusDL)
	case ie.FailedRuleID:
		value(t, f, "type", i.RuleIDType)
		value(t, f, []string{"pdr_id", "far_id", "qer_id", "urr_id", "bar_id"}[i.Payload[0]], i.FailedRuleID)
	case ie.RecoveryTimeStamp:
		v, err := i.RecoveryTimeStamp()
		f.fields(t, err, "timestamp", uint32(NewTimeStamp(v)))
	case ie.UPFunctionFeatures:
		f.is("FTUP", number(i.HasFTUP()))
		f.is("EMPU", number(i.HasEMPU()))
	case ie.CPFunctionFeatures:
		f.is("LOAD", number(i.HasLOAD()))
		f.is("OVRL", number(i.HasOVRL()))
	case ie.TransportLevelMarking:
		v, err := i.TransportLevelMarking()
		f.fields(t, err, "tos", v>>8)
		f.is("traffic_class", v&0xff)
	case ie.PFCPSMReqFlags:
		if i.HasSNDEM() { // an IE without flags says what none says
			f.is("SNDEM", 1)
		}
	default:
		f.goPFCPUsage(t, i)
	}
}

func (f facts) fields(t *testing.T, err error, field string, v any) {
	t.Helper()
	if err != nil {
		t.Fatalf("go-pfcp: %s: %v", f.path, err)
	}
	f.is(field, v)
}

// value states what an accessor of go-pfcp returns.
func value[V any](t *testing.T, f facts, field string, get func() (V, error)) {
	t.Helper()
	v, err := get()
	f.fields(t, err, field, v)
}

func (f facts) text(field string, get func() (string, error)) {
	if s, err := get(); err == nil {
		f.is(field, s)
	}
}

func goAddr(a net.IP) netip.Addr {
	v, _ := netip.AddrFromSlice(a)
	return v.Unmap()
}

// TestGoPFCPReads gives our octets to go-pfcp: it finds the same fields.
func TestGoPFCPReads(t *testing.T) {
	for name, sample := range samples {
		t.Run(name, func(t *testing.T) {
			h := Header{Type: sample.MessageType(), S: sample.MessageType().IsSession(), SEID: 42, Sequence: maxSequence}
			b, err := Append(nil, h, sample)
			if err != nil {
				t.Fatal(err)
			}
			if !h.S {
				h.SEID = 0
			}
			if diff := cmp.Diff(goPFCPKnows(ourFacts(t, h, sample)), goPFCPFacts(t, b)); diff != "" {
				t.Errorf("-ours +go-pfcp\n%s", diff)
			}
		})
	}
}

// TestGoPFCPAgrees reads every golden vector with both.
func TestGoPFCPAgrees(t *testing.T) {
	for _, v := range pfcptest.Good(t) {
		t.Run(v.Name, func(t *testing.T) {
			if strings.Contains(v.Name, "bundle") {
				t.Skip("go-pfcp v0.0.24 reads the first message of a datagram only")
			}
			h, m := decode(t, v.Octets)
			if diff := cmp.Diff(goPFCPKnows(ourFacts(t, h, m)), goPFCPFacts(t, v.Octets)); diff != "" {
				t.Errorf("-ours +go-pfcp\n%s", diff)
			}
		})
	}
}

// goPFCPKnows leaves out facts about IEs whose content go-pfcp v0.0.24 does not
// read, or reads in other units.
func goPFCPKnows(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		path, _, _ := strings.Cut(s, ":")
		parts := strings.Split(path, "/")
		t, _, _ := strings.Cut(parts[len(parts)-1], ".")
		n, err := strconv.Atoi(t)
		return err == nil && slices.Contains([]IEType{
			IEFQCSID, IEPFDContents, IETimer, IEDLBufferingDuration, IEDownlinkDataServiceInformation, IEOCIFlags,
			IEDroppedDLTrafficThreshold, IEDownlinkDataNotificationDelay,
		}, IEType(n))
	})
}

// decode reads the one message in b.
func decode(t testing.TB, b []byte) (Header, Message) {
	t.Helper()
	h, body, _, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMessage(h.Type)
	if m == nil {
		t.Fatalf("%s is not decoded", h.Type)
	}
	if err := m.Decode(body); err != nil {
		t.Fatalf("%v\n%x", err, b)
	}
	return h, m
}
