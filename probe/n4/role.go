package n4

import (
	"slices"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// asks says which function sends a request of a type that only one of them sends.
// Source: TS 29.244 V18.6.0, 6.2.5 to 6.2.9, 6.3 and 7.4.7.
var asks = map[pfcp.MessageType]Role{
	pfcp.MsgPFDManagementRequest:        CP,
	pfcp.MsgAssociationReleaseRequest:   CP,
	pfcp.MsgSessionSetModifyRequest:     CP,
	pfcp.MsgSessionEstablishmentRequest: CP,
	pfcp.MsgSessionModificationRequest:  CP,
	pfcp.MsgSessionDeletionRequest:      CP,
	pfcp.MsgNodeReportRequest:           UP,
	pfcp.MsgSessionReportRequest:        UP,
}

// maxRoles is how many endpoints' roles are remembered. Beyond, any of them goes.
const maxRoles = 4096

// roles remembers which endpoints are CP functions and which are UP functions, as the
// requests have shown that only one of them sends.
type roles struct {
	byEndpoint map[roleKey]Role
}

type roleKey struct {
	upf int
	end endpoint
}

// of returns the role of the sender of a request.
func (r *roles) of(d *datagram, h pfcp.Header, body []byte) Role {
	upf := d.tap.UPF
	if role := asks[h.Type]; role != Unknown {
		r.remember(roleKey{upf, d.from}, role)
		r.remember(roleKey{upf, d.to}, role.other())
		return role
	}
	from, to := slices.Contains(d.tap.n4, d.from.addr), slices.Contains(d.tap.n4, d.to.addr)
	switch {
	case from && !to:
		return UP
	case to && !from:
		return CP
	}
	if role := r.byEndpoint[roleKey{upf, d.from}]; role != Unknown {
		return role
	}
	if role := r.byEndpoint[roleKey{upf, d.to}]; role != Unknown {
		return role.other()
	}
	return byFeatures(h, body)
}

// byFeatures is the role of the sender of an association request with the features of one of them.
// Source: TS 29.244 V18.6.0, tables 7.4.4.1-1 and 7.4.4.3-1.
func byFeatures(h pfcp.Header, body []byte) Role {
	if h.Type != pfcp.MsgAssociationSetupRequest && h.Type != pfcp.MsgAssociationUpdateRequest {
		return Unknown
	}
	switch cp, up := find(body, pfcp.IECPFunctionFeatures) != nil, find(body, pfcp.IEUPFunctionFeatures) != nil; {
	case cp && !up:
		return CP
	case up && !cp:
		return UP
	}
	return Unknown
}

func (r *roles) remember(k roleKey, role Role) {
	if _, known := r.byEndpoint[k]; !known && len(r.byEndpoint) >= maxRoles {
		for other := range r.byEndpoint {
			delete(r.byEndpoint, other)
			break
		}
	}
	r.byEndpoint[k] = role
}

func (r Role) other() Role {
	switch r {
	case CP:
		return UP
	case UP:
		return CP
	}
	return Unknown
}
