package pfcp

// LoadControl is a Load Control Information.
// Source: TS 29.244 V18.6.0, table 7.5.3.3-1.
type LoadControl struct {
	SequenceNumber uint32 // of newer information it is greater
	Metric         Metric // load
}

var loadControl = newContainer(container[LoadControl]{
	name: "Load Control Information", clause: "7.5.3.3", reset: zero[LoadControl],
	members: []member[LoadControl]{
		one(IESequenceNumber, func(p *LoadControl) *uint32 { return &p.SequenceNumber }, u32[uint32]()),
		one(IEMetric, func(p *LoadControl) *Metric { return &p.Metric }, metric),
	},
})

// OverloadControl is an Overload Control Information.
// Source: TS 29.244 V18.6.0, table 7.5.3.4-1.
type OverloadControl struct {
	SequenceNumber   uint32 // of newer information it is greater
	Metric           Metric // Overload Reduction Metric: the part of requests to leave out
	PeriodOfValidity Timer
	Flags            OCIFlags
}

var overloadControl = newContainer(container[OverloadControl]{
	name: "Overload Control Information", clause: "7.5.3.4", reset: zero[OverloadControl],
	members: []member[OverloadControl]{
		one(IESequenceNumber, func(p *OverloadControl) *uint32 { return &p.SequenceNumber }, u32[uint32]()),
		one(IEMetric, func(p *OverloadControl) *Metric { return &p.Metric }, metric),
		one(IETimer, func(p *OverloadControl) *Timer { return &p.PeriodOfValidity }, u8[Timer]()),
		flags(IEOCIFlags, conditional, func(p *OverloadControl) *OCIFlags { return &p.Flags }),
	},
})

// OCIFlags is OCI Flags. Source: TS 29.244 V18.6.0, 8.2.76.
type OCIFlags uint8

// OCIAOCI says that the information is about the Node ID, not the address.
const OCIAOCI OCIFlags = 1

// Metric is a percentage, 0 to 100. Source: TS 29.244 V18.6.0, 8.2.34.
type Metric uint8

// metric takes what is above 100 as 0, as the specification says.
var metric = codec[Metric]{
	func(v *Metric, b []byte) error {
		if *v = Metric(b[0]); *v > 100 {
			*v = 0
		}
		return nil
	},
	func(b []byte, v *Metric) []byte { return append(b, byte(*v)) },
}

// loadMembers are the IEs by which a UP function tells its load.
func loadMembers[T any](load func(*T) *Optional[LoadControl], overload func(*T) *Optional[OverloadControl]) (a, b member[T]) {
	return opt(IELoadControlInformation, optional, load, loadControl.codec()),
		opt(IEOverloadControlInformation, optional, overload, overloadControl.codec())
}
