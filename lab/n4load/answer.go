package n4load

import (
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// answer answers a request of the UP function's, to where it came from.
func (c *Client) answer(to netip.AddrPort, h pfcp.Header, body []byte, now time.Duration) {
	out := pfcp.Header{Sequence: h.Sequence}
	var m pfcp.Message
	switch h.Type {
	case pfcp.MsgHeartbeatRequest:
		m = &pfcp.HeartbeatResponse{RecoveryTimeStamp: c.group.started}
		c.heartbeats.Add(1)
	case pfcp.MsgSessionReportRequest:
		m, out.SEID = &pfcp.SessionReportResponse{Cause: pfcp.CauseRequestAccepted}, c.remote(h.SEID)
		if out.SEID == 0 {
			m = &pfcp.SessionReportResponse{Cause: pfcp.CauseSessionContextNotFound}
		}
		c.reports.Add(1)
		if call := c.group.call; call != nil {
			if p, pages := call.source.(*Paging); pages {
				p.reports(h.SEID, body, now)
			}
		}
		if out.SEID != 0 {
			c.tell(h, body)
		}
	case pfcp.MsgNodeReportRequest:
		m = &pfcp.NodeReportResponse{NodeID: c.config.NodeID, Cause: pfcp.CauseRequestAccepted}
	case pfcp.MsgAssociationSetupRequest, pfcp.MsgAssociationUpdateRequest:
		if !c.tell(h, body) {
			return
		}
		m = c.associationResponse(h.Type)
	default:
		return
	}
	c.send(to, out, m)
}

func (c *Client) send(to netip.AddrPort, h pfcp.Header, m pfcp.Message) {
	var err error
	if c.reply, err = pfcp.Append(c.reply[:0], h, m); err != nil {
		return
	}
	if c.sender.Room() == 0 {
		c.flush()
	}
	c.sender.AddTo(to, c.reply)
	c.flush()
}

// associationResponse accepts what the UP function asks for about the association.
func (c *Client) associationResponse(request pfcp.MessageType) pfcp.Message {
	if request == pfcp.MsgAssociationUpdateRequest {
		return &pfcp.AssociationUpdateResponse{NodeID: c.config.NodeID, Cause: pfcp.CauseRequestAccepted}
	}
	return &pfcp.AssociationSetupResponse{
		NodeID: c.config.NodeID, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: c.group.started,
		CPFunctionFeatures: pfcp.Some(pfcp.CPFunctionFeatures(0)),
	}
}

// tell gives Config.Told a request. It reports false if there is no such function, or the
// request cannot be decoded.
func (c *Client) tell(h pfcp.Header, body []byte) bool {
	if c.config.Told == nil {
		return false
	}
	var m pfcp.Message
	switch h.Type {
	case pfcp.MsgSessionReportRequest:
		m = &pfcp.SessionReportRequest{}
	case pfcp.MsgAssociationSetupRequest:
		m = &pfcp.AssociationSetupRequest{}
	default:
		m = &pfcp.AssociationUpdateRequest{}
	}
	if m.Decode(body) != nil {
		return false
	}
	c.config.Told(h, m)
	return true
}
