package vnf

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// errNoSlot is about SFN and slot that the cell has not.
func errNoSlot(sfn, s uint16) error { return fmt.Errorf("there is no slot %d.%d", sfn, s) }

// indication gives the MAC what the PHY says about a slot.
func (p *phy) indication(d *transport.Datagram) error {
	id := d.Header.MessageID
	m, have, count := p.heardOf(id)
	if m == nil {
		p.count.Ignored++
		return nil
	}
	n, err := p.slotOf(d)
	if err != nil {
		return err
	}
	// The first tick sets the time; a much too late one is useless.
	if !p.ticks.begun || !near(p.cell.Numerology, n, p.ticks.last) {
		p.count.Stale++
		return nil
	}
	begin := p.now()
	if err := m.DecodeBody(d.Profile, d.Body); err != nil {
		return err
	}
	decoded := p.now()
	*count++
	p.indications.At, p.indications.Have = n, have
	p.mac.Indicate(&p.indications)
	p.watch.Execution(stopwatch.StepUnpack, id, decoded.Sub(begin))
	done := p.now()
	p.watch.Execution(stopwatch.StepIndicate, id, done.Sub(decoded))
	if p.timed(d) {
		p.watch.Handled(m, p.since(d, done))
	}
	return nil
}

// heardOf is where an indication is decoded to; nil if it is none.
func (p *phy) heardOf(id nfapi.MessageID) (nfapi.Message, fapi.Have, *uint64) {
	i, c := &p.indications, &p.count
	switch id {
	case nfapi.MsgRXDataIndication:
		return &i.RXData, fapi.RXData, &c.RXData
	case nfapi.MsgCRCIndication:
		return &i.CRC, fapi.CRC, &c.CRC
	case nfapi.MsgUCIIndication:
		return &i.UCI, fapi.UCI, &c.UCI
	case nfapi.MsgSRSIndication:
		return &i.SRS, fapi.SRS, &c.SRS
	case nfapi.MsgRACHIndication:
		return &i.RACH, fapi.RACH, &c.RACH
	}
	return nil, 0, nil
}

func (p *phy) slotOf(d *transport.Datagram) (slot.Number, error) {
	sfn, s, ok := d.Profile.PeekSlot(d.Header.MessageID, d.Body)
	if !ok {
		return 0, fmt.Errorf("%v of %d octets: %w", d.Header.MessageID, len(d.Body), nfapi.ErrShort)
	}
	n, ok := p.cell.Numerology.Number(sfn, s)
	if !ok {
		return 0, errNoSlot(sfn, s)
	}
	return n, nil
}
