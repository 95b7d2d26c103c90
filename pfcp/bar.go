package pfcp

import "time"

// BAR is a Create BAR, or an Update BAR, in which what is absent stays as it
// is. Source: TS 29.244 V18.6.0, tables 7.5.2.6-1, 7.5.4.11-1 and 7.5.9.2-1.
type BAR struct {
	BARID                     uint8
	NotificationDelay         Optional[NotificationDelay] // Downlink Data Notification Delay
	BufferingDuration         Optional[Timer]             // DL Buffering Duration
	BufferingSuggestedPackets Optional[uint16]            // DL Buffering Suggested Packet Count
	SuggestedBufferingPackets Optional[uint8]             // Suggested Buffering Packets Count: uplink and downlink together
	Noted                     IEType                      // the first IE that changes the rule's meaning but is not decoded; 0: none
	Removed                   []IEType                    // of an Update BAR: IEs of null length, whose parameters are removed
}

func (p *BAR) reset() { *p = BAR{Removed: p.Removed[:0]} }

func (p *BAR) noted() *IEType { return &p.Noted }

// The three ways to write a BAR. Since Rel-18 their IEs are the same.
var (
	createBAR       = newBAR("Create BAR", "7.5.2.6", nil)
	updateBAR       = newBAR("Update BAR (Session Modification Request)", "7.5.4.11", func(p *BAR) *[]IEType { return &p.Removed })
	updateBARReport = newBAR("Update BAR (Session Report Response)", "7.5.9.2", func(p *BAR) *[]IEType { return &p.Removed })
)

func newBAR(name, clause string, removed func(*BAR) *[]IEType) *container[BAR] {
	return newContainer(container[BAR]{
		name: name, clause: clause, reset: (*BAR).reset, removed: removed,
		members: []member[BAR]{
			one(IEBARID, func(p *BAR) *uint8 { return &p.BARID }, u8[uint8]()),
			opt(IEDownlinkDataNotificationDelay, conditional, func(p *BAR) *Optional[NotificationDelay] { return &p.NotificationDelay }, u8[NotificationDelay]()),
			opt(IEDLBufferingDuration, conditional, func(p *BAR) *Optional[Timer] { return &p.BufferingDuration }, u8[Timer]()),
			opt(IEDLBufferingSuggestedPacketCount, optional, func(p *BAR) *Optional[uint16] { return &p.BufferingSuggestedPackets }, packetCount),
			opt(IESuggestedBufferingPacketsCount, conditional, func(p *BAR) *Optional[uint8] { return &p.SuggestedBufferingPackets }, u8[uint8]()),
			note(IEMTEDTControlInformation, optional, (*BAR).noted),
			note(IEMTSDTControlInformation, optional, (*BAR).noted),
			note(IEExtendedDLBufferingNotificationPolicy, conditional, (*BAR).noted),
		},
	})
}

// NotificationDelay is a Downlink Data Notification Delay, in units of 50 ms;
// 0: none. Source: TS 29.244 V18.6.0, 8.2.28.
type NotificationDelay uint8

// Duration returns the delay.
func (d NotificationDelay) Duration() time.Duration { return time.Duration(d) * 50 * time.Millisecond }

// packetCount is a DL Buffering Suggested Packet Count, of 1 octet or 2.
// Source: TS 29.244 V18.6.0, 8.2.30.
var packetCount = codec[uint16]{
	func(v *uint16, b []byte) error {
		*v = 0
		for _, octet := range b {
			*v = *v<<8 | uint16(octet)
		}
		return nil
	},
	func(b []byte, v *uint16) []byte { return append(b, byte(*v>>8), byte(*v)) },
}

// Timer is a Timer, DL Buffering Duration or Graceful Release Period: a unit
// in the upper 3 bits and a value in the lower 5.
// Source: TS 29.244 V18.6.0, 8.2.29, 8.2.35 and 8.2.78.
type Timer uint8

// TimerInfinite is the timer that never ends.
const TimerInfinite Timer = 7 << timerShift

const (
	timerShift = 5
	timerMask  = 1<<timerShift - 1
)

// timerUnits are the units of the values 0 to 4 in the upper bits. "Other
// values shall be interpreted as multiples of 1 minute", except 7.
var timerUnits = [...]time.Duration{2 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour}

// NewTimer returns the shortest timer that is not shorter than d, the
// greatest finite one at most.
func NewTimer(d time.Duration) Timer {
	for unit, length := range timerUnits {
		if n := (d + length - 1) / length; n <= timerMask {
			return Timer(unit<<timerShift) | Timer(max(n, 0))
		}
	}
	return Timer((len(timerUnits)-1)<<timerShift | timerMask)
}

// Infinite reports whether the timer never ends.
func (t Timer) Infinite() bool { return t>>timerShift == TimerInfinite>>timerShift }

// Duration returns how long a finite timer runs.
func (t Timer) Duration() time.Duration {
	unit := time.Minute
	if u := int(t >> timerShift); u < len(timerUnits) {
		unit = timerUnits[u]
	}
	return unit * time.Duration(t&timerMask)
}
