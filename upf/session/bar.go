package session

import "time"

// BAR is a Buffering Action Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.6.
type BAR struct {
	ID uint8 `record:"0"`
	// NotificationDelay is how long after the first packet that is buffered the
	// CP function is told; a multiple of 50 ms.
	NotificationDelay time.Duration `record:"1"`
	// Packets is the Suggested Buffering Packets Count; 0: none.
	Packets uint16 `record:"2"`
	// Duration is the DL Buffering Duration; 0: none.
	Duration time.Duration `record:"3"`
}

// UpdateBAR changes those parts of a BAR that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.11.
type UpdateBAR struct {
	ID                uint8
	NotificationDelay Optional[time.Duration]
	Packets           Optional[uint16]
	Duration          Optional[time.Duration]
}

// apply changes b as u says.
func (u *UpdateBAR) apply(b *BAR) {
	if u.NotificationDelay.Present {
		b.NotificationDelay = u.NotificationDelay.Value
	}
	if u.Packets.Present {
		b.Packets = u.Packets.Value
	}
	if u.Duration.Present {
		b.Duration = u.Duration.Value
	}
}
