package analyze

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/capture"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// cellKey is one PHY of a PNF: the VNF may send from any port.
type cellKey struct {
	vnf netip.Addr
	pnf netip.AddrPort
	phy uint16
}

// keyOf says which cell a message is of, and which way it goes; ok is false for those
// that may go either way.
func keyOf(e *capture.Event) (key cellKey, d stopwatch.Direction, ok bool) {
	switch e.Header.MessageID {
	case nfapi.MsgDLTTIRequest, nfapi.MsgULTTIRequest, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest, nfapi.MsgDLNodeSync:
		return cellKey{e.From.Addr(), e.To, e.Header.PhyID}, stopwatch.ToPNF, true
	case nfapi.MsgSlotIndication, nfapi.MsgRXDataIndication, nfapi.MsgCRCIndication, nfapi.MsgUCIIndication, nfapi.MsgSRSIndication,
		nfapi.MsgRACHIndication, nfapi.MsgULNodeSync, nfapi.MsgTimingInfo:
		return cellKey{e.To.Addr(), e.From, e.Header.PhyID}, stopwatch.ToVNF, true
	}
	return cellKey{}, 0, false
}

// learned is what the first pass finds out about a cell.
type learned struct {
	mu    slot.Numerology
	ticks []stampedTick
	ways  [2]least
	whole bool // it has a message that is not cut off
	cut   bool // it has one that is
}

// stampedTick is a SLOT.indication with a time stamp.
type stampedTick struct {
	sfn, slot uint16
	timestamp uint32
}

const (
	maxVotes = 512 // SLOT.indications that say how far ahead they are
)

// least is the shortest delay of a direction, apart from an offset of the clocks.
type least struct {
	known  bool
	offset int64         // us that are added to time stamps
	least  time.Duration // then
}

const cycleMicros = int64(slot.Cycle / time.Microsecond)

// arrivalMicros is a time of the capture in us of some cycle of 10.24 s.
func arrivalMicros(at time.Time) int64 {
	return (at.UnixMicro()%cycleMicros + cycleMicros) % cycleMicros
}

func (l *least) learn(timestamp uint32, at time.Time) {
	if !l.known {
		l.known, l.offset = true, arrivalMicros(at)-int64(timestamp)
	}
	l.least = min(l.least, l.delay(timestamp, at))
}

// delay is that of a message with a time stamp, apart from an offset that is the same
// for all of a direction.
func (l *least) delay(timestamp uint32, at time.Time) time.Duration {
	sent := ((int64(timestamp)+l.offset)%cycleMicros + cycleMicros) % cycleMicros
	return stopwatch.Transit(uint32(sent), uint32(arrivalMicros(at)))
}

// learn reads the file once. unseen is how many datagrams of P7 are cut off before the end of
// their headers, so that it is not known of which cell they are.
func learn(r io.Reader, o Options) (cells map[cellKey]*learned, unseen int, err error) {
	cells = map[cellKey]*learned{}
	stats, err := capture.Read(r, capture.Options{Profile: o.Profile, P5Ports: o.P5Ports}, func(e *capture.Event) error {
		key, d, ok := keyOf(e)
		if !ok || e.Plane != nfapi.P7 || e.Checksum == nfapi.ChecksumWrong {
			return nil
		}
		c := cells[key]
		if c == nil {
			if len(cells) == maxCells {
				return nil
			}
			c = &learned{}
			cells[key] = c
		}
		if errors.Is(e.Err, capture.ErrCut) {
			c.cut = true
			return nil
		}
		c.whole = true
		c.learn(e, d)
		return nil
	})
	if cutShort(stats, err) {
		err = nil
	}
	return cells, stats.Unseen, err
}

func (l *learned) learn(e *capture.Event, d stopwatch.Direction) {
	_, n, ok := nfapi.SlotOf(e.Message)
	spacing := spacingOf(e.Message)
	for l.mu < slot.MaxNumerology && (ok && int(n) >= l.mu.PerFrame() || spacing > l.mu) {
		l.mu++
	}
	if e.Header.Timestamp == 0 { // OpenAirInterface's PNF sets none
		return
	}
	l.ways[d].learn(e.Header.Timestamp, e.At)
	if m, ok := e.Message.(*nfapi.SlotIndication); ok && len(l.ticks) < maxVotes {
		l.ticks = append(l.ticks, stampedTick{m.SFN, m.Slot, e.Header.Timestamp})
	}
}

// ahead is the number of slots by which most SLOT.indications were sent ahead, -1 if unknown.
func (l *learned) ahead() int {
	var votes [MaxSlotAhead + 1]int
	best, most := -1, 0
	for _, t := range l.ticks {
		n, ok := l.mu.Number(t.sfn, t.slot)
		if !ok {
			continue
		}
		sent := slot.Number(int64(t.timestamp) << l.mu / 1000 % int64(l.mu.PerCycle()))
		ahead := l.mu.Distance(n, sent)
		if ahead < 0 || ahead > MaxSlotAhead {
			continue
		}
		if votes[ahead]++; votes[ahead] > most {
			best, most = ahead, votes[ahead]
		}
	}
	return best
}

// spacingOf is the highest subcarrier spacing in a request.
func spacingOf(m nfapi.Message) slot.Numerology {
	highest := uint8(0)
	switch m := m.(type) {
	case *nfapi.DLTTIRequest:
		for i := range m.PDUs {
			if m.PDUs[i].Type == typePDSCH {
				highest = max(highest, m.PDUs[i].PDSCH.SubcarrierSpacing)
			}
		}
	case *nfapi.ULTTIRequest:
		for i := range m.PDUs {
			if m.PDUs[i].Type == typePUSCH {
				highest = max(highest, m.PDUs[i].PUSCH.SubcarrierSpacing)
			}
		}
	}
	if highest > uint8(slot.MaxNumerology) { // another clock than those that there are
		return 0
	}
	return slot.Numerology(highest)
}

// Types of PDUs. Source: SCF 222.10.02, 3.4.2 and 3.4.3.
const (
	typePDSCH = 1
	typePUSCH = 1
	typePUCCH = 2

	puschData = 1 << 0 // of PUSCHPDU.PDUBitmap
	puschUCI  = 1 << 1
)
