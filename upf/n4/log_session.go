package n4

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// session logs what became of a session, at the level debug: one line for each request, as
// many as there are.
func (l *limitedLog) session(msg string, a *association, r *session.Result) {
	if !l.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	s := r.Session
	args := []any{"node", a.node, "seid", fmt.Sprintf("%#x", s.SEID), "cp_seid", fmt.Sprintf("%#x", s.CP.SEID), "dnn", s.DNN}
	if ues := ueAddresses(s); len(ues) > 0 {
		args = append(args, "ue", ues)
	}
	args = append(args, "pdrs", len(s.PDRs), "fars", len(s.FARs), "qers", len(s.QERs), "urrs", len(s.URRs))
	if n := len(r.Reports); n > 0 {
		args = append(args, "reports", n)
	}
	if n := len(r.Replaced); n > 0 {
		args = append(args, "replaced", n)
	}
	l.Log(context.Background(), slog.LevelDebug, msg, args...)
}

// ueAddresses are those of the session's UE, each once.
func ueAddresses(s *session.Session) (list []string) {
	add := func(text string) {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for i := range s.PDRs {
		a := s.PDRs[i].PDI.UEAddress
		if a.IPv4 != (session.IPv4{}) {
			add(netip.AddrFrom4(a.IPv4).String())
		}
		if a.IPv6Prefix != (session.IPv6Prefix{}) {
			var b [16]byte
			copy(b[:], a.IPv6Prefix[:])
			add(netip.PrefixFrom(netip.AddrFrom16(b), 64).String())
		}
	}
	return list
}
