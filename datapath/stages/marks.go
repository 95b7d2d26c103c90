package stages

import "github.com/plumbline-upf/plumbline/datapath/api"

// Marks is what the QERs of a rule write into downlink packets, beside the QFI.
// The zero value is nothing. Where several QERs have a mark, the first one's is
// taken.
//
// Source: TS 29.244 V18.6.0, 8.2.66 (DL Flow Level Marking), 8.2.88 (RQI),
// 8.2.116 (Paging Policy Indicator).
type Marks struct {
	RQI bool
	// TOS is put into the outer header's ToS or Traffic Class under TOSMask. ECN is
	// not the QER's to write.
	TOS, TOSMask    byte
	HasServiceClass bool
	ServiceClass    byte
	HasPaging       bool
	Paging          byte
}

const maskDSCP = 0xfc

// add takes over what q marks, if no QER before it did.
func (m *Marks) add(q *api.QER) {
	m.RQI = m.RQI || q.GetRqi()
	if mask := byte(q.GetDownlinkTosMask()) & maskDSCP; mask != 0 && m.TOSMask == 0 {
		m.TOS, m.TOSMask = byte(q.GetDownlinkTos())&mask, mask
	}
	if q.ServiceClass != nil && !m.HasServiceClass {
		m.HasServiceClass, m.ServiceClass = true, byte(q.GetServiceClass())
	}
	if q.PagingPolicy != nil && !m.HasPaging {
		m.HasPaging, m.Paging = true, byte(q.GetPagingPolicy())
	}
}

// dscp returns what becomes of the DSCP of an outer header.
func (m *Marks) dscp(dscp byte) byte {
	return dscp&^(m.TOSMask>>2) | m.TOS>>2
}
