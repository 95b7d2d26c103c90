package interop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

const askTime = 5 * time.Second // for all queries to the UPF together

// ask returns what the UPF has dropped, by reason; nil: it is not asked, or does not answer.
func (b *bed) ask(ctx context.Context) map[string]uint64 {
	if b.UPF == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	drops, err := b.UPF.Drops(ctx)
	if err != nil {
		return nil
	}
	by := map[string]uint64{}
	for _, d := range drops.Drops {
		by[d.Reason] = d.Packets
	}
	return by
}

// explain asks the UPF about a step that failed; nil: there is none to ask.
func (b *bed) explain(ctx context.Context, before map[string]uint64, row report.InteropStep) *report.InteropUPF {
	if b.UPF == nil {
		return nil
	}
	about := &report.InteropUPF{Drops: map[string]uint64{}, Sessions: []report.InteropSession{}}
	after := b.ask(ctx)
	for reason, packets := range after {
		if packets < before[reason] { // it was started again
			before = nil
		}
		if packets -= before[reason]; packets > 0 {
			about.Drops[reason] = packets
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	sessions, err := b.sessions(ctx, row)
	if err != nil {
		about.Error = fmt.Sprintf("says nothing: %v", err)
	}
	about.Sessions = append(about.Sessions, sessions...)
	return about
}

// sessions are those of the UE of a row.
func (b *bed) sessions(ctx context.Context, row report.InteropStep) ([]report.InteropSession, error) {
	var list []report.InteropSession
	var errs []error
	for _, address := range b.addresses(row) {
		page, err := b.UPF.Sessions(ctx, upf.SessionQuery{UEAddress: address})
		if err != nil {
			return nil, err
		}
		for i := range page.Sessions {
			s, err := b.UPF.Session(ctx, page.Sessions[i].SEID)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			one := report.InteropSession{SEID: page.Sessions[i].SEID.String(), PDRs: page.Sessions[i].PDRs}
			for _, far := range s.Rules.FARs {
				one.ApplyActions = append(one.ApplyActions, far.ApplyAction)
			}
			list = append(list, one)
		}
	}
	return list, errors.Join(errs...)
}

// addresses are those of the UE of a row, of its IP version.
func (b *bed) addresses(row report.InteropStep) []netip.Addr {
	var list []netip.Addr
	for _, u := range b.ues {
		for _, p := range b.paths(u) {
			if u.name == row.UE && p.version == row.IPVersion {
				list = append(list, p.address)
			}
		}
	}
	return list
}

// awake reports of each row whether the UPF has a session of the UE and buffers nothing
// in it; false, too, if it is not asked.
func (b *bed) awake(ctx context.Context, list []report.InteropStep) []bool {
	awake := make([]bool, len(list))
	if b.UPF == nil {
		return awake
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for i, row := range list {
		sessions, err := b.sessions(ctx, row)
		buffers := slices.ContainsFunc(sessions, func(s report.InteropSession) bool {
			return slices.ContainsFunc(s.ApplyActions, func(a string) bool { return strings.Contains(a, "BUFF") })
		})
		awake[i] = err == nil && len(sessions) > 0 && !buffers
	}
	return awake
}
