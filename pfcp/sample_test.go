package pfcp

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Addresses of the samples.
var (
	smf4, upf4   = netip.MustParseAddr("10.4.0.2"), netip.MustParseAddr("10.4.0.1")
	smf6         = netip.MustParseAddr("2001:db8:4::2")
	n3, gnb      = netip.MustParseAddr("10.3.0.1"), netip.MustParseAddr("10.3.0.2")
	ue4, ue6     = netip.MustParseAddr("10.45.0.2"), netip.MustParseAddr("2001:db8:45:2::")
	matchAll     = []byte("permit out ip from any to assigned")
	noOuterParam = Optional[OuterHeaderCreation]{}
)

// equal compares messages, but for what has no meaning: whether an empty slice
// is nil, and what an absent Optional holds besides.
var equal = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })}

// ignoreSEID leaves out what the type of message decides.
var ignoreSEID = cmpopts.IgnoreFields(Header{}, "S", "SEID")

func forward(to Interface, ohc Optional[OuterHeaderCreation]) Optional[ForwardingParameters] {
	return Some(ForwardingParameters{
		DestinationInterface: to, NetworkInstance: NewName("internet"), OuterHeaderCreation: ohc,
		InterfaceType: Some(InterfaceTypeN33GPPAccess),
	})
}

func gtp(teid uint32, peer netip.Addr) Optional[OuterHeaderCreation] {
	return Some(OuterHeaderCreation{Description: CreateGTPUUDPIPv4, TEID: teid, IPv4: peer})
}

// samples has every kind of field that is decoded, each message as an encoder
// would be given it.
var samples = map[string]Message{
	"heartbeat request":  &HeartbeatRequest{RecoveryTimeStamp: 3977608738},
	"heartbeat response": &HeartbeatResponse{RecoveryTimeStamp: 1},
	"association setup request": &AssociationSetupRequest{
		NodeID: NodeID{Addr: smf6}, RecoveryTimeStamp: 3977608738,
		UPFunctionFeatures: Some(UPFeatureFTUP | UPFeatureEMPU | UPFeatureUEIP),
		CPFunctionFeatures: Some(CPFeatureLOAD | CPFeatureOVRL),
	},
	"association setup response": &AssociationSetupResponse{
		NodeID: NodeID{FQDN: NewName("upf.example")}, Cause: CauseRequestAccepted,
		RecoveryTimeStamp: 7, UPFunctionFeatures: Some(UPFeatureFTUP),
	},
	"association update request": &AssociationUpdateRequest{
		NodeID: NodeID{Addr: smf4}, CPFunctionFeatures: Some(CPFeatureOVRL),
	},
	"association update response":  &AssociationUpdateResponse{NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted},
	"association release request":  &AssociationReleaseRequest{NodeID: NodeID{Addr: smf4}},
	"association release response": &AssociationReleaseResponse{NodeID: NodeID{Addr: upf4}, Cause: CauseNoEstablishedPFCPAssociation},
	"session establishment request": &SessionEstablishmentRequest{
		NodeID: NodeID{Addr: smf4}, CPFSEID: FSEID{SEID: 0x0102030405060708, IPv4: smf4, IPv6: smf6},
		CreatePDRs: []CreatePDR{samplePDRAccess, samplePDRCore},
		CreateFARs: []CreateFAR{
			{FARID: 1, ApplyAction: ApplyFORW, ForwardingParameters: forward(InterfaceCore, noOuterParam)},
			{FARID: 2, ApplyAction: ApplyFORW, ForwardingParameters: forward(InterfaceAccess, gtp(0xdeadbeef, gnb))},
			{FARID: 3, ApplyAction: ApplyDROP},
			{FARID: 4, ApplyAction: ApplyBUFF | ApplyNOCP, BARID: Some(uint8(1))},
		},
		CreateURRs: []CreateURR{sampleURR}, CreateBARs: []BAR{sampleBAR},
		CreateQERs: []CreateQER{sampleQER, {QERID: 2, GateStatus: GateStatus{true, false}}},
		PDNType:    Some(PDNTypeIPv4v6), APNDNN: NewName("internet.mnc001.mcc001.gprs"),
		SNSSAI: Some(SNSSAI{SST: 1, SD: 0x010203}), UserID: []byte{1, 8, 0, 1, 1, 0, 0, 0, 0, 0xf1},
		InactivityTimerS: Some(uint32(60)), RecoveryTimeStamp: Some(TimeStamp(9)),
	},
	"session establishment response": &SessionEstablishmentResponse{
		NodeID: NodeID{Addr: upf4}, Cause: CauseRequestAccepted,
		UPFSEID: Some(FSEID{SEID: 1 << 63, IPv4: upf4}),
		CreatedPDRs: []CreatedPDR{
			{PDRID: 1, LocalFTEIDs: []FTEID{{TEID: 0x80000001, V4: true, IPv4: n3}}},
			{PDRID: 3, UEIPAddresses: []UEIPAddress{{IPv4: ue4}}},
		},
	},
	"session establishment response, refused": &SessionEstablishmentResponse{
		NodeID: NodeID{Addr: upf4}, Cause: CauseRuleCreationModificationFail,
		OffendingIE: Some(IEPDI), FailedRuleID: Some(FailedRuleID{RulePDR, 513}),
	},
	"session modification request": &SessionModificationRequest{
		CPFSEID:    Some(FSEID{SEID: 9, IPv4: smf4}),
		RemovePDRs: []uint16{3, 4}, RemoveFARs: []uint32{3}, RemoveQERs: []uint32{2},
		CreatePDRs: []CreatePDR{samplePDRCore}, CreateFARs: []CreateFAR{{FARID: 9, ApplyAction: ApplyDROP}},
		CreateQERs: []CreateQER{sampleQER},
		UpdatePDRs: []UpdatePDR{
			{PDRID: 1, Precedence: Some(uint32(5)), PDI: Some(samplePDRAccess.PDI), FARID: Some(uint32(1)), QERIDs: []uint32{1}},
			{PDRID: 2, OuterHeaderRemoval: Some(OuterHeaderRemoval{Description: RemoveGTPUUDPIP})},
		},
		UpdateFARs: []UpdateFAR{{
			FARID: 2, ApplyAction: Some(ApplyFORW),
			UpdateForwardingParameters: Some(UpdateForwardingParameters{
				DestinationInterface: Some(InterfaceAccess), OuterHeaderCreation: gtp(77, gnb), SMReqFlags: SMReqSNDEM,
			}),
		}},
		UpdateQERs: []UpdateQER{{QERID: 1, MBR: Some(BitRates{1000, 1<<40 - 1})}},
	},
	"session modification response": &SessionModificationResponse{
		Cause: CauseRequestAccepted, CreatedPDRs: []CreatedPDR{{PDRID: 1, LocalFTEIDs: []FTEID{{TEID: 5, V4: true, IPv4: n3}}}},
	},
	"session modification response, refused": &SessionModificationResponse{
		Cause: CauseRuleCreationModificationFail, FailedRuleID: Some(FailedRuleID{RuleQER, 70000}),
	},
	"session deletion request":  &SessionDeletionRequest{},
	"session deletion response": &SessionDeletionResponse{Cause: CauseMandatoryIEMissing, OffendingIE: Some(IECause)},
}

var (
	samplePDRAccess = CreatePDR{
		PDRID: 1, Precedence: 255,
		PDI: PDI{
			SourceInterface: InterfaceAccess, FTEID: Some(FTEID{TEID: 0x12345678, V4: true, IPv4: n3}),
			NetworkInstance: NewName("internet"),
			UEIPAddresses:   []UEIPAddress{{IPv4: ue4}, {IPv6: ue6, IPv6Length: Some(uint8(64))}},
			SDFFilters:      []SDFFilter{{FlowDescription: matchAll, FilterID: Some(uint32(3))}},
			QFIs:            NewQFISet(1, 9), InterfaceType: Some(InterfaceTypeN33GPPAccess),
		},
		OuterHeaderRemoval: Some(OuterHeaderRemoval{RemoveGTPUUDPIP, Some(uint8(1))}),
		FARID:              Some(uint32(1)), URRIDs: []uint32{7}, QERIDs: []uint32{1, 2},
	}
	samplePDRCore = CreatePDR{
		PDRID: 2, Precedence: 1 << 31,
		PDI: PDI{
			SourceInterface: InterfaceCore, NetworkInstance: Name("internet"),
			UEIPAddresses: []UEIPAddress{{Destination: true, IPv4: ue4}}, InterfaceType: Some(InterfaceTypeN6),
		},
		FARID: Some(uint32(2)), QERIDs: []uint32{1},
	}
	sampleQER = CreateQER{
		QERID: 1, QERCorrelationID: Some(uint32(4)), GateStatus: GateStatus{DownlinkClosed: true},
		MBR: Some(BitRates{200000000, 100000}), GBR: Some(BitRates{1, 2}), QFI: Some(QFI(9)),
		RQI: Some(true), AveragingWindowMs: Some(uint32(2000)),
	}
)

// TestRoundTrip encodes each sample and decodes it again.
func TestRoundTrip(t *testing.T) {
	all := maps.Clone(samples)
	maps.Copy(all, ourSamples)
	for name, sample := range all {
		t.Run(name, func(t *testing.T) {
			b, err := Append(nil, Header{SEID: 42, Sequence: 7}, sample)
			if err != nil {
				t.Fatal(err)
			}
			h, body, rest, err := Parse(b)
			if want := (Header{Type: sample.MessageType(), S: sample.MessageType().IsSession(), Sequence: 7}); err != nil ||
				h.Type != want.Type || h.S != want.S || h.Sequence != 7 || len(rest) != 0 {
				t.Fatalf("Parse = %+v, %d octets more, %v; want %+v", h, len(rest), err, want)
			}
			got := NewMessage(h.Type)
			if err := got.Decode(body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample, got, equal); diff != "" {
				t.Errorf("-sent +read\n%s", diff)
			}
		})
	}
}
