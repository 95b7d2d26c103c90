package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/tcp"
	"github.com/plumbline-upf/plumbline/upf"
)

const (
	tcpOmitted = time.Second      // slow start
	tcpLimit   = 20 * time.Second // beyond the duration: then it hangs
)

// measureTCP lets all datapaths take turns with a TCP connection each way.
func (r *comparison) measureTCP(ctx context.Context) error {
	if r.TCP == 0 {
		r.result.TCPMissing = "not asked for"
		return nil
	}
	if err := tcp.Available(); err != nil {
		r.result.TCPMissing = err.Error()
		return nil
	}
	for _, d := range r.Directions {
		for repeat := 1; repeat <= r.Repeats; repeat++ {
			err := r.each(ctx, func(ctx context.Context, k *contestant) error {
				if k.bed {
					return nil
				}
				r.step(fmt.Sprintf("%s: TCP %s, %d/%d", k.path.Name, d, repeat, r.Repeats), tcpOmitted+r.TCP)
				r.left.tcp--
				t, err := k.tcp(ctx, d, r.TCP)
				if err != nil {
					return fmt.Errorf("TCP %s: %w", d, err)
				}
				t.Repeat = repeat
				r.result.TCP = append(r.result.TCP, t)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tcp measures one connection of the first session's UE.
func (k *contestant) tcp(ctx context.Context, d report.Direction, duration time.Duration) (t report.TCPTrial, err error) {
	s := k.system.Sessions()[0]
	ue := tcp.UE{
		Address: s.UE, UplinkTEID: s.ULTEID, DownlinkTEID: s.DLTEID, QFI: system.QFI,
		SuperPackets: k.path.Name == upf.DatapathTC, // the only one that takes them whole
	}
	detach, err := tcp.Attach(ctx, k.system.Topology(), ue)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, detach()) }()
	before, err := host.ReadTimes(k.system.DUT())
	if err != nil {
		return t, err
	}
	test, err := tcp.Start(ctx, k.system.Topology(), tcp.Flow{UE: ue, Downlink: d == report.Downlink, Duration: duration, Omit: tcpOmitted})
	if err != nil {
		return t, err
	}
	got, err := test.Wait(ctx, duration+tcpOmitted+tcpLimit)
	if err != nil {
		return t, err
	}
	after, err := host.ReadTimes(k.system.DUT())
	if err != nil {
		return t, err
	}
	return report.TCPTrial{Path: k.path.Name, Direction: d, BPS: got.BPS, Retransmits: got.Retransmits, CPU: after.Since(before)}, nil
}
