package pfcp

// The methods by which each message implements [Message].

// MessageType returns [MsgHeartbeatRequest].
func (m *HeartbeatRequest) MessageType() MessageType { return MsgHeartbeatRequest }

// Decode implements [Message].
func (m *HeartbeatRequest) Decode(body []byte) error { return heartbeatRequest.decode(m, body) }

// AppendBody implements [Message].
func (m *HeartbeatRequest) AppendBody(b []byte) []byte { return heartbeatRequest.append(b, m) }

// MessageType returns [MsgHeartbeatResponse].
func (m *HeartbeatResponse) MessageType() MessageType { return MsgHeartbeatResponse }

// Decode implements [Message].
func (m *HeartbeatResponse) Decode(body []byte) error { return heartbeatResponse.decode(m, body) }

// AppendBody implements [Message].
func (m *HeartbeatResponse) AppendBody(b []byte) []byte { return heartbeatResponse.append(b, m) }

// MessageType returns [MsgAssociationSetupRequest].
func (m *AssociationSetupRequest) MessageType() MessageType { return MsgAssociationSetupRequest }

// Decode implements [Message].
func (m *AssociationSetupRequest) Decode(body []byte) error {
	return associationSetupRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationSetupRequest) AppendBody(b []byte) []byte {
	return associationSetupRequest.append(b, m)
}

// MessageType returns [MsgAssociationSetupResponse].
func (m *AssociationSetupResponse) MessageType() MessageType { return MsgAssociationSetupResponse }

// Decode implements [Message].
func (m *AssociationSetupResponse) Decode(body []byte) error {
	return associationSetupResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationSetupResponse) AppendBody(b []byte) []byte {
	return associationSetupResponse.append(b, m)
}

// MessageType returns [MsgAssociationUpdateRequest].
func (m *AssociationUpdateRequest) MessageType() MessageType { return MsgAssociationUpdateRequest }

// Decode implements [Message].
func (m *AssociationUpdateRequest) Decode(body []byte) error {
	return associationUpdateRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationUpdateRequest) AppendBody(b []byte) []byte {
	return associationUpdateRequest.append(b, m)
}

// MessageType returns [MsgAssociationUpdateResponse].
func (m *AssociationUpdateResponse) MessageType() MessageType { return MsgAssociationUpdateResponse }

// Decode implements [Message].
func (m *AssociationUpdateResponse) Decode(body []byte) error {
	return associationUpdateResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationUpdateResponse) AppendBody(b []byte) []byte {
	return associationUpdateResponse.append(b, m)
}

// MessageType returns [MsgAssociationReleaseRequest].
func (m *AssociationReleaseRequest) MessageType() MessageType { return MsgAssociationReleaseRequest }

// Decode implements [Message].
func (m *AssociationReleaseRequest) Decode(body []byte) error {
	return associationReleaseRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationReleaseRequest) AppendBody(b []byte) []byte {
	return associationReleaseRequest.append(b, m)
}

// MessageType returns [MsgAssociationReleaseResponse].
func (m *AssociationReleaseResponse) MessageType() MessageType { return MsgAssociationReleaseResponse }

// Decode implements [Message].
func (m *AssociationReleaseResponse) Decode(body []byte) error {
	return associationReleaseResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *AssociationReleaseResponse) AppendBody(b []byte) []byte {
	return associationReleaseResponse.append(b, m)
}

// MessageType returns [MsgSessionEstablishmentRequest].
func (m *SessionEstablishmentRequest) MessageType() MessageType {
	return MsgSessionEstablishmentRequest
}

// Decode implements [Message].
func (m *SessionEstablishmentRequest) Decode(body []byte) error {
	return sessionEstablishmentRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionEstablishmentRequest) AppendBody(b []byte) []byte {
	return sessionEstablishmentRequest.append(b, m)
}

// MessageType returns [MsgSessionEstablishmentResponse].
func (m *SessionEstablishmentResponse) MessageType() MessageType {
	return MsgSessionEstablishmentResponse
}

// Decode implements [Message].
func (m *SessionEstablishmentResponse) Decode(body []byte) error {
	return sessionEstablishmentResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionEstablishmentResponse) AppendBody(b []byte) []byte {
	return sessionEstablishmentResponse.append(b, m)
}

// MessageType returns [MsgSessionModificationRequest].
func (m *SessionModificationRequest) MessageType() MessageType { return MsgSessionModificationRequest }

// Decode implements [Message].
func (m *SessionModificationRequest) Decode(body []byte) error {
	return sessionModificationRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionModificationRequest) AppendBody(b []byte) []byte {
	return sessionModificationRequest.append(b, m)
}

// MessageType returns [MsgSessionModificationResponse].
func (m *SessionModificationResponse) MessageType() MessageType {
	return MsgSessionModificationResponse
}

// Decode implements [Message].
func (m *SessionModificationResponse) Decode(body []byte) error {
	return sessionModificationResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionModificationResponse) AppendBody(b []byte) []byte {
	return sessionModificationResponse.append(b, m)
}

// MessageType returns [MsgSessionDeletionRequest].
func (m *SessionDeletionRequest) MessageType() MessageType { return MsgSessionDeletionRequest }

// Decode implements [Message].
func (m *SessionDeletionRequest) Decode(body []byte) error {
	return sessionDeletionRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionDeletionRequest) AppendBody(b []byte) []byte {
	return sessionDeletionRequest.append(b, m)
}

// MessageType returns [MsgSessionDeletionResponse].
func (m *SessionDeletionResponse) MessageType() MessageType { return MsgSessionDeletionResponse }

// Decode implements [Message].
func (m *SessionDeletionResponse) Decode(body []byte) error {
	return sessionDeletionResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionDeletionResponse) AppendBody(b []byte) []byte {
	return sessionDeletionResponse.append(b, m)
}
