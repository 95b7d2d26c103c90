package pfcp

// A Fate is the treatment of an IE by the UP function.
type Fate string

// Fates.
const (
	Done          Fate = "done"           // it is executed, or sent in its place
	Refused       Fate = "refused"        // the request is, with a Cause
	NotApplicable Fate = "not applicable" // passed over, for it concerns nothing that there is here
)

// Support is the support of an IE in one container.
type Support struct {
	In    string // the message or grouped IE
	IE    IEType
	Fate  Fate
	Cause Cause  // of a refusal
	Why   string // why not, or what is done in part; may be empty
}

// Supported lists the fate of every IE of every message and grouped IE that
// this package knows, in the order of docs/pfcp.md.
func Supported() []Support {
	var list []Support
	for i := range descriptions {
		for _, r := range descriptions[i].rows {
			list = append(list, descriptions[i].support(r))
		}
	}
	return list
}

// support derives the fate of an IE: what is decoded is done and what is noted
// is refused, unless the tables below say otherwise.
func (d *description) support(r row) Support {
	s := Support{In: d.name, IE: r.ie, Fate: Done, Why: inPart[place{d.name, r.ie}]}
	if unsent[r.ie] {
		s.Why = "passed over, and never sent"
	}
	if why, ok := refused[place{d.name, r.ie}]; ok {
		s.Fate, s.Why = Refused, why
	}
	switch r.state {
	case noted:
		s.Fate, s.Why = Refused, notDone[r.ie]
	case skipped:
		s.Fate, s.Why = NotApplicable, elsewhere[r.ie]
	}
	if s.Fate == Refused {
		s.Cause = CauseServiceNotSupported
		if rules[d.name] {
			s.Cause = CauseRuleCreationModificationFail
		}
	}
	return s
}

// place is an IE in a container.
type place struct {
	in string
	ie IEType
}

// rules are the containers whose refusal names a rule: Cause 73 with Failed
// Rule ID. In others it is Cause 76 with Offending IE.
var rules = map[string]bool{
	"Create PDR": true, "PDI": true, "Update PDR": true, "Create FAR": true, "Forwarding Parameters": true, "Update FAR": true,
	"Update Forwarding Parameters": true, "Create URR": true, "Update URR": true, "Create QER": true, "Update QER": true,
	"Create BAR": true, "Update BAR (Session Modification Request)": true, "Update BAR (Session Report Response)": true,
}

// refused are IEs that are decoded but not supported, with any datapath.
// Packages n4 and session refuse them; lab/pfcpsim has a test that they do.
var refused = func() map[place]string {
	m := map[place]string{}
	for _, urr := range []string{"Create URR", "Update URR"} {
		for ie, why := range map[IEType]string{
			IEAdditionalMonitoringTime: "one Monitoring Time at a time", IENumberOfReports: "NORP is not advertised",
			IEUserPlaneInactivityTimer: "UPIDP is not advertised; the session has such a timer",
		} {
			m[place{urr, ie}] = why
		}
	}
	for _, pdr := range []string{"Create PDR", "Update PDR"} {
		m[place{pdr, IEActivationTime}] = "DPDRA is not advertised"
		m[place{pdr, IEDeactivationTime}] = "DPDRA is not advertised"
	}
	for _, qer := range []string{"Create QER", "Update QER"} {
		m[place{qer, IEQERCorrelationID}] = "meters are not shared between sessions"
	}
	return m
}()

// unsent are IEs of what the UP function sends that it leaves out.
var unsent = map[IEType]bool{
	IETimeOfFirstPacket: true, IETimeOfLastPacket: true, IEPeerUPRestartReport: true, IEUEIPAddressUsageInformation: true,
	IEUserPlaneIPResourceInformation: true, IEAdditionalUsageReportsInformation: true, IENFInstanceID: true, IEDLDataPacketsSize: true,
}

// inPart are IEs that are done, with what there is to say.
var inPart = map[place]string{
	{"Create PDR", IEActivatePredefinedRules}:               "those that are configured; others are refused, Cause 80",
	{"Update PDR", IEActivatePredefinedRules}:               "those that are configured; others are refused, Cause 80",
	{"Create QER", IEAveragingWindow}:                       "passed over: who keeps to a rate in a short time does so in a long one",
	{"Update QER", IEAveragingWindow}:                       "passed over: who keeps to a rate in a short time does so in a long one",
	{"Create QER", IEPacketRate}:                            "an additional rate is refused with the QER's ID, Cause 73",
	{"Update QER", IEPacketRate}:                            "an additional rate is refused with the QER's ID, Cause 73",
	{"Forwarding Parameters", IERedirectInformation}:        "HTTP URL, IPv4, IPv6, both; SIP URI and ports are refused with the FAR's ID, Cause 73",
	{"Update Forwarding Parameters", IERedirectInformation}: "HTTP URL, IPv4, IPv6, both; SIP URI and ports are refused with the FAR's ID, Cause 73",
	{"Forwarding Parameters", IEProxying}:                   "of Ethernet PDU sessions; of others refused with the FAR's ID, Cause 73",
	{"PDI", IEFramedRouting}:                                "None alone; a routing protocol is refused with the PDR's ID, Cause 73",
	{"Create Traffic Endpoint", IEFramedRouting}:            "None alone; a routing protocol is refused, Cause 76",
	{"Update Traffic Endpoint", IEFramedRouting}:            "None alone; a routing protocol is refused, Cause 76",
	{"PDI", IEApplicationID}:                                "by its PFDs; with SDF filters beside it refused, Cause 73",
	{"Application ID's PFDs", IEPFDContext}:                 "flow descriptions, URLs, domain names; other regular expressions than for all names below one, other protocols than TLS_SNI and Custom PFD Content are refused, Cause 76",
	{"Session Establishment Request", IECreateMAR}:          "refused with its ID, Cause 73: no multi-access PDU sessions",
	{"Session Modification Request", IECreateMAR}:           "refused with its ID, Cause 73: no multi-access PDU sessions",
	{"Session Modification Request", IEUpdateMAR}:           "refused with its ID, Cause 73: no multi-access PDU sessions",
	{"Session Modification Request", IERemoveMAR}:           "refused with its ID, Cause 73: no multi-access PDU sessions",
	{"Session Establishment Request", IEUserID}:             "passed over: it changes nothing here",
	{"Session Establishment Request", IEPFCPSEReqFlags}:     "SUMPC and HRSBOM are refused, Cause 76",
	{"Session Modification Request", IEPFCPSMReqFlags}:      "SUMPC, RUMUC, DETEID and HRSBOM are refused, Cause 76",
	{"Session Establishment Request", IERecoveryTimeStamp}:  "passed over: the association's counts",
	{"Session Establishment Request", IERATType}:            "passed over: it changes nothing here",
	{"Session Modification Request", IERATType}:             "passed over: it changes nothing here",
	{"Session Establishment Request", IEGroupID}:            "passed over: groups are not supported",
	{"Session Modification Request", IEGroupID}:             "passed over: groups are not supported",
	{"Session Report Response", IEGroupID}:                  "passed over: groups are not supported",
	{"PFCP Session Change Info", IEGroupID}:                 "refused, Cause 76: groups are not supported",
}
