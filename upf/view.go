package upf

import (
	"fmt"
	"net/netip"
	"strconv"

	"plumbline/api"
	"plumbline/session"
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
	SEID        SEID     `json:"seid"`         // of the UP function
	CPSEID      SEID     `json:"cp_seid"`      // of the CP function
	NodeID      string   `json:"node_id"`      // of the CP function
	UEAddresses []string `json:"ue_addresses"` // IPv4 address, IPv6 prefix
	TEIDs       []TEID   `json:"teids"`        // local ones
	PDRs        int      `json:"pdrs"`
	FARs        int      `json:"fars"`
	QERs        int      `json:"qers"`
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
	Rules Rules `json:"rules"`
}

// Rules are the rules of a session. The PDRs are in Precedence order.
type Rules struct {
	PDRs []PDR `json:"pdrs"`
	FARs []FAR `json:"fars"`
	QERs []QER `json:"qers"`
}

// PDR is a Packet Detection Rule and what it counted.
type PDR struct {
	ID                 uint16   `json:"id"`
	Precedence         uint32   `json:"precedence"`
	SourceInterface    string   `json:"source_interface"`
	FTEID              *FTEID   `json:"f_teid,omitempty"`
	UEAddresses        []string `json:"ue_addresses,omitempty"`
	QFIs               []uint8  `json:"qfis,omitempty"` // empty: any
	NetworkInstance    string   `json:"network_instance,omitempty"`
	OuterHeaderRemoval bool     `json:"outer_header_removal"`
	FARID              uint32   `json:"far_id"`
	QERIDs             []uint32 `json:"qer_ids,omitempty"`
	Usage              Usage    `json:"usage"`
}

// FTEID is a tunnel endpoint.
type FTEID struct {
	TEID TEID       `json:"teid"`
	IPv4 netip.Addr `json:"ipv4"`
}

// Usage is what matched a PDR. Octets are those of the user packets, from
// their IP header on.
type Usage struct {
	Packets        uint64 `json:"packets"`         // forwarded
	Octets         uint64 `json:"octets"`          // forwarded
	DroppedPackets uint64 `json:"dropped_packets"` // by gate, MBR or FAR
}

// FAR is a Forwarding Action Rule.
type FAR struct {
	ID                   uint32 `json:"id"`
	ApplyAction          string `json:"apply_action"`
	DestinationInterface string `json:"destination_interface,omitempty"`
	OuterHeaderCreation  *FTEID `json:"outer_header_creation,omitempty"` // GTP-U/UDP/IPv4
	NetworkInstance      string `json:"network_instance,omitempty"`
	DSCP                 *uint8 `json:"dscp,omitempty"` // Transport Level Marking
}

// QER is a QoS Enforcement Rule. Rates are bit/s; absent: not limited.
type QER struct {
	ID                 uint32  `json:"id"`
	UplinkGateClosed   bool    `json:"uplink_gate_closed"`
	DownlinkGateClosed bool    `json:"downlink_gate_closed"`
	QFI                uint8   `json:"qfi,omitempty"`
	UplinkMBR          *uint64 `json:"uplink_mbr_bps,omitempty"`
	DownlinkMBR        *uint64 `json:"downlink_mbr_bps,omitempty"`
	UplinkGBR          *uint64 `json:"uplink_gbr_bps,omitempty"`
	DownlinkGBR        *uint64 `json:"downlink_gbr_bps,omitempty"`
}

// viewRow shows s, whose CP function is nodeID.
func viewRow(s *session.Session, nodeID string) SessionRow {
	row := SessionRow{
		SEID: SEID(s.SEID), CPSEID: SEID(s.CP.SEID), NodeID: nodeID,
		UEAddresses: []string{}, TEIDs: []TEID{},
		PDRs: len(s.PDRs), FARs: len(s.FARs), QERs: len(s.QERs),
	}
	for i := range s.PDRs {
		pdi := &s.PDRs[i].PDI
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

// viewSession shows s with what its PDRs counted.
func viewSession(s *session.Session, nodeID string, usage *api.SessionUsage) Session {
	counted := map[uint32]Usage{}
	for _, u := range usage.GetRules() {
		counted[u.GetPdrId()] = Usage{u.GetPackets(), u.GetOctets(), u.GetDroppedPackets()}
	}
	v := Session{SessionRow: viewRow(s, nodeID), Rules: Rules{PDRs: []PDR{}, FARs: []FAR{}, QERs: []QER{}}}
	for i := range s.PDRs {
		v.Rules.PDRs = append(v.Rules.PDRs, viewPDR(&s.PDRs[i], counted[uint32(s.PDRs[i].ID)]))
	}
	for i := range s.FARs {
		v.Rules.FARs = append(v.Rules.FARs, viewFAR(&s.FARs[i]))
	}
	for i := range s.QERs {
		v.Rules.QERs = append(v.Rules.QERs, viewQER(&s.QERs[i]))
	}
	return v
}

func viewPDR(p *session.PDR, usage Usage) PDR {
	v := PDR{
		ID: p.ID, Precedence: p.Precedence, SourceInterface: p.PDI.SourceInterface.String(),
		UEAddresses: viewUEAddress(p.PDI.UEAddress), NetworkInstance: p.PDI.NetworkInstance,
		OuterHeaderRemoval: p.OuterHeaderRemoval, FARID: p.FARID, QERIDs: p.QERIDs, Usage: usage,
	}
	if t := p.PDI.FTEID; t.TEID != 0 {
		v.FTEID = &FTEID{TEID(t.TEID), netip.AddrFrom4(t.IPv4)}
	}
	for q := uint8(1); q < 64; q++ {
		if p.PDI.QFIs.Has(q) {
			v.QFIs = append(v.QFIs, q)
		}
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

func viewFAR(f *session.FAR) FAR {
	v := FAR{ID: f.ID, ApplyAction: f.ApplyAction.String()}
	if !f.HasForwarding {
		return v
	}
	p := &f.Forwarding
	v.DestinationInterface, v.NetworkInstance = p.DestinationInterface.String(), p.NetworkInstance
	if p.HasDSCP {
		v.DSCP = &p.DSCP
	}
	if o := p.OuterHeaderCreation; o.TEID != 0 {
		v.OuterHeaderCreation = &FTEID{TEID(o.TEID), netip.AddrFrom4(o.IPv4)}
	}
	return v
}

func viewQER(q *session.QER) QER {
	v := QER{ID: q.ID, QFI: q.QFI, UplinkGateClosed: q.UplinkGateClosed, DownlinkGateClosed: q.DownlinkGateClosed}
	if q.HasMBR {
		v.UplinkMBR, v.DownlinkMBR = (*uint64)(&q.MBR.Uplink), (*uint64)(&q.MBR.Downlink)
	}
	if q.HasGBR {
		v.UplinkGBR, v.DownlinkGBR = (*uint64)(&q.GBR.Uplink), (*uint64)(&q.GBR.Downlink)
	}
	return v
}
