package upf

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// PredefinedRule is a rule that CP functions activate by its name: packets that
// match the PDR for which it is active, and one of its flows, are treated by it.
// Source: TS 29.244 V18.6.0, 5.19.
type PredefinedRule struct {
	Name       string `yaml:"name" json:"name"`
	Precedence int    `yaml:"precedence" json:"precedence"` // lower is matched first
	// Flows are Flow Descriptions; empty: any packet.
	// Source: TS 29.212 V18, 5.4.2.
	Flows []string `yaml:"flows" json:"flows"`
	Drop  bool     `yaml:"drop" json:"drop"` // else by the PDR's FAR
	// QFI and MBRs replace the PDR's QERs if any of them is set.
	QFI         int     `yaml:"qfi" json:"qfi"`
	UplinkMBR   BitRate `yaml:"uplink_mbr" json:"uplink_mbr"`
	DownlinkMBR BitRate `yaml:"downlink_mbr" json:"downlink_mbr"`
}

// maxPredefined is how many predefined rules there may be.
const maxPredefined = 256

func (c *Config) checkPredefined(m *checks) {
	m.Want(len(c.Predefined) <= maxPredefined, "predefined_rules", len(c.Predefined), fmt.Sprintf("at most %d", maxPredefined))
	var seen []string
	for i := range c.Predefined {
		r, key := &c.Predefined[i], fmt.Sprintf("predefined_rules[%d]", i)
		m.name(key+".name", r.Name, &seen)
		m.Want(r.Precedence >= 0, key+".precedence", r.Precedence, "0 or more")
		m.Want(r.QFI >= 0 && r.QFI <= 63, key+".qfi", r.QFI, "0 (none) to 63")
		for j, f := range r.Flows {
			var filter session.SDFFilter
			err := session.ParseFlow([]byte(f), &filter)
			m.Want(err == nil, fmt.Sprintf("%s.flows[%d]", key, j), f,
				`a flow, such as "permit out udp from 198.51.100.0/24 53 to assigned"`)
		}
	}
}

// session is the rule as the session manager knows it. The flows have been
// checked.
func (r *PredefinedRule) session() session.PredefinedRule {
	out := session.PredefinedRule{Name: r.Name, Precedence: uint32(r.Precedence), Drop: r.Drop}
	for _, f := range r.Flows {
		var filter session.SDFFilter
		_ = session.ParseFlow([]byte(f), &filter) // Validate did it before
		out.Filters = append(out.Filters, filter)
	}
	if r.QFI == 0 && r.UplinkMBR == 0 && r.DownlinkMBR == 0 {
		return out
	}
	out.HasQER, out.QER.QFI = true, uint8(r.QFI)
	if r.UplinkMBR != 0 || r.DownlinkMBR != 0 {
		out.QER.HasMBR = true
		out.QER.MBR = session.Rate{Uplink: unlimited(r.UplinkMBR), Downlink: unlimited(r.DownlinkMBR)}
	}
	return out
}

// unlimited is an MBR in which 0 means that there is no limit, as a rate: to a
// QER an MBR of 0 is a closed gate.
func unlimited(r BitRate) session.BitsPerSecond {
	if r == 0 {
		return maxBitRate
	}
	return session.BitsPerSecond(r)
}
