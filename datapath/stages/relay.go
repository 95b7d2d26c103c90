package stages

import (
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// header makes the GTP-U header of a packet that leaves through r.Outer. A packet
// that came bare gets a PDU Session Container if a QER has a QFI. One that came
// through a tunnel keeps the extension headers that an intermediate node has to
// forward, the container among them, in which only what a QER has to mark
// is marked anew; sequence and N-PDU number are the tunnel's and stay
// behind. A rule that drops the container neither forwards nor makes one.
//
// Source: TS 29.281 V18.1.0, 5.1 and figure 5.2.1-2; TS 29.244 V18.6.0, 5.4.2
// (QFI marking), 8.2.64 (GTP-U Extension Header Deletion).
func (r *Rule) header(a arrived) gtpu.Header { return r.AppendHeader(nil, a.header, len(a.user)) }

// AppendHeader appends the GTP-U header of a packet of so many octets that leaves
// through r.Outer. It came with header h, or bare: nil.
func (r *Rule) AppendHeader(b []byte, h gtpu.Header, octets int) []byte {
	if r.Outer.ToCP {
		return gtpu.Marks{}.AppendGPDU(b, r.Outer.TEID, octets)
	}
	marks := gtpu.Marks{
		PDUType: gtpu.PDUTypeUplink, QFI: r.QFI, RQI: r.Marks.RQI,
		HasPagingPolicy: r.Marks.HasPaging, PagingPolicy: r.Marks.Paging,
		HasServiceClass: r.Marks.HasServiceClass, ServiceClass: r.Marks.ServiceClass,
	}
	if r.Outer.ToAccess {
		marks.PDUType = gtpu.PDUTypeDownlink
	}
	if r.DropsContainer {
		marks.QFI, marks.NoContainer = 0, true
	}
	if h == nil {
		return marks.AppendGPDU(b, r.Outer.TEID, octets)
	}
	return marks.AppendRelayed(b, h, r.Outer.TEID, octets)
}

// refuses reports whether a packet that came with header h is not treated, since it has
// an extension header that we do not comprehend: where its tunnel ends an endpoint has
// to, and a relay only forwards it.
//
// Source: TS 29.281 V18.1.0, figure 5.2.1-2; TS 29.244 V18.6.0, 8.2.64, NOTE 1.
func (r *Rule) refuses(h gtpu.Header) bool {
	return r.Action == api.Action_FORW && (r.Outer == nil || r.Outer.ToCP) && h.Foreign()
}
