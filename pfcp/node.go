package pfcp

// HeartbeatRequest is a Heartbeat Request.
// Source: TS 29.244 V18.6.0, table 7.4.2.1-1.
type HeartbeatRequest struct {
	RecoveryTimeStamp TimeStamp
}

var heartbeatRequest = newContainer(container[HeartbeatRequest]{
	name: "Heartbeat Request", clause: "7.4.2.1",
	reset: zero[HeartbeatRequest],
	members: []member[HeartbeatRequest]{
		one(IERecoveryTimeStamp, func(m *HeartbeatRequest) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
		skip[HeartbeatRequest](IESourceIPAddress, optional),
	},
})

// HeartbeatResponse is a Heartbeat Response.
// Source: TS 29.244 V18.6.0, table 7.4.2.2-1.
type HeartbeatResponse struct {
	RecoveryTimeStamp TimeStamp
}

var heartbeatResponse = newContainer(container[HeartbeatResponse]{
	name: "Heartbeat Response", clause: "7.4.2.2",
	reset: zero[HeartbeatResponse],
	members: []member[HeartbeatResponse]{
		one(IERecoveryTimeStamp, func(m *HeartbeatResponse) *TimeStamp { return &m.RecoveryTimeStamp }, u32[TimeStamp]()),
	},
})
