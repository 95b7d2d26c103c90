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

// MessageType returns [MsgPFDManagementRequest].
func (m *PFDManagementRequest) MessageType() MessageType { return MsgPFDManagementRequest }

// Decode implements [Message].
func (m *PFDManagementRequest) Decode(body []byte) error {
	return pfdManagementRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *PFDManagementRequest) AppendBody(b []byte) []byte {
	return pfdManagementRequest.append(b, m)
}

// MessageType returns [MsgPFDManagementResponse].
func (m *PFDManagementResponse) MessageType() MessageType { return MsgPFDManagementResponse }

// Decode implements [Message].
func (m *PFDManagementResponse) Decode(body []byte) error {
	return pfdManagementResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *PFDManagementResponse) AppendBody(b []byte) []byte {
	return pfdManagementResponse.append(b, m)
}

// MessageType returns [MsgNodeReportRequest].
func (m *NodeReportRequest) MessageType() MessageType { return MsgNodeReportRequest }

// Decode implements [Message].
func (m *NodeReportRequest) Decode(body []byte) error {
	return nodeReportRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *NodeReportRequest) AppendBody(b []byte) []byte {
	return nodeReportRequest.append(b, m)
}

// MessageType returns [MsgNodeReportResponse].
func (m *NodeReportResponse) MessageType() MessageType { return MsgNodeReportResponse }

// Decode implements [Message].
func (m *NodeReportResponse) Decode(body []byte) error {
	return nodeReportResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *NodeReportResponse) AppendBody(b []byte) []byte {
	return nodeReportResponse.append(b, m)
}

// MessageType returns [MsgSessionSetDeletionRequest].
func (m *SessionSetDeletionRequest) MessageType() MessageType { return MsgSessionSetDeletionRequest }

// Decode implements [Message].
func (m *SessionSetDeletionRequest) Decode(body []byte) error {
	return sessionSetDeletionRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionSetDeletionRequest) AppendBody(b []byte) []byte {
	return sessionSetDeletionRequest.append(b, m)
}

// MessageType returns [MsgSessionSetDeletionResponse].
func (m *SessionSetDeletionResponse) MessageType() MessageType { return MsgSessionSetDeletionResponse }

// Decode implements [Message].
func (m *SessionSetDeletionResponse) Decode(body []byte) error {
	return sessionSetDeletionResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionSetDeletionResponse) AppendBody(b []byte) []byte {
	return sessionSetDeletionResponse.append(b, m)
}

// MessageType returns [MsgSessionSetModifyRequest].
func (m *SessionSetModificationRequest) MessageType() MessageType { return MsgSessionSetModifyRequest }

// Decode implements [Message].
func (m *SessionSetModificationRequest) Decode(body []byte) error {
	return sessionSetModificationRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionSetModificationRequest) AppendBody(b []byte) []byte {
	return sessionSetModificationRequest.append(b, m)
}

// MessageType returns [MsgSessionSetModifyResponse].
func (m *SessionSetModificationResponse) MessageType() MessageType {
	return MsgSessionSetModifyResponse
}

// Decode implements [Message].
func (m *SessionSetModificationResponse) Decode(body []byte) error {
	return sessionSetModificationResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionSetModificationResponse) AppendBody(b []byte) []byte {
	return sessionSetModificationResponse.append(b, m)
}

// MessageType returns [MsgSessionReportRequest].
func (m *SessionReportRequest) MessageType() MessageType { return MsgSessionReportRequest }

// Decode implements [Message].
func (m *SessionReportRequest) Decode(body []byte) error {
	return sessionReportRequest.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionReportRequest) AppendBody(b []byte) []byte {
	return sessionReportRequest.append(b, m)
}

// MessageType returns [MsgSessionReportResponse].
func (m *SessionReportResponse) MessageType() MessageType { return MsgSessionReportResponse }

// Decode implements [Message].
func (m *SessionReportResponse) Decode(body []byte) error {
	return sessionReportResponse.decode(m, body)
}

// AppendBody implements [Message].
func (m *SessionReportResponse) AppendBody(b []byte) []byte {
	return sessionReportResponse.append(b, m)
}
