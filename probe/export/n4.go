package export

import (
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/probe/n4"
)

// NewN4 says what N4 did, of a snapshot of it. upfs has the names of UPFs by their index.
func NewN4(s *n4.Snapshot, upfs []string) *N4 {
	name := func(upf int) string {
		if upf < 0 || upf >= len(upfs) {
			return ""
		}
		return upfs[upf]
	}
	out := &N4{Sessions: s.Learnt.Sessions, Refused: s.Learnt.Full + s.Learnt.Refused, Messages: []N4Messages{}, Points: []N4Point{}}
	for i := range s.Series {
		one := &s.Series[i]
		m := N4Messages{
			UPF: one.UPF, Asked: one.Role.String(), Message: one.Type.String(),
			Requests: one.Requests, Answered: one.Answered, Unanswered: one.Unanswered, Outstanding: one.Outstanding, Evicted: one.Evicted,
			Retransmissions: one.Retransmissions, Rejected: one.Rejected, Causes: map[string]uint64{}, Delays: one.Delay,
		}
		for cause, n := range one.Causes {
			m.Causes[fmt.Sprint(cause)] = n
		}
		out.Messages = append(out.Messages, m)
	}
	for i := range s.Points {
		p := &s.Points[i]
		out.Points = append(out.Points, N4Point{
			UPF: name(p.Point.UPF), Namespace: printable.Name(p.Point.Namespace), Device: printable.Name(p.Point.Device),
			Datagrams: p.Datagrams, Messages: p.Messages, Fragments: p.Fragments, Malformed: p.Malformed, Orphans: p.Orphans, Lost: p.Lost,
		})
	}
	return out
}

// Encode fills in what is said of all delays.
func (n *N4) Encode() error {
	var errs []error
	for i := range n.Messages {
		errs = append(errs, n.Messages[i].encode())
	}
	return errors.Join(errs...)
}
