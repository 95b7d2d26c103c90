package method

import (
	"context"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/tcp"
)

// TCP sends over one TCP connection of the first session's UE, by iperf3, as fast as it goes.
type TCP struct {
	Duration time.Duration // in whole seconds, behind slow start
}

// NameTCP is the name of [TCP].
const NameTCP = "tcp"

// TCPOmitted is slow start, which does not count.
const TCPOmitted = time.Second

// TCPSystem is a system through which a UE's TCP can go.
type TCPSystem interface {
	System
	TCP(ctx context.Context, d report.Direction, duration, omitted time.Duration) (tcp.Result, error)
}

// Name is "tcp".
func (TCP) Name() string { return NameTCP }

// Cells is the point, whatever its frames are: TCP has its own.
func (m TCP) Cells(point report.LabCell) []report.LabCell {
	if point.Direction == "" {
		return nil // iperf3 sends one way
	}
	point.Method, point.Frames, point.Access, point.Churn = m.Name(), "", "", ""
	return []report.LabCell{point}
}

// Options say how long a connection lasts.
func (m TCP) Options() map[string]string {
	return map[string]string{m.Name(): "iperf3, one connection for " + m.Duration.String() + " behind " + TCPOmitted.String() + " of slow start"}
}

// Expected is the connection.
func (m TCP) Expected(report.LabCell) time.Duration { return TCPOmitted + m.Duration }

// Measure has no turn of a bed: nothing in it takes a connection.
func (m TCP) Measure(ctx context.Context, t *Turn) error {
	s, ok := t.System.(TCPSystem)
	if !ok || t.System.Bed() == t.System.Name() {
		return nil
	}
	got, err := s.TCP(ctx, t.Cell.Direction, m.Duration, TCPOmitted)
	if err != nil {
		return err
	}
	t.Figure(report.Figure{Name: "TCP", Unit: "bit/s", Better: report.Higher, Value: got.BPS})
	t.Figure(report.Figure{Name: "retransmitted segments", Unit: "segments", Better: report.Lower, Value: float64(got.Retransmits)})
	return nil
}
