package pfcpsim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// other does the steps that are no message of their own.
func (p *Peer) other(ctx context.Context, s Step) (skipped string, err error) {
	switch s.Verb {
	case "set":
		fields, ok := s.With.(yaml.MapSlice)
		if !ok {
			return "", fmt.Errorf("%v where variables are wanted: %w", s.With, ErrForm)
		}
		for _, item := range fields {
			p.vars[fmt.Sprint(item.Key)] = fmt.Sprint(item.Value)
		}
		return "", nil
	case "raw":
		b, err := hex.DecodeString(strings.Join(strings.Fields(fmt.Sprint(s.With)), ""))
		if err != nil {
			return "", fmt.Errorf("%w: %w", err, ErrForm)
		}
		return "", p.raw(ctx, s, b)
	case "wait", "quiet":
		d, err := time.ParseDuration(fmt.Sprint(s.With))
		if err != nil {
			return "", err
		}
		return "", p.pause(ctx, s.Verb, d)
	}
	if p.cfg.Traffic == nil {
		return noPackets, nil
	}
	return "", p.traffic(s)
}

// pause reads for d. With "quiet" no report may come.
func (p *Peer) pause(ctx context.Context, verb string, d time.Duration) error {
	if _, err := p.await(ctx, d, nil); !errors.Is(err, ErrNoResponse) {
		return err
	}
	if verb == "quiet" && len(p.waiting) > 0 {
		return fmt.Errorf("unexpected: %w\n%s", ErrExpected, p.waiting[0].message)
	}
	return nil
}

// raw sends octets. What comes back, if anything is expected, is the next message
// that is no request.
func (p *Peer) raw(ctx context.Context, s Step, b []byte) error {
	if err := p.send(b, p.cfg.UPF); err != nil {
		return err
	}
	within := s.Within
	if within == 0 {
		within = p.cfg.T1
	}
	if s.Expect == nil {
		return nil
	}
	m, err := p.await(ctx, within, func(m Message) bool { return !m.Header.Type.IsRequest() })
	if s.Expect == "none" {
		switch {
		case errors.Is(err, ErrNoResponse):
			return nil
		case err == nil:
			return fmt.Errorf("want no response: %w\n%s", ErrExpected, m)
		}
	}
	if err != nil {
		return err
	}
	match := matcher{m.Header.Type, p.vars}
	return match.nodes(m.IEs, s.Expect)
}

// traffic does a step with packets.
func (p *Peer) traffic(s Step) error {
	if s.Verb == "sent" {
		return matchSent(p.cfg.Traffic.Sent(), s.With)
	}
	packet, err := newPacket(s.With)
	if err != nil {
		return err
	}
	send := p.cfg.Traffic.Downlink
	if s.Verb == "uplink" {
		send = p.cfg.Traffic.Uplink
	}
	for i := range packet.Count {
		o, err := send(packet)
		if err != nil {
			return err
		}
		if err := matchOutcome(o, s.Expect); err != nil {
			return fmt.Errorf("packet %d: %w", i+1, err)
		}
	}
	return nil
}

// matchSent compares a list of packets with what is expected of each.
func matchSent(got []Outcome, expect any) error {
	list, ok := expect.([]any)
	if !ok {
		list = []any{expect}
	}
	for i, want := range list {
		if i >= len(got) {
			return fmt.Errorf("%d packets, want %d: %w", len(got), len(list), ErrExpected)
		}
		if err := matchOutcome(got[i], want); err != nil {
			return fmt.Errorf("packet %d of %v: %w", i+1, got, err)
		}
	}
	if len(got) > len(list) {
		return fmt.Errorf("%d packets, want %d; the first beyond: %s: %w", len(got), len(list), got[len(list)], ErrExpected)
	}
	return nil
}
