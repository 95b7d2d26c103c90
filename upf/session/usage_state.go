package session

// URRState is what a URR has counted and told so far. It is part of the
// session's record, so that usage is reported once, whatever happens meanwhile.
//
// What a datapath counts, and how long the URR has metered, only ever grows. The
// state holds where these stood at the last report and where the next limits
// are, all absolute: so nothing is added up that could be added twice.
type URRState struct {
	// SEQN is the UR-SEQN of the next report; the first one has 0.
	// Source: TS 29.244 V18.6.0, 8.2.71.
	SEQN uint32 `record:"15"`
	// Start is when the measurement began that the next report is about.
	Start int64 `record:"16"`
	// Reported is what the datapath had counted at the last report,
	// ReportedNs how long the URR had metered then, in nanoseconds.
	Reported   Counts `record:"17 18 19 20"`
	ReportedNs int64  `record:"21"`

	// Volumes at which there is a report, or no more packets are forwarded.
	ThresholdAt Volume `record:"48.0 48.1 48.2 49 50 51"`
	QuotaAt     Volume `record:"52.0 52.1 52.2 53 54 55"`
	// The same of the metered time, in nanoseconds; 0: none.
	TimeThresholdAt int64 `record:"22"`
	TimeQuotaAt     int64 `record:"23"`
	// PeriodAt is when the next periodic report is due, ValidUntil when the
	// quota is no longer valid; 0: never.
	PeriodAt   int64 `record:"24"`
	ValidUntil int64 `record:"25"`

	// MeteredNs is how long the URR had metered before MeterSince, when it
	// began to meter again; MeterSince 0: it stands still.
	MeteredNs  int64 `record:"26"`
	MeterSince int64 `record:"27"`
	// Seen is how many packets had been counted when that was last looked at,
	// ActiveAt when it was first found to be so many.
	Seen     uint64 `record:"28"`
	ActiveAt int64  `record:"29"`

	Traffic   bool `record:"30.0"` // its start has been told, its stop has not
	Held      bool `record:"30.1"` // the Quota Holding Time has passed, and that was told
	Exhausted bool `record:"30.2"` // a quota is used up, and that was told: nothing is forwarded
	After     bool `record:"30.3"` // the next report is of usage after the Monitoring Time
	// Events are those that have been counted.
	Events EventState `record:"62.0:4 5 6 7 shared"`
	// Owed are reasons for a report that there was no room for.
	Owed UsageReportTrigger `record:"31"`

	// Dropped is what the datapath had counted of packets that it dropped instead
	// of buffering them when that was last looked at, DroppedReported what of it
	// has been reported.
	Dropped         Dropped `record:"56 57"`
	DroppedReported Dropped `record:"58 59"`
}

// Counts is what a datapath counted for a URR since it was installed: octets and
// packets of user packets that were forwarded. It never decreases.
type Counts struct {
	UplinkOctets, DownlinkOctets   uint64
	UplinkPackets, DownlinkPackets uint64
}

// Usage is what a datapath counted for a session.
type Usage struct {
	Packets uint64 // forwarded by any of its rules
	URRs    []URRCounts
}

// of returns what was counted for a URR; nothing if it is not there.
func (u *Usage) of(id uint32) Counts {
	for i := range u.URRs {
		if u.URRs[i].URRID == id {
			return u.URRs[i].Counts
		}
	}
	return Counts{}
}

// reached returns what was counted for a URR when a threshold was last reached.
func (u *Usage) reached(id uint32) Counts {
	for i := range u.URRs {
		if u.URRs[i].URRID == id {
			return u.URRs[i].Reached
		}
	}
	return Counts{}
}

// within reports whether all counts of c are from those of a to those of b.
func (c Counts) within(a, b Counts) bool {
	return a.UplinkOctets <= c.UplinkOctets && c.UplinkOctets <= b.UplinkOctets &&
		a.DownlinkOctets <= c.DownlinkOctets && c.DownlinkOctets <= b.DownlinkOctets &&
		a.UplinkPackets <= c.UplinkPackets && c.UplinkPackets <= b.UplinkPackets &&
		a.DownlinkPackets <= c.DownlinkPackets && c.DownlinkPackets <= b.DownlinkPackets
}

// URRCounts is what was counted for one URR.
type URRCounts struct {
	URRID uint32
	Counts
	Reached Counts // what it was when a volume threshold was last reached; zero: not known
	Dropped Dropped
}

// packets is how many there were.
func (c Counts) packets() uint64 { return c.UplinkPackets + c.DownlinkPackets }

// minus is what was counted since it was d.
func (c Counts) minus(d Counts) Counts {
	return Counts{
		UplinkOctets: c.UplinkOctets - d.UplinkOctets, DownlinkOctets: c.DownlinkOctets - d.DownlinkOctets,
		UplinkPackets: c.UplinkPackets - d.UplinkPackets, DownlinkPackets: c.DownlinkPackets - d.DownlinkPackets,
	}
}

// Inactivity is how far the User Plane Inactivity Timer of a session has got.
type Inactivity struct {
	// Seen is how many packets had been forwarded when that was last looked at,
	// ActiveAt when it was first found to be so many.
	Seen     uint64
	ActiveAt int64
	Told     bool // the CP function has been told
}

// UsageReport is one Usage Report of a URR. Points in time are Unix nanoseconds.
// Source: TS 29.244 V18.6.0, 7.5.5.2, 7.5.7.2 and 7.5.8.3.
type UsageReport struct {
	URRID   uint32             `record:"0"`
	SEQN    uint32             `record:"1"`
	Trigger UsageReportTrigger `record:"2"`

	// Start and End of the measurement. A report of the start or stop of traffic
	// has no measurement: Method is 0, and Start is that of a later report.
	Start       int64                  `record:"3"`
	End         int64                  `record:"4"`
	Method      MeasurementMethod      `record:"5"` // which of the following there is
	Information MeasurementInformation `record:"6"`
	Usage       Counts                 `record:"7 8 9 10"` // since the last report
	Duration    uint32                 `record:"11"`       // seconds

	// EventTimes are when the events were that Method has, at most maxEventTimes of
	// them; MACsDetected and MACsRemoved are what a MACAR report tells. None of these
	// lists is changed once it is made.
	EventTimes   []int64 `record:"14 shared"`
	MACsDetected []MAC   `record:"15 shared"`
	MACsRemoved  []MAC   `record:"16 shared"`

	// Before and After the Monitoring Time: usage is split there.
	Before bool `record:"12.0"`
	After  bool `record:"12.1"`

	// Answered is when it was put into the response to a request, which needs
	// no answer; 0: it is to be sent in a Session Report Request.
	Answered int64 `record:"13"`
}
