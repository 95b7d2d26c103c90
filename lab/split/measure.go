package split

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/lab/tcp"
)

const (
	answerTime = 20 * time.Second // until the UE has its first answer
	pingBatch  = 20               // pings of one process: each begins at another instant
	udpOctets  = 1400             // of payload
	lenUDPIP   = 28               // octets of UDP and IPv4 header
	offered    = 1.02             // of what the cell can carry, by UDP
	streamTime = 20 * time.Second // how much longer than a stream iperf3 may take
)

// trial is a case under way.
type trial struct {
	*Config
	one  *Case
	bed  *bed
	gnb  *gnb
	out  *Outcome
	port uint16
}

// measure runs the programs, one after the other.
func (t *trial) measure(ctx context.Context) error {
	if err := t.attach(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		wanted bool
		name   string
		run    func(context.Context) error
	}{
		{t.one.Ping, "ping", t.ping},
		{t.one.TCP, "TCP, downlink", func(ctx context.Context) (err error) { t.out.DownlinkTCP, err = t.tcp(ctx, true); return err }},
		{t.one.TCP, "TCP, uplink", func(ctx context.Context) (err error) { t.out.UplinkTCP, err = t.tcp(ctx, false); return err }},
		{t.one.UDP, "UDP, downlink", t.udpDownlink},
		{t.one.UDP, "UDP, uplink", t.udpUplink},
		{t.one.Idle > 0, "keeps the slot", t.idle},
	} {
		if !part.wanted {
			continue
		}
		t.detail("%s", part.name)
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, errors.Join(err, t.gnb.alive()))
		}
		if err := t.gnb.alive(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// attach waits until the UE has its first answer.
func (t *trial) attach(ctx context.Context) error {
	t.detail("the UE attaches")
	for deadline := time.Now().Add(answerTime); ; {
		p, err := apps.Ping(ctx, t.bed.place(0, false), apps.Pings{Count: 1, Interval: t.Interval})
		if err == nil && p.Received > 0 {
			return nil
		}
		if alive := t.gnb.alive(); alive != nil {
			return alive
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the UE had no answer within %v", answerTime), err, t.gnb.words())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ping sends batches of echo requests, so that they begin anywhere in the TDD pattern.
func (t *trial) ping(ctx context.Context) error {
	var all apps.Pinged
	for left := t.Pings; left > 0; left -= pingBatch {
		p, err := apps.Ping(ctx, t.bed.place(0, false), apps.Pings{Count: min(left, pingBatch), Interval: t.Interval})
		if err != nil {
			return err
		}
		all = all.Add(p)
	}
	t.out.Ping = newPing(all)
	return nil
}

func newPing(p apps.Pinged) *Ping {
	out := &Ping{Sent: p.Sent, Received: p.Received, MinNS: int64(p.Min), MeanNS: int64(p.Mean), MaxNS: int64(p.Max)}
	for _, rtt := range p.RTTs {
		out.RTTsNS = append(out.RTTsNS, int64(rtt))
	}
	if len(p.RTTs) > 0 {
		// Of three digits, and so beyond the exact maximum now and then.
		out.P50NS, out.P99NS = min(int64(stats.NearestRank(p.RTTs, 0.5)), out.MaxNS), min(int64(stats.NearestRank(p.RTTs, 0.99)), out.MaxNS)
	}
	return out
}

func (t *trial) nextPort() uint16 {
	t.port++
	return firstPort + t.port
}

func (t *trial) tcp(ctx context.Context, downlink bool) (*TCP, error) {
	flow := tcp.Flow{Downlink: downlink, Duration: t.Stream, Omit: omitTime}
	test, err := tcp.StartAt(ctx, t.bed.place(t.nextPort(), t.one.Realtime), flow)
	if err != nil {
		return nil, err
	}
	r, err := test.Wait(ctx, t.Stream+omitTime+streamTime)
	if err != nil {
		return nil, err
	}
	return &TCP{BPS: r.BPS, Retransmits: r.Retransmits}, nil
}

func (t *trial) udpDownlink(ctx context.Context) error {
	rate := udpRate(t.out.Bound.DownlinkBPS)
	s, err := t.udp(ctx, apps.Stream{DownlinkBPS: rate})
	t.out.DownlinkUDP = newUDP(s.Downlink, rate, t.Stream)
	return err
}

func (t *trial) udpUplink(ctx context.Context) error {
	rate := udpRate(t.out.Bound.UplinkBPS)
	s, err := t.udp(ctx, apps.Stream{UplinkBPS: rate})
	t.out.UplinkUDP = newUDP(s.Uplink, rate, t.Stream)
	return err
}

// udpRate is what is offered of payload for a little more than the cell can carry.
func udpRate(bound float64) uint64 {
	return uint64(offered * bound * udpOctets / (udpOctets + lenUDPIP))
}

func (t *trial) udp(ctx context.Context, s apps.Stream) (apps.Streamed, error) {
	s.Octets, s.Duration = udpOctets, t.Stream
	iperf, err := apps.StartIperf(ctx, t.bed.place(t.nextPort(), t.one.Realtime), s)
	if err != nil {
		return apps.Streamed{}, err
	}
	return iperf.Wait(ctx, streamTime)
}

// newUDP is a stream that was to have a rate, in bit/s of payload, for some time.
func newUDP(t apps.Transfer, rate uint64, d time.Duration) *UDP {
	return &UDP{
		BPS: t.BPS, IPBPS: t.BPS * (udpOctets + lenUDPIP) / udpOctets, Packets: t.Packets, Lost: t.Lost,
		Wanted: int(float64(rate) / (8 * udpOctets) * d.Seconds()),
	}
}

// idle does nothing while VNF and PNF keep the slot, and counts what they allocate
// meanwhile, after a while, without what it takes to ask for that count.
func (t *trial) idle(ctx context.Context) error {
	settle := min(t.one.Idle/10, 5*time.Second)
	if err := t.wait(ctx, settle); err != nil {
		return err
	}
	// What asking costs is not a slot's. The first answer costs more than those behind it.
	var before [3][]float64
	for i := range before {
		var err error
		if before[i], err = t.gnb.allocated(ctx); err != nil {
			return err
		}
	}
	since := time.Now()
	if err := t.wait(ctx, t.one.Idle-settle); err != nil {
		return err
	}
	slots := float64(time.Since(since)) / float64(t.one.Radio.Numerology.Duration())
	after, err := t.gnb.allocated(ctx)
	if err != nil {
		return err
	}
	for i, p := range t.gnb.processes {
		asking := before[2][i] - before[1][i]
		each := max(after[i]-before[2][i]-asking, 0) / slots
		p.mallocs = &each
	}
	return nil
}

// allocated is how many objects each process has allocated so far.
func (g *gnb) allocated(ctx context.Context) ([]float64, error) {
	list := make([]float64, len(g.processes))
	for i, p := range g.processes {
		var err error
		if list[i], err = mallocs(ctx, p.ns); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return list, nil
}

// wait returns when a time is over, or a process has ended.
func (t *trial) wait(ctx context.Context, d time.Duration) error {
	end := time.After(d)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-look.C:
			if err := t.gnb.alive(); err != nil {
				return err
			}
		}
	}
}
