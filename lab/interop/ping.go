package interop

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// How echo requests are sent.
const (
	pings      = 10
	pingOctets = 56
	pingEvery  = 100 * time.Millisecond
	answerTime = 2 * time.Second
	pingTime   = pings * pingEvery // expected
	mtuPings   = 3
)

func (b *bed) pingUp(p path) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) { judgePing(ctx, row, p.uplink(), pings) }
}

func (b *bed) pingDown(p path) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) { judgePing(ctx, row, b.downlink(p), pings) }
}

// fullMTU sends packets that are as long as the MTU of the UE's device, not to be
// fragmented; the answers are as long.
func (b *bed) fullMTU(p path) func(context.Context, *report.InteropStep) {
	return func(ctx context.Context, row *report.InteropStep) {
		s := p.uplink()
		s.size, s.whole = p.mtu-headerOctets(p.version)-inet.LenICMP, true
		judgePing(ctx, row, s, mtuPings)
		if row.Echo != nil {
			row.Seen = fmt.Sprintf("packets of %d octets: %s", row.Echo.Octets, row.Seen)
		}
	}
}

// judgePing wants every request to be answered once, with the octets that were sent.
func judgePing(ctx context.Context, row *report.InteropStep, s series, count int) {
	e, err := s.run(ctx, count)
	if err != nil {
		fail(row, err)
		return
	}
	row.Echo, row.Seen, row.Result = e, echoText(e), report.Fail
	if e.Sent == count && e.Received == e.Sent && e.Damaged == 0 && e.Duplicated == 0 {
		row.Result = report.Pass
	}
}

func fail(row *report.InteropStep, err error) { row.Result, row.Seen = report.Fail, err.Error() }

// echoText says what was seen of echo requests.
func echoText(e *report.InteropEcho) string {
	text := fmt.Sprintf("sent %d, received %d", e.Sent, e.Received)
	if e.Received > 0 {
		text += fmt.Sprintf(", rtt %s", milliseconds(e.MeanNS))
	}
	if e.Damaged > 0 {
		text += fmt.Sprintf(", %d with other octets", e.Damaged)
	}
	if e.Duplicated > 0 {
		text += fmt.Sprintf(", %d answered twice", e.Duplicated)
	}
	if e.Error != "" && e.Received < e.Sent {
		text += ": " + e.Error
	}
	return text
}

// milliseconds has as many digits as a reader takes in.
func milliseconds(ns int64) string {
	ms := float64(ns) / 1e6
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}
