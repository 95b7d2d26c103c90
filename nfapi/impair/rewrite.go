package impair

import (
	"encoding/binary"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

const (
	microsPerFrame = 10_000
	offT2          = 4 // in UL_NODE_SYNC: T1, T2, T3
	offT3          = 8
)

// begin takes note of the first tick, and chooses the SFN's offset if it is to come round
// after some time. body is SLOT.indication's.
func (x *Box) begin(body []byte, now time.Duration) {
	sfn, _, ok := x.profile.PeekSlot(nfapi.MsgSlotIndication, body)
	if !ok || sfn >= frames {
		return
	}
	x.began, x.tick = true, now
	if x.config.WrapAfter > 0 {
		left := int(x.config.WrapAfter / (microsPerFrame * time.Microsecond))
		x.offset = uint16((2*frames-int(sfn)-left)%frames) / wrapMultiple * wrapMultiple
	}
}

// elapsed is the time since the first tick.
func (x *Box) elapsed(now time.Duration) time.Duration {
	if !x.began {
		return 0
	}
	return now - x.tick
}

// tickDelay is by how much a SLOT.indication is late.
func (x *Box) tickDelay(now time.Duration) time.Duration {
	if x.config.TickDriftPPM == 0 {
		return 0
	}
	most := x.config.TickDriftMax
	d := time.Duration(float64(x.elapsed(now))*x.config.TickDriftPPM/1e6) % most
	if x.config.TickDriftPPM < 0 {
		d += most
	}
	return d
}

// shift is by how many us the VNF's time is ahead of the PNF's: by SFNs, and by drift.
func (x *Box) shift(now time.Duration) int64 {
	drift := float64(x.elapsed(now)) / float64(time.Microsecond) * x.config.ClockDriftPPM / 1e6
	return int64(x.offset)*microsPerFrame + int64(drift)
}

// rewrite changes SFN and times in a datagram, and reports whether there was something to change. A
// datagram with a wrong checksum is not changed.
func (x *Box) rewrite(d Direction, h *nfapi.Header, b []byte, now time.Duration) bool {
	shift, offset := x.shift(now), int(x.offset)
	if d == ToPNF {
		shift, offset = -shift, -offset
	}
	if shift == 0 && offset == 0 {
		return false
	}
	state, _ := x.profile.Verify(h, b)
	if state == nfapi.ChecksumWrong {
		return false
	}
	_, body, err := x.profile.ParseP7(b)
	if err != nil {
		return false
	}
	if h.Whole() || h.SegmentNumber() == 0 {
		x.body(h.MessageID, body, shift, offset)
	}
	if h.Timestamp != 0 { // which is "not known"
		h.Timestamp = max(moved(h.Timestamp, shift), 1)
	}
	if state == nfapi.ChecksumAbsent {
		x.profile.Stamp(h.Generation, b, h.Timestamp)
	} else {
		x.profile.Seal(h.Generation, b, h.Timestamp)
	}
	return true
}

// body changes SFN and times in a body, or the first segment of one.
func (x *Box) body(id nfapi.MessageID, body []byte, shift int64, offset int) {
	order := binary.ByteOrder(binary.BigEndian)
	if x.profile == nfapi.Aerial {
		order = binary.LittleEndian
	}
	sfn, _, ok := x.profile.PeekSlot(id, body)
	switch {
	case ok && sfn < frames:
		order.PutUint16(body, uint16((int(sfn)+offset+frames)%frames))
	case id == nfapi.MsgULNodeSync && len(body) >= offT3+4:
		order.PutUint32(body[offT2:], moved(order.Uint32(body[offT2:]), shift))
		order.PutUint32(body[offT3:], moved(order.Uint32(body[offT3:]), shift))
	case id == nfapi.MsgTimingInfo && len(body) >= 4:
		if last := order.Uint32(body); last < frames {
			order.PutUint32(body, uint32((int(last)+offset+frames)%frames))
		}
	}
}

// moved is a time of the SFN cycle some us later.
func moved(t uint32, shift int64) uint32 {
	return uint32(((int64(t)+shift)%nfapi.SFNCycle + nfapi.SFNCycle) % nfapi.SFNCycle)
}

// stampOf is where a datagram has its time stamp.
func stampOf(p nfapi.Profile, known bool, h *nfapi.Header) (first, size int) {
	if !known || h.Generation == nfapi.GenFAPI {
		return 0, 0
	}
	n := nfapi.OAI2025.HeaderLen(nfapi.P7)
	if h.Generation == nfapi.Gen2024 {
		n = nfapi.OAI2024.HeaderLen(nfapi.P7)
	}
	return n - 4, 4
}
