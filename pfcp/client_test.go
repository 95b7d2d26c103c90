package pfcp

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// TestSimpleClient reads what the simple PFCP client sends, to the last field:
// its association, and its session with a QER, whose header has a random SEID
// where 0 belongs. Sent with an Apply Action of one octet or two, it is the same.
func TestSimpleClient(t *testing.T) {
	smf := netip.MustParseAddr("192.168.14.111")
	h, association := decode(t, pfcptest.Get(t, "simple-client-association").Octets)
	if diff := cmp.Diff(Message(&AssociationSetupRequest{
		NodeID: NodeID{Addr: smf}, RecoveryTimeStamp: 3977608738, CPFunctionFeatures: Some(CPFunctionFeatures(0)),
	}), association, equal); diff != "" || h.Sequence != 0 {
		t.Errorf("sequence number %d; -want +got\n%s", h.Sequence, diff)
	}
	for name, seids := range map[string]struct{ header, own uint64 }{
		"simple-client-establishment-qer":   {0x9db6a46d685b1f6b, 0xb3274108864b9d90},
		"simple-client-establishment-scapy": {0x6d685b1f6b84baf2, 0x88acf1156f85b3cc},
	} {
		octets := pfcptest.Get(t, name).Octets
		h, got := decode(t, octets)
		want := simpleClientSession(FSEID{SEID: seids.own, IPv4: smf})
		if diff := cmp.Diff(want, got, equal); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if h.Sequence != 1 || !h.S || h.SEID != seids.header {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// TestSimpleClientAgain writes the client's session: the same octets, but for
// the order of IEs, which with us is that of the specification's tables.
func TestSimpleClientAgain(t *testing.T) {
	want := pfcptest.Get(t, "simple-client-establishment-qer").Octets
	h, m := decode(t, want)
	got, err := Append(nil, h, m)
	if err != nil {
		t.Fatal(err)
	}
	sorted := func(b []byte) []byte { b = slices.Clone(b); slices.Sort(b); return b }
	if len(got) != len(want) || !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("got %x\nwant %x", got, want)
	}
}

func simpleClientSession(cp FSEID) Message {
	ni, ue := NewName("internet"), netip.MustParseAddr("10.45.0.2")
	rate := Some(BitRates{UplinkKbps: 200000000, DownlinkKbps: 200000000})
	return &SessionEstablishmentRequest{
		NodeID: NodeID{Addr: cp.IPv4}, CPFSEID: cp,
		CreatePDRs: []CreatePDR{
			{
				PDRID: 1, Precedence: 65535,
				PDI: PDI{
					SourceInterface: InterfaceCore, NetworkInstance: ni,
					UEIPAddresses: []UEIPAddress{{Destination: true, IPv4: ue}}, InterfaceType: Some(InterfaceTypeN6),
				},
				FARID: Some(uint32(1)), QERIDs: []uint32{1},
			}, {
				PDRID: 2, Precedence: 65535,
				PDI: PDI{
					SourceInterface: InterfaceAccess, NetworkInstance: ni,
					FTEID:         Some(FTEID{V4: true, TEID: 1, IPv4: netip.MustParseAddr("192.168.13.151")}),
					UEIPAddresses: []UEIPAddress{{IPv4: ue}}, InterfaceType: Some(InterfaceTypeN33GPPAccess),
					SDFFilters: []SDFFilter{{FlowDescription: matchAll}}, QFIs: NewQFISet(1),
				},
				FARID: Some(uint32(2)), QERIDs: []uint32{1},
				OuterHeaderRemoval: Some(OuterHeaderRemoval{Description: RemoveGTPUUDPIPv4}),
			},
		},
		CreateFARs: []CreateFAR{
			{FARID: 1, ApplyAction: ApplyFORW, ForwardingParameters: Some(ForwardingParameters{
				DestinationInterface: InterfaceAccess, NetworkInstance: ni, InterfaceType: Some(InterfaceTypeN33GPPAccess),
				OuterHeaderCreation: Some(OuterHeaderCreation{Description: CreateGTPUUDPIPv4, TEID: 2, IPv4: netip.MustParseAddr("192.168.13.131")}),
			})},
			{FARID: 2, ApplyAction: ApplyFORW, ForwardingParameters: Some(ForwardingParameters{
				DestinationInterface: InterfaceCore, NetworkInstance: ni, InterfaceType: Some(InterfaceTypeN6),
			})},
		},
		CreateQERs: []CreateQER{{QERID: 1, MBR: rate, GBR: rate, QFI: Some(QFI(1))}},
		PDNType:    Some(PDNTypeIPv4), APNDNN: ni,
	}
}

// TestWrongFamily: an encoder that is given an address of the wrong family
// still writes what can be read, never a field that is missing.
func TestWrongFamily(t *testing.T) {
	m := &SessionEstablishmentRequest{
		NodeID: NodeID{Addr: smf4}, CPFSEID: FSEID{IPv4: smf4, IPv6: smf4},
		CreatePDRs: []CreatePDR{{FARID: Some(uint32(1)), PDI: PDI{UEIPAddresses: []UEIPAddress{{IPv4: ue4, IPv6: ue4}}}}},
		CreateFARs: []CreateFAR{{ApplyAction: ApplyFORW, ForwardingParameters: Some(ForwardingParameters{
			OuterHeaderCreation: Some(OuterHeaderCreation{Description: CreateGTPUUDPIPv4 | CreateUDPIPv6, IPv4: smf6, IPv6: smf4}),
		})}},
	}
	var got SessionEstablishmentRequest
	if err := got.Decode(m.AppendBody(nil)); err != nil {
		t.Error(err)
	}
}
