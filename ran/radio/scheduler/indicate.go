package scheduler

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// Indicate implements [fapi.MAC].
func (s *Scheduler) Indicate(i *fapi.Indications) {
	n := i.At
	if i.Have&(fapi.UCI|fapi.CRC|fapi.RXData) != 0 {
		s.overdue.indicated(s.mu, n)
	}
	if i.Have&fapi.RACH != 0 {
		for at := range i.RACH.PDUs {
			for _, p := range i.RACH.PDUs[at].Preambles {
				if u := s.byRACH[p.Index]; u != nil {
					s.preamble(u, n)
				}
			}
		}
	}
	if i.Have&fapi.UCI != 0 {
		for at := range i.UCI.UCIs {
			s.uci(n, &i.UCI.UCIs[at])
		}
	}
	if i.Have&fapi.CRC != 0 {
		for at := range i.CRC.CRCs {
			s.crc(n, &i.CRC.CRCs[at])
		}
	}
	if i.Have&fapi.RXData != 0 {
		for at := range i.RXData.PDUs {
			s.data(n, &i.RXData.PDUs[at])
		}
		s.flush()
	}
}

// known is the UE of an RNTI; nil if there is none, or if it was not heard of yet.
func (s *Scheduler) known(rnti uint16) *ue {
	if u := s.byRNTI[rnti]; u != nil && u.known {
		return u
	}
	s.count.Unknown.Add(1)
	return nil
}

// The types of a UCI, its content bits and their values. Source: SCF
// 222.10.02, tables 3-64 to 3-70.
const (
	uciFormat01  = 1
	uciFormat234 = 2

	hasSR   = 1 << 0
	hasHARQ = 1 << 1

	valueACK  = 0
	valueNACK = 1

	crcFail = 1
)

func (s *Scheduler) uci(n slot.Number, m *nfapi.UCI) {
	switch m.Type {
	case uciFormat01:
		f := &m.Format01
		u := s.known(f.RNTI)
		if u == nil {
			return
		}
		if f.PDUBitmap&hasSR != 0 && f.SR.Indication == 1 {
			s.request(u)
		}
		if f.PDUBitmap&hasHARQ != 0 {
			s.feedback(n, u, func(bit int) verdict { return value(f.HARQ.Values, bit) })
		}
	case uciFormat234:
		f := &m.Format234
		u := s.known(f.RNTI)
		if u == nil {
			return
		}
		if f.PDUBitmap&hasSR != 0 && f.SR.BitLen > 0 && len(f.SR.Payload) > 0 && f.SR.Payload[0]&1 != 0 {
			s.request(u)
		}
		if f.PDUBitmap&hasHARQ != 0 {
			s.feedback(n, u, func(bit int) verdict { return bitValue(&f.HARQ, bit) })
		}
	}
}

// verdict is what feedback says of a transport block.
type verdict uint8

const (
	absent verdict = iota // not detected: DTX
	ack
	nack
)

func value(values []byte, bit int) verdict {
	if bit >= len(values) {
		return absent
	}
	switch values[bit] {
	case valueACK:
		return ack
	case valueNACK:
		return nack
	}
	return absent
}

func bitValue(h *nfapi.HARQBits, bit int) verdict {
	if h.CRC == crcFail || bit >= int(h.BitLen) || bit/8 >= len(h.Payload) {
		return absent
	}
	if h.Payload[bit/8]>>(bit%8)&1 == 1 {
		return ack
	}
	return nack
}

func (s *Scheduler) request(u *ue) {
	s.count.Requests.Add(1)
	u.confirmed = true
	u.request = true
}

// feedback is that of slot n, which some processes wait for.
func (s *Scheduler) feedback(n slot.Number, u *ue, of func(bit int) verdict) {
	awaited := false
	for i := range u.downlink {
		p := &u.downlink[i]
		if p.state != waiting || p.awaited != n {
			continue
		}
		awaited = true
		switch of(s.rrc.Bit(n, p.at)) {
		case ack:
			p.state = free
			u.confirmed = true
			s.count.Downlink.Good.Add(1)
		case nack:
			u.confirmed = true
			s.count.Downlink.Bad.Add(1)
			s.failed(p, &s.count.Downlink)
		case absent:
			s.count.Downlink.Absent.Add(1)
			s.failed(p, &s.count.Downlink)
		}
	}
	if !awaited {
		s.count.Stale.Add(1)
	}
}

// awaited is the process of a UE that waits for the PUSCH of slot n.
func (s *Scheduler) awaited(n slot.Number, rnti uint16, harq uint8) (*ue, *process) {
	u := s.known(rnti)
	if u == nil {
		return nil, nil
	}
	if harq < radio.MaxHARQ {
		if p := &u.uplink[harq]; p.state == waiting && p.awaited == n {
			return u, p
		}
	}
	s.count.Stale.Add(1)
	return nil, nil
}

// crc is whether a PUSCH was decoded. If it was, its octets come with RX_DATA, or are
// overdue some time.
func (s *Scheduler) crc(n slot.Number, m *nfapi.CRC) {
	u, p := s.awaited(n, m.RNTI, m.HARQID)
	switch {
	case p == nil:
	case m.TBCRCStatus == 0:
		p.good = true
	default:
		s.count.Uplink.Bad.Add(1)
		s.abandon(u, p)
	}
}

// data is the transport block of a PUSCH.
func (s *Scheduler) data(n slot.Number, m *nfapi.RXDataPDU) {
	if len(m.Payload) == 0 {
		return // CRC.indication tells why
	}
	u, p := s.awaited(n, m.RNTI, m.HARQID)
	if p == nil {
		return
	}
	p.state = free
	u.confirmed = true
	s.count.Uplink.Good.Add(1)
	s.count.Uplink.Octets.Add(uint64(len(m.Payload)))
	built := p.built
	octets, err := u.bearer.Receive(m.Payload)
	if err != nil {
		s.count.Malformed.Add(1)
	}
	if octets >= 0 {
		s.report(u, built, octets)
	}
}
