package upf

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// What the local API answers, and [Client] returns. 64-bit identifiers are
// strings in JSON, because many readers of JSON keep numbers as floating point.

// SEID is a Session Endpoint Identifier; as text 0x and 16 hex digits.
type SEID uint64

// String is the text form.
func (s SEID) String() string { return fmt.Sprintf("0x%016x", uint64(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (s SEID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes what [strconv.ParseUint] does: 0x for hex, or decimal.
func (s *SEID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("SEID %q: want a number of 64 bits, such as 0x1 or 17", text)
	}
	*s = SEID(n)
	return nil
}

// TEID is a Tunnel Endpoint Identifier; as text 0x and 8 hex digits.
type TEID uint32

// String is the text form.
func (t TEID) String() string { return fmt.Sprintf("0x%08x", uint32(t)) }

// MarshalText implements [encoding.TextMarshaler].
func (t TEID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes what [strconv.ParseUint] does: 0x for hex, or decimal.
func (t *TEID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 32)
	if err != nil {
		return fmt.Errorf("TEID %q: want a number of 32 bits, such as 0x1 or 17", text)
	}
	*t = TEID(n)
	return nil
}

// SessionRow is one line about a PFCP session.
type SessionRow struct {
	SEID        SEID     `json:"seid"`            // of the UP function
	CPSEID      SEID     `json:"cp_seid"`         // of the CP function
	NodeID      string   `json:"node_id"`         // of the CP function
	UEAddresses []string `json:"ue_addresses"`    // IPv4 address, IPv6 prefix
	TEIDs       []TEID   `json:"teids"`           // local ones
	Slice       string   `json:"slice,omitempty"` // name; empty: none
	SNSSAI      string   `json:"s_nssai,omitempty"`
	DNN         string   `json:"dnn,omitempty"`
	PDNType     string   `json:"pdn_type,omitempty"` // as TS 29.244 names it
	PDRs        int      `json:"pdrs"`
	FARs        int      `json:"fars"`
	QERs        int      `json:"qers"`
	URRs        int      `json:"urrs"`
}

// SessionPage is a part of the list of sessions.
type SessionPage struct {
	Total    int          `json:"total"` // sessions that the UPF holds
	Sessions []SessionRow `json:"sessions"`
	// Next is where the next page begins; empty: there is none.
	Next string `json:"next,omitempty"`
}

// Session is everything about one PFCP session.
type Session struct {
	SessionRow
	// InactivityTimer is the User Plane Inactivity Timer; 0: none.
	InactivityTimer uint32 `json:"user_plane_inactivity_timer_s,omitempty"`
	// Reports are those that the CP function has not acknowledged.
	Reports int `json:"usage_reports_waiting,omitempty"`
	// FQCSIDs are the connection sets that it belongs to, as "node/CSID".
	FQCSIDs []string `json:"fq_csids,omitempty"`
	Rules   Rules    `json:"rules"`
}

// Rules are the rules of a session. The PDRs are in Precedence order.
type Rules struct {
	PDRs []PDR `json:"pdrs"`
	FARs []FAR `json:"fars"`
	QERs []QER `json:"qers"`
	URRs []URR `json:"urrs"`
	BARs []BAR `json:"bars"`

	TrafficEndpoints []TrafficEndpoint `json:"traffic_endpoints,omitempty"`
}

// FTEID is a tunnel endpoint.
type FTEID struct {
	TEID TEID       `json:"teid"`
	IPv4 netip.Addr `json:"ipv4,omitzero"`
	IPv6 netip.Addr `json:"ipv6,omitzero"`
}

// Usage is what matched a PDR. Octets are those of the user packets, from
// their IP header on.
type Usage struct {
	Packets        uint64 `json:"packets"`         // forwarded
	Octets         uint64 `json:"octets"`          // forwarded
	DroppedPackets uint64 `json:"dropped_packets"` // by gate, MBR or FAR
}

// viewRow shows s, whose CP function is nodeID.
func (s *Service) viewRow(x *session.Session, nodeID string) SessionRow {
	row := SessionRow{
		SEID: SEID(x.SEID), CPSEID: SEID(x.CP.SEID), NodeID: nodeID,
		UEAddresses: []string{}, TEIDs: []TEID{}, Slice: s.sliceName(x.Slice), DNN: x.DNN,
		PDRs: len(x.PDRs), FARs: len(x.FARs), QERs: len(x.QERs), URRs: len(x.URRs),
	}
	row.PDNType = x.PDNType.String()
	if n := x.SNSSAI; n.Present {
		row.SNSSAI = SNSSAI{SST: n.Value.SST, SD: n.Value.SD, Set: true}.String()
	}
	for i := range x.PDRs {
		pdi := &x.PDRs[i].PDI
		if teid := TEID(pdi.FTEID.TEID); teid != 0 {
			row.TEIDs = appendNew(row.TEIDs, teid)
		}
		for _, a := range viewUEAddress(pdi.UEAddress) {
			row.UEAddresses = appendNew(row.UEAddresses, a)
		}
	}
	return row
}

// appendNew appends v unless the list, which is short, has it.
func appendNew[T comparable](list []T, v T) []T {
	for _, have := range list {
		if have == v {
			return list
		}
	}
	return append(list, v)
}

// sliceName is the name of a configured slice; 0: none.
func (s *Service) sliceName(number uint32) string {
	if number == 0 || int(number) > len(s.config.Slices) {
		return ""
	}
	return s.config.Slices[number-1].Name
}

// viewSession shows x with what its rules counted.
func (s *Service) viewSession(x *session.Session, nodeID string, usage *api.SessionUsage) Session {
	counted := map[uint32]Usage{}
	for _, u := range usage.GetRules() {
		counted[u.GetPdrId()] = Usage{u.GetPackets(), u.GetOctets(), u.GetDroppedPackets()}
	}
	v := Session{SessionRow: s.viewRow(x, nodeID), InactivityTimer: x.InactivityTimer, Reports: len(x.Reports)}
	for i := range x.CSIDs {
		v.FQCSIDs = append(v.FQCSIDs, x.CSIDs[i].String())
	}
	v.Rules = Rules{PDRs: []PDR{}, FARs: []FAR{}, QERs: []QER{}, URRs: []URR{}, BARs: []BAR{}}
	now := time.Now().UnixNano()
	for i := range x.PDRs {
		v.Rules.PDRs = append(v.Rules.PDRs, viewPDR(&x.PDRs[i], counted[uint32(x.PDRs[i].ID)]))
	}
	for i := range x.FARs {
		v.Rules.FARs = append(v.Rules.FARs, viewFAR(&x.FARs[i]))
	}
	for i := range x.QERs {
		v.Rules.QERs = append(v.Rules.QERs, viewQER(&x.QERs[i]))
	}
	for i := range x.URRs {
		v.Rules.URRs = append(v.Rules.URRs, viewURR(&x.URRs[i], usage, now))
	}
	for i := range x.BARs {
		v.Rules.BARs = append(v.Rules.BARs, viewBAR(&x.BARs[i]))
	}
	for i := range x.Endpoints {
		v.Rules.TrafficEndpoints = append(v.Rules.TrafficEndpoints, viewEndpoint(&x.Endpoints[i]))
	}
	return v
}

func viewUEAddress(a session.UEAddress) []string {
	var list []string
	if a.IPv4 != (session.IPv4{}) {
		list = append(list, netip.AddrFrom4(a.IPv4).String())
	}
	if a.IPv6Prefix != (session.IPv6Prefix{}) {
		var ip [16]byte
		copy(ip[:], a.IPv6Prefix[:])
		list = append(list, netip.PrefixFrom(netip.AddrFrom16(ip), 64).String())
	}
	return list
}

// viewFTEID shows a tunnel endpoint; TEID 0: none.
func viewFTEID(teid uint32, ipv4 session.IPv4, ipv6 session.IPv6) *FTEID {
	if teid == 0 {
		return nil
	}
	return &FTEID{TEID: TEID(teid), IPv4: viewIPv4(ipv4), IPv6: viewIPv6(ipv6)}
}
