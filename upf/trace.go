package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TraceQuery says which packets a trace shows: those of any of UE, TEID and SEID,
// those that are dropped for one of Drops, or all.
type TraceQuery struct {
	UE     netip.Addr // user packets from and to it
	TEID   TEID       // G-PDUs that arrive with it
	SEID   SEID       // packets of all TEIDs and UE addresses that the session has at any time
	Drops  []string   // labels of reasons, see plumb drops --all; AllDrops: each of them
	All    bool       // all packets that are not left to the host
	Sample int        // one in so many; 0: each
	Rate   int        // at most so many a second; 0: DefaultTraceRate
	Snap   int        // octets of each frame; 0: DefaultTraceSnap
}

// What a [TraceQuery] may say, and says by itself.
const (
	AllDrops         = "all"
	DefaultTraceRate = 2000
	DefaultTraceSnap = 256
)

// ErrForbidden says that the caller may not see packets of users.
var ErrForbidden = errors.New("not permitted")

// values is q as a query string; [parseTrace] is its inverse.
func (q *TraceQuery) values() url.Values {
	v := url.Values{}
	if q.UE.IsValid() {
		v.Set("ue", q.UE.String())
	}
	if q.TEID != 0 {
		v.Set("teid", q.TEID.String())
	}
	if q.SEID != 0 {
		v.Set("seid", q.SEID.String())
	}
	if len(q.Drops) > 0 {
		v.Set("drops", strings.Join(q.Drops, ","))
	}
	if q.All {
		v.Set("all", "true")
	}
	for key, n := range map[string]int{"sample": q.Sample, "rate": q.Rate, "snap": q.Snap} {
		if n != 0 {
			v.Set(key, strconv.Itoa(n))
		}
	}
	return v
}

// parseTrace reads what [TraceQuery.values] wrote, and puts in what it says by
// itself.
func parseTrace(v url.Values) (*TraceQuery, error) {
	q := &TraceQuery{Sample: 1, Rate: DefaultTraceRate, Snap: DefaultTraceSnap}
	for key, list := range v {
		var err error
		text := list[0]
		switch key {
		case "ue":
			if q.UE, err = netip.ParseAddr(text); err == nil && (!q.UE.IsValid() || q.UE.Zone() != "") {
				err = errors.New("want an address without zone")
			}
		case "teid":
			err = q.TEID.UnmarshalText([]byte(text))
		case "seid":
			err = q.SEID.UnmarshalText([]byte(text))
		case "drops":
			q.Drops = strings.Split(text, ",")
			_, err = DropReasons(q.Drops)
		case "all":
			q.All, err = strconv.ParseBool(text)
		case "sample":
			q.Sample, err = strconv.Atoi(text)
		case "rate":
			q.Rate, err = strconv.Atoi(text)
		case "snap":
			q.Snap, err = strconv.Atoi(text)
		default:
			err = errors.New("no such parameter")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s=%q: %w", ErrRequest, key, text, err)
		}
	}
	if !q.UE.IsValid() && q.TEID == 0 && q.SEID == 0 && len(q.Drops) == 0 && !q.All {
		return nil, fmt.Errorf("%w: a trace of nothing: want ue, teid, seid, drops or all", ErrRequest)
	}
	if q.Sample < 1 || q.Rate < 1 || q.Rate > datapath.MaxTraceRate || q.Snap < 1 || q.Snap > datapath.MaxTraceSnap {
		return nil, fmt.Errorf("%w: sample=%d, rate=%d, snap=%d: want at least 1, at most %d a second and %d octets",
			ErrRequest, q.Sample, q.Rate, q.Snap, datapath.MaxTraceRate, datapath.MaxTraceSnap)
	}
	return q, nil
}

// DropReasons returns the reasons with these labels.
func DropReasons(labels []string) ([]datapath.Reason, error) {
	var list []datapath.Reason
	for _, label := range labels {
		found := slices.DeleteFunc(datapath.Reasons(), func(r datapath.Reason) bool {
			return !r.IsDrop() || label != AllDrops && label != r.String()
		})
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: no reason %q to drop a packet: see plumb drops --all", ErrRequest, label)
		}
		list = append(list, found...)
	}
	return list, nil
}

// TraceLine is one line of the answer to a trace: a packet, or how many there
// were so far, which comes now and then and at the end of what was asked for.
type TraceLine struct {
	Packet *TracePacket          `json:"packet,omitempty"`
	Counts *datapath.TraceCounts `json:"counts,omitempty"`
}

// TracePacket is what became of one packet in one place.
type TracePacket struct {
	At        time.Time   `json:"at"`
	TookNs    int64       `json:"took_ns,omitempty"` // in the program; 0: not known
	CPU       int         `json:"cpu"`               // -1: not known
	Place     string      `json:"place"`             // "program": where it came; or "slow path" behind it
	Direction string      `json:"direction,omitempty"`
	Verdict   string      `json:"verdict"`          // forwarded, handed on, dropped, buffered or answered
	Reason    string      `json:"reason,omitempty"` // label; not with forwarded and answered
	Text      string      `json:"text,omitempty"`   // that in words
	SEID      SEID        `json:"seid,omitempty"`
	UE        string      `json:"ue,omitempty"`   // its end of the user packet
	TEID      TEID        `json:"teid,omitempty"` // with which the packet came, or leaves
	PDR       uint16      `json:"pdr,omitempty"`  // that matched
	Flow      string      `json:"flow,omitempty"` // protocol, source > destination of the user packet
	Octets    int         `json:"octets"`         // of the user packet; of the frame if it has none
	Stages    []string    `json:"stages"`         // what each stage found and did
	Arrived   *TraceFrame `json:"arrived,omitempty"`
	Left      *TraceFrame `json:"left,omitempty"`
}

// TraceFrame is a frame at a device.
type TraceFrame struct {
	Device string `json:"device"`
	IP     bool   `json:"ip,omitempty"` // Data begins with an IP header; else with an Ethernet header
	Octets int    `json:"octets"`
	Data   []byte `json:"data"` // its first octets, as base64
}
