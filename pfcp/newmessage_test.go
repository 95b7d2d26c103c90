package pfcp

// NewMessage returns an empty message of the type, ready to be decoded into, or
// nil if there is no type of that number or it is a header alone.
func NewMessage(t MessageType) Message {
	if f := newMessages[t]; f != nil {
		return f()
	}
	return nil
}

var newMessages = map[MessageType]func() Message{
	MsgHeartbeatRequest:             func() Message { return new(HeartbeatRequest) },
	MsgHeartbeatResponse:            func() Message { return new(HeartbeatResponse) },
	MsgPFDManagementRequest:         func() Message { return new(PFDManagementRequest) },
	MsgPFDManagementResponse:        func() Message { return new(PFDManagementResponse) },
	MsgAssociationSetupRequest:      func() Message { return new(AssociationSetupRequest) },
	MsgAssociationSetupResponse:     func() Message { return new(AssociationSetupResponse) },
	MsgAssociationUpdateRequest:     func() Message { return new(AssociationUpdateRequest) },
	MsgAssociationUpdateResponse:    func() Message { return new(AssociationUpdateResponse) },
	MsgAssociationReleaseRequest:    func() Message { return new(AssociationReleaseRequest) },
	MsgAssociationReleaseResponse:   func() Message { return new(AssociationReleaseResponse) },
	MsgNodeReportRequest:            func() Message { return new(NodeReportRequest) },
	MsgNodeReportResponse:           func() Message { return new(NodeReportResponse) },
	MsgSessionSetDeletionRequest:    func() Message { return new(SessionSetDeletionRequest) },
	MsgSessionSetDeletionResponse:   func() Message { return new(SessionSetDeletionResponse) },
	MsgSessionSetModifyRequest:      func() Message { return new(SessionSetModificationRequest) },
	MsgSessionSetModifyResponse:     func() Message { return new(SessionSetModificationResponse) },
	MsgSessionEstablishmentRequest:  func() Message { return new(SessionEstablishmentRequest) },
	MsgSessionEstablishmentResponse: func() Message { return new(SessionEstablishmentResponse) },
	MsgSessionModificationRequest:   func() Message { return new(SessionModificationRequest) },
	MsgSessionModificationResponse:  func() Message { return new(SessionModificationResponse) },
	MsgSessionDeletionRequest:       func() Message { return new(SessionDeletionRequest) },
	MsgSessionDeletionResponse:      func() Message { return new(SessionDeletionResponse) },
	MsgSessionReportRequest:         func() Message { return new(SessionReportRequest) },
	MsgSessionReportResponse:        func() Message { return new(SessionReportResponse) },
}
