package vnf

import (
	"fmt"
	"io"
	"net/netip"
	"text/tabwriter"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// Stats is how a VNF is doing.
type Stats struct {
	PNFs    []PNFStats `json:"pnfs"`
	Refused uint64     `json:"refused_connections"`
}

// PNFStats is how one PNF is doing.
type PNFStats struct {
	Name        string     `json:"name"`
	Stage       string     `json:"stage"` // idle: not connected
	Address     string     `json:"address,omitempty"`
	Connections uint64     `json:"connections"` // that were taken
	Errors      uint64     `json:"error_indications"`
	Reason      string     `json:"reason,omitempty"` // of the last failure
	PHYs        []PHYStats `json:"phys"`
}

// PHYStats is how one PHY is doing.
type PHYStats struct {
	ID     uint16         `json:"id"`
	Stage  string         `json:"stage"`
	Reason string         `json:"reason,omitempty"`
	P7     netip.AddrPort `json:"p7"`
	Peer   netip.AddrPort `json:"pnf_p7"`
	Counts PHYCounts      `json:"counts"`
	// Socket is what P7's has counted.
	Socket transport.P7Stats `json:"socket"`

	// Synchronised: node sync knows the PNF's clock, by Offset from the VNF's and with
	// Delay one way. Lead is how long before its air slot a slot is scheduled, if the
	// VNF's own clock does it; AheadSlots how many slots ahead the last SLOT.indication
	// was. Of a PHY that was stopped it is what was so then.
	Synchronised bool          `json:"synchronised"`
	Offset       time.Duration `json:"offset_ns"`
	Delay        time.Duration `json:"delay_ns"`
	Lead         time.Duration `json:"lead_ns,omitempty"`
	AheadSlots   int           `json:"ahead_slots"`
}

// PHYCounts counts since the VNF has been running.
type PHYCounts struct {
	Slots        uint64 `json:"slots"`            // that the MAC has scheduled
	Skipped      uint64 `json:"slots_skipped"`    // that could not be reached any more
	Ticks        uint64 `json:"slot_indications"` // that were new
	TicksLost    uint64 `json:"slot_indications_lost"`
	TicksLate    uint64 `json:"slot_indications_late"` // of those that are old: out of order, and not lost
	TicksOld     uint64 `json:"slot_indications_old"`  // duplicates, and out of order
	TicksStrange uint64 `json:"slot_indications_strange"`
	Jumps        uint64 `json:"clock_jumps"`

	DLTTI  uint64 `json:"dl_tti"`
	ULTTI  uint64 `json:"ul_tti"`
	ULDCI  uint64 `json:"ul_dci"`
	TXData uint64 `json:"tx_data"`
	RXData uint64 `json:"rx_data"`
	CRC    uint64 `json:"crc"`
	UCI    uint64 `json:"uci"`
	SRS    uint64 `json:"srs"`
	RACH   uint64 `json:"rach"`

	NotSent     uint64 `json:"not_sent"`
	Invalid     uint64 `json:"invalid"` // that could not be decoded
	Stale       uint64 `json:"stale"`   // indications of slots far from now
	Ignored     uint64 `json:"ignored"` // of no PHY that runs, or of no known type
	SyncAnswers uint64 `json:"node_sync_answers"`
	SyncOdd     uint64 `json:"node_sync_odd"` // answers to nothing, or that cannot be
	TimingInfos uint64 `json:"timing_infos"`
	LateReports uint64 `json:"late_reports"` // of the PNF about requests
}

// stats is a snapshot.
func (p *phy) stats() PHYStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PHYStats{ID: p.id, Peer: p.peer, Counts: p.count}
	if p.sync.ok() {
		s.Synchronised, s.Offset, s.Delay = true, p.sync.offset, p.sync.delay
		if now, _ := p.sync.clock().Slot(p.heard.Add(-p.sync.delay)); p.ticks.begun {
			s.AheadSlots = p.cell.Numerology.Distance(p.ticks.last, now)
		}
	}
	if p.autonomous() {
		s.Lead = p.lead.now
	}
	return s
}

// Print writes s as text.
func (s *Stats) Print(w io.Writer) error {
	for i := range s.PNFs {
		p := &s.PNFs[i]
		fmt.Fprintf(w, "PNF %s: %s, %d connections, %d ERROR.indications", p.Name, p.Stage, p.Connections, p.Errors)
		if p.Reason != "" {
			fmt.Fprintf(w, "; last failure: %s", p.Reason)
		}
		fmt.Fprintln(w)
		for j := range p.PHYs {
			if err := p.PHYs[j].print(w); err != nil {
				return err
			}
		}
	}
	if s.Refused > 0 {
		fmt.Fprintf(w, "%d connections of strangers refused\n", s.Refused)
	}
	return nil
}

func (s *PHYStats) print(w io.Writer) error {
	fmt.Fprintf(w, "  PHY %d: %s", s.ID, s.Stage)
	if s.Synchronised {
		fmt.Fprintf(w, ", %d slots ahead, node sync: offset %v, delay %v", s.AheadSlots, s.Offset, s.Delay)
	}
	if s.Lead > 0 {
		fmt.Fprintf(w, ", lead %v", s.Lead)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range s.rows() {
		if row.value > 0 || !row.odd {
			fmt.Fprintf(t, "    %s\t%d\n", row.name, row.value)
		}
	}
	return t.Flush()
}

// row is a line of text; odd ones are there only if there is something to say.
type row struct {
	name  string
	value uint64
	odd   bool
}

func (s *PHYStats) rows() []row {
	c, p7 := &s.Counts, &s.Socket
	return []row{
		{"slots scheduled", c.Slots, false}, {"slots that could not be reached", c.Skipped, false},
		{"SLOT.indications", c.Ticks, false}, {"  lost", c.TicksLost, false}, {"  repeated or out of order", c.TicksOld, true}, {"    out of order", c.TicksLate, true},
		{"  strange", c.TicksStrange, true}, {"jumps of the clock", c.Jumps, true},
		{"DL_TTI.requests", c.DLTTI, false}, {"UL_TTI.requests", c.ULTTI, false}, {"UL_DCI.requests", c.ULDCI, false},
		{"TX_DATA.requests", c.TXData, false}, {"RX_DATA.indications", c.RXData, false}, {"CRC.indications", c.CRC, false},
		{"UCI.indications", c.UCI, false}, {"SRS.indications", c.SRS, true}, {"RACH.indications", c.RACH, false},
		{"node syncs", c.SyncAnswers, false}, {"  odd", c.SyncOdd, true}, {"TIMING_INFOs", c.TimingInfos, false},
		{"reports of lateness", c.LateReports, false}, {"not sent", c.NotSent, true}, {"not understood", c.Invalid, true},
		{"indications of other times", c.Stale, true}, {"ignored", c.Ignored, true},
		{"datagrams with a wrong checksum", p7.WrongChecksum, true}, {"datagrams without a header", p7.Malformed, true},
		{"datagrams of strangers", p7.Strangers, true}, {"datagrams that the kernel dropped", p7.Overflow, true},
		{"messages with segments missing", p7.Incomplete, true},
	}
}
