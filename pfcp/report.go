package pfcp

// ReportType says what a Session Report Request reports.
// Source: TS 29.244 V18.6.0, 8.2.21.
type ReportType uint8

// Report types.
const (
	ReportTypeDLDR ReportType = 1 << iota // Downlink Data Report
	ReportTypeUSAR                        // Usage Report
	ReportTypeERIR                        // Error Indication Report
	ReportTypeUPIR                        // User Plane Inactivity Report
	ReportTypeTMIR                        // TSC Management Information Report
	ReportTypeSESR                        // Session Report
	ReportTypeUISR                        // UP Initiated Session Request
)

// SRReqFlags is PFCPSRReq-Flags. Source: TS 29.244 V18.6.0, 8.2.119.
type SRReqFlags uint8

// SRReqPSDBU says that the UP function has deleted the session.
const SRReqPSDBU SRReqFlags = 1

// SRRspFlags is PFCPSRRsp-Flags. Source: TS 29.244 V18.6.0, 8.2.32.
type SRRspFlags uint8

// SRRspDROBU asks to drop what is buffered.
const SRRspDROBU SRRspFlags = 1

// SDRspFlags is PFCPSDRsp-Flags. Source: TS 29.244 V18.6.0, 8.2.215.
type SDRspFlags uint8

// SDRspPURU says that Session Report Requests are still without an answer.
const SDRspPURU SDRspFlags = 1

// SessionReportRequest is a Session Report Request, sent by the UP function.
// Source: TS 29.244 V18.6.0, table 7.5.8.1-1.
type SessionReportRequest struct {
	ReportType             ReportType
	DownlinkData           Optional[DownlinkDataReport]
	UsageReports           []UsageReport
	ErrorIndication        []FTEID // Error Indication Report: Remote F-TEIDs; empty: absent
	LoadControl            Optional[LoadControl]
	OverloadControl        Optional[OverloadControl]
	AdditionalUsageReports Optional[AdditionalUsageReports]
	SRReqFlags             SRReqFlags
	OldCPFSEID             Optional[FSEID] // of the SMF that had the session before
	Cause                  Optional[Cause]
}

func (m *SessionReportRequest) reset() {
	m.DownlinkData.Value.reset()
	*m = SessionReportRequest{
		DownlinkData: Optional[DownlinkDataReport]{Value: m.DownlinkData.Value},
		UsageReports: m.UsageReports[:0], ErrorIndication: m.ErrorIndication[:0],
	}
}

// check says that what the type announces is there.
func (m *SessionReportRequest) check() error {
	switch {
	case m.ReportType&ReportTypeDLDR != 0 && !m.DownlinkData.Present:
		return fail("Session Report Request", IEDownlinkDataReport, ErrConditional)
	case m.ReportType&ReportTypeUSAR != 0 && len(m.UsageReports) == 0:
		return fail("Session Report Request", IEUsageReportReport, ErrConditional)
	case m.ReportType&ReportTypeERIR != 0 && len(m.ErrorIndication) == 0:
		return fail("Session Report Request", IEErrorIndicationReport, ErrConditional)
	}
	return nil
}

var sessionReportLoad, sessionReportOverload = loadMembers(
	func(m *SessionReportRequest) *Optional[LoadControl] { return &m.LoadControl },
	func(m *SessionReportRequest) *Optional[OverloadControl] { return &m.OverloadControl })

var sessionReportRequest = newContainer(container[SessionReportRequest]{
	name: "Session Report Request", clause: "7.5.8.1", reset: (*SessionReportRequest).reset, check: (*SessionReportRequest).check,
	members: []member[SessionReportRequest]{
		one(IEReportType, func(m *SessionReportRequest) *ReportType { return &m.ReportType }, u8[ReportType]()),
		opt(IEDownlinkDataReport, conditional,
			func(m *SessionReportRequest) *Optional[DownlinkDataReport] { return &m.DownlinkData }, downlinkDataReport.codec()),
		some(IEUsageReportReport, conditional, MaxUsageReports,
			func(m *SessionReportRequest) *[]UsageReport { return &m.UsageReports }, usageReportReport.codec()),
		listOf(IEErrorIndicationReport, errorIndicationReport, func(m *SessionReportRequest) *[]FTEID { return &m.ErrorIndication }),
		sessionReportLoad,
		sessionReportOverload,
		opt(IEAdditionalUsageReportsInformation, conditional,
			func(m *SessionReportRequest) *Optional[AdditionalUsageReports] { return &m.AdditionalUsageReports }, additionalUsageReports),
		flags(IEPFCPSRReqFlags, conditional, func(m *SessionReportRequest) *SRReqFlags { return &m.SRReqFlags }),
		opt(IEFSEID, conditional, func(m *SessionReportRequest) *Optional[FSEID] { return &m.OldCPFSEID }, fseid),
		skip[SessionReportRequest](IEPacketRateStatusReport, conditional),
		skip[SessionReportRequest](IETSCManagementReport, conditional),
		skip[SessionReportRequest](IESessionReport, conditional),
		opt(IECause, optional, func(m *SessionReportRequest) *Optional[Cause] { return &m.Cause }, cause),
	},
})

// DownlinkDataReport is a Downlink Data Report.
// Source: TS 29.244 V18.6.0, table 7.5.8.2-1.
type DownlinkDataReport struct {
	PDRIDs       []uint16 // that packets have come for
	ServiceInfos []DownlinkDataServiceInfo
	PacketsSize  Optional[uint16]     // DL Data Packets Size, octets
	Status       Optional[DataStatus] // DL Data Status
}

func (p *DownlinkDataReport) reset() {
	*p = DownlinkDataReport{PDRIDs: p.PDRIDs[:0], ServiceInfos: p.ServiceInfos[:0]}
}

var downlinkDataReport = newContainer(container[DownlinkDataReport]{
	name: "Downlink Data Report", clause: "7.5.8.2", reset: (*DownlinkDataReport).reset,
	members: []member[DownlinkDataReport]{
		some(IEPDRID, mandatory, MaxRules, func(p *DownlinkDataReport) *[]uint16 { return &p.PDRIDs }, u16[uint16]()),
		some(IEDownlinkDataServiceInformation, conditional, MaxRules,
			func(p *DownlinkDataReport) *[]DownlinkDataServiceInfo { return &p.ServiceInfos }, downlinkDataServiceInfo),
		opt(IEDLDataPacketsSize, optional, func(p *DownlinkDataReport) *Optional[uint16] { return &p.PacketsSize }, u16[uint16]()),
		opt(IEDataStatus, optional, func(p *DownlinkDataReport) *Optional[DataStatus] { return &p.Status }, u8[DataStatus]()),
	},
})

// DataStatus is a Data Status. Source: TS 29.244 V18.6.0, 8.2.179.
type DataStatus uint8

// Treatment of the first downlink packet.
const (
	DataStatusDROP DataStatus = 1 << iota
	DataStatusBUFF
)

// DownlinkDataServiceInfo is a Downlink Data Service Information.
// Source: TS 29.244 V18.6.0, 8.2.27.
type DownlinkDataServiceInfo struct {
	PPI         Optional[uint8] // Paging Policy Indication value: the packet's DSCP
	QFI         Optional[QFI]
	PacketsSize Optional[uint16] // DL Data Packets Size, octets
}

const dlInfoPPI, dlInfoQFI, dlInfoSize = 0x01, 0x02, 0x04

var downlinkDataServiceInfo = codec[DownlinkDataServiceInfo]{
	func(v *DownlinkDataServiceInfo, b []byte) error {
		r := reader{b: b}
		flags := r.u8()
		*v = DownlinkDataServiceInfo{}
		if flags&dlInfoPPI != 0 {
			v.PPI = Some(r.u8() & 0x3f)
		}
		if flags&dlInfoQFI != 0 {
			v.QFI = Some(QFI(r.u8()) & maskQFI)
		}
		if flags&dlInfoSize != 0 {
			v.PacketsSize = Some(r.u16())
		}
		return r.err
	},
	func(b []byte, v *DownlinkDataServiceInfo) []byte {
		b = append(b, bit(v.PPI.Present, dlInfoPPI)|bit(v.QFI.Present, dlInfoQFI)|bit(v.PacketsSize.Present, dlInfoSize))
		if v.PPI.Present {
			b = append(b, v.PPI.Value&0x3f)
		}
		if v.QFI.Present {
			b = append(b, byte(v.QFI.Value&maskQFI))
		}
		if v.PacketsSize.Present {
			b = append(b, byte(v.PacketsSize.Value>>8), byte(v.PacketsSize.Value))
		}
		return b
	},
}

// errorIndicationReport is an Error Indication Report: a list of F-TEIDs.
// Source: TS 29.244 V18.6.0, table 7.5.8.4-1.
var errorIndicationReport = newContainer(container[[]FTEID]{
	name: "Error Indication Report", clause: "7.5.8.4",
	reset: func(p *[]FTEID) { *p = (*p)[:0] },
	members: []member[[]FTEID]{
		some(IEFTEID, mandatory, MaxPeers, func(p *[]FTEID) *[]FTEID { return p }, fteid),
	},
})

// SessionReportResponse is a Session Report Response.
// Source: TS 29.244 V18.6.0, table 7.5.9.1-1.
type SessionReportResponse struct {
	Cause        Cause
	OffendingIE  Optional[IEType]
	UpdateBAR    Optional[BAR]
	SRRspFlags   SRRspFlags
	CPFSEID      Optional[FSEID]  // the CP function's new F-SEID
	N4UFTEID     Optional[FTEID]  // the new N4-u F-TEID
	Alternatives []CPAddress      // Alternative SMF IP Addresses, with Cause "Redirection Requested"
	FQCSIDs      []FQCSID         // the PGW-C/SMF's new FQ-CSID
	GroupID      []byte           // the new Group Id; empty: absent
	NodeID       Optional[NodeID] // of the SMF that has the session now
}

func (m *SessionReportResponse) reset() {
	m.UpdateBAR.Value.reset()
	*m = SessionReportResponse{
		UpdateBAR:    Optional[BAR]{Value: m.UpdateBAR.Value},
		Alternatives: m.Alternatives[:0], FQCSIDs: m.FQCSIDs[:0],
	}
}

var sessionReportResponse = newContainer(container[SessionReportResponse]{
	name: "Session Report Response", clause: "7.5.9.1", reset: (*SessionReportResponse).reset,
	members: []member[SessionReportResponse]{
		one(IECause, func(m *SessionReportResponse) *Cause { return &m.Cause }, cause),
		opt(IEOffendingIE, conditional, func(m *SessionReportResponse) *Optional[IEType] { return &m.OffendingIE }, u16[IEType]()),
		opt(IEUpdateBARReport, conditional, func(m *SessionReportResponse) *Optional[BAR] { return &m.UpdateBAR }, updateBARReport.codec()),
		flags(IEPFCPSRRspFlags, conditional, func(m *SessionReportResponse) *SRRspFlags { return &m.SRRspFlags }),
		opt(IEFSEID, optional, func(m *SessionReportResponse) *Optional[FSEID] { return &m.CPFSEID }, fseid),
		opt(IEFTEID, optional, func(m *SessionReportResponse) *Optional[FTEID] { return &m.N4UFTEID }, fteid),
		some(IEAlternativeSMFIPAddress, optional, MaxOpaque, func(m *SessionReportResponse) *[]CPAddress { return &m.Alternatives }, cpAddress),
		some(IEFQCSID, optional, MaxFQCSIDs, func(m *SessionReportResponse) *[]FQCSID { return &m.FQCSIDs }, fqCSID),
		octets(IEGroupID, conditional, func(m *SessionReportResponse) *[]byte { return &m.GroupID }),
		opt(IENodeID, conditional, func(m *SessionReportResponse) *Optional[NodeID] { return &m.NodeID }, nodeID),
	},
})
