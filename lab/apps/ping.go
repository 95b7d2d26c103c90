package apps

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Pings is a number of echo requests, one by one.
type Pings struct {
	Count    int
	Interval time.Duration // whole milliseconds: ping has no less
}

// Pinged is what ping says of them.
type Pinged struct {
	Sent, Received int
	// Mean, Min and Max are exact to 1 us; RTTs, in the order of the answers, are
	// rounded to three digits.
	Mean, Min, Max time.Duration
	RTTs           []time.Duration
}

// pingTime is how much longer than they are under way ping may take.
const pingTime = 10 * time.Second

// Ping sends them from the UE to the data network, and waits for the answers. That none
// came is no error.
func Ping(ctx context.Context, at Place, p Pings) (Pinged, error) {
	process, err := StartApart(at.UE, "ping", "-n", "-I", at.UEAddress.String(), "-i", seconds(p.Interval),
		"-c", strconv.Itoa(p.Count), "-W", "2", at.DNAddress.String())
	if err != nil {
		return Pinged{}, err
	}
	_, err = process.Wait(ctx, time.Duration(p.Count)*p.Interval+pingTime)
	pinged, parseErr := parsePing(process.out.Bytes())
	switch {
	case ctx.Err() != nil:
		return Pinged{}, ctx.Err()
	case parseErr != nil && err != nil:
		return Pinged{}, err
	}
	return pinged, parseErr
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}

var (
	pingAnswer = regexp.MustCompile(`(?m)^\d+ bytes from .* time=([\d.]+) ms$`)
	pingCounts = regexp.MustCompile(`(?m)^(\d+) packets transmitted, (\d+) received`)
	pingTimes  = regexp.MustCompile(`(?m)^rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/`)
)

// parsePing reads what iputils' ping writes.
func parsePing(out []byte) (Pinged, error) {
	counts := pingCounts.FindSubmatch(out)
	if counts == nil {
		return Pinged{}, fmt.Errorf("apps: ping wrote %.200q", bytes.TrimSpace(out))
	}
	var p Pinged
	var err error
	if p.Sent, err = strconv.Atoi(string(counts[1])); err == nil {
		p.Received, err = strconv.Atoi(string(counts[2]))
	}
	if err != nil || p.Received > p.Sent {
		return Pinged{}, fmt.Errorf("apps: ping wrote %q", counts[0])
	}
	if p.Received == 0 {
		return p, nil
	}
	times := pingTimes.FindSubmatch(out)
	if times == nil {
		return Pinged{}, fmt.Errorf("apps: ping wrote no times: %.200q", bytes.TrimSpace(out))
	}
	for i, to := range []*time.Duration{&p.Min, &p.Mean, &p.Max} {
		if *to, err = millis(times[1+i]); err != nil {
			return Pinged{}, err
		}
	}
	for _, answer := range pingAnswer.FindAllSubmatch(out, -1) {
		rtt, err := millis(answer[1])
		if err != nil {
			return Pinged{}, err
		}
		p.RTTs = append(p.RTTs, rtt)
	}
	return p, nil
}

func millis(text []byte) (time.Duration, error) {
	d, err := time.ParseDuration(string(text) + "ms")
	if err != nil {
		return 0, fmt.Errorf("apps: ping wrote %q: %w", text, err)
	}
	return d, nil
}

// Add makes one account of two.
func (p Pinged) Add(q Pinged) Pinged {
	switch {
	case p.Received == 0:
		q.Sent += p.Sent
		return q
	case q.Received == 0:
		p.Sent += q.Sent
		return p
	}
	n := p.Received + q.Received
	return Pinged{
		Sent: p.Sent + q.Sent, Received: n, Min: min(p.Min, q.Min), Max: max(p.Max, q.Max),
		Mean: time.Duration((float64(p.Mean)*float64(p.Received) + float64(q.Mean)*float64(q.Received)) / float64(n)),
		RTTs: append(append([]time.Duration(nil), p.RTTs...), q.RTTs...),
	}
}
