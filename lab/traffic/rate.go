package traffic

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/generator"
)

// Rate is how much is sent. At most one of PPS, BPS and Percent is above 0; the zero
// value says nothing.
type Rate struct {
	PPS        float64 // frames per second
	BPS        float64 // bits per second of frames on N6, without FCS
	Percent    float64 // of the throughput that was measured before
	PerSession bool    // PPS or BPS of each session of the stream
}

func (r Rate) isSet() bool { return r != Rate{} }

// rateUnits: a unit comes before those that it ends with.
var rateUnits = []struct {
	name  string
	scale float64
	field func(*Rate) *float64
}{
	{"kpps", 1e3, (*Rate).pps}, {"Mpps", 1e6, (*Rate).pps}, {"pps", 1, (*Rate).pps},
	{"kbit/s", 1e3, (*Rate).bps}, {"Mbit/s", 1e6, (*Rate).bps}, {"Gbit/s", 1e9, (*Rate).bps}, {"bit/s", 1, (*Rate).bps},
	{"%", 1, (*Rate).percent},
}

func (r *Rate) pps() *float64     { return &r.PPS }
func (r *Rate) bps() *float64     { return &r.BPS }
func (r *Rate) percent() *float64 { return &r.Percent }

const (
	perSession = "/session"
	maxPPS     = 1e9  // a frame per nanosecond
	maxBPS     = 1e13 // of 1250-octet frames, as many
	maxPercent = 1000
)

// UnmarshalText reads "900kpps", "1.5 Gbit/s", "50 %", "10pps/session".
func (r *Rate) UnmarshalText(text []byte) error {
	s := string(text)
	*r = Rate{}
	s, r.PerSession = strings.CutSuffix(s, perSession)
	for _, u := range rateUnits {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		*u.field(r) = v * u.scale
		if err == nil && r.inBounds() {
			return nil
		}
		break
	}
	return fmt.Errorf("rate %q: want a number with pps, kpps, Mpps, bit/s, kbit/s, Mbit/s, Gbit/s or %%, such as 900kpps, or 10pps%s", text, perSession)
}

// inBounds is false for NaN too.
func (r Rate) inBounds() bool {
	return r.PPS >= 0 && r.PPS <= maxPPS && r.BPS >= 0 && r.BPS <= maxBPS && r.Percent >= 0 && r.Percent <= maxPercent &&
		r.PPS+r.BPS+r.Percent > 0 && !(r.PerSession && r.Percent > 0)
}

// String is the inverse of UnmarshalText, but for how numbers are rounded; "" of the
// zero value.
func (r Rate) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	text := ""
	switch {
	case r.PPS >= 1e6:
		text = number(r.PPS/1e6) + "Mpps"
	case r.PPS >= 1e3:
		text = number(r.PPS/1e3) + "kpps"
	case r.PPS > 0:
		text = number(r.PPS) + "pps"
	case r.BPS >= 1e9:
		text = number(r.BPS/1e9) + "Gbit/s"
	case r.BPS >= 1e6:
		text = number(r.BPS/1e6) + "Mbit/s"
	case r.BPS > 0:
		text = number(r.BPS) + "bit/s"
	case r.Percent > 0:
		text = number(r.Percent) + " %"
	}
	if r.PerSession {
		text += perSession
	}
	return text
}

// MarshalText is [Rate.String].
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// ofAll refuses what has no meaning for a whole direction.
func (r Rate) ofAll() error {
	if r.PerSession {
		return fmt.Errorf("rate %v: a stream may have one for each session, a profile not", r)
	}
	return nil
}

// framesPerSecond returns the rate in frames of so many bits, given the throughput in
// frames per second that a percentage is of.
func (r Rate) framesPerSecond(bits float64, sessions int, throughput float64) float64 {
	pps := r.PPS + r.BPS/bits + r.Percent/100*throughput
	if r.PerSession {
		pps *= float64(sessions)
	}
	return pps
}

// OfThroughput reports whether the profile's rate or ramp is a part of a throughput, which
// must be known.
func (p *Profile) OfThroughput() bool { return p.Rate.Percent > 0 || p.Ramp.Percent > 0 }

// Load writes rate, ramp and burst of direction d into l: frames per second, rounded.
// throughput is what percentages are of, in frames per second, above 0 if [Profile.OfThroughput]. Where the profile does
// not say a rate, that of l stays.
func (p *Profile) Load(d generator.Direction, throughput float64, l *generator.Load) {
	l.Burst = p.Burst
	streams, pps := p.of(d), 0.0
	if len(streams) == 1 && streams[0].speed() > 0 {
		l.Rate, l.Burst, l.Speed = 0, 0, streams[0].speed()
		return
	}
	for _, s := range streams {
		pps += s.Rate.framesPerSecond(s.meanBits(), s.Sessions, throughput)
	}
	bits := p.meanBits(d)
	if p.Rate.isSet() {
		pps = p.Rate.framesPerSecond(bits, 0, throughput)
	}
	if pps > 0 {
		l.Rate = max(1, uint64(min(pps, maxPPS)+0.5))
	}
	if p.Ramp.isSet() {
		l.RampTo = max(1, uint64(min(p.Ramp.framesPerSecond(bits, 0, throughput), maxPPS)+0.5))
	}
}

// speed is that of a replay by the times of its file; 0: there is a rate.
func (s *Stream) speed() float64 {
	if s.Replay == nil {
		return 0
	}
	return s.Replay.Speed
}

// meanBits is the length of a direction's frames on N6 in bits, without FCS, on
// average.
func (p *Profile) meanBits(d generator.Direction) float64 {
	sum, shares := 0.0, 0.0
	for _, s := range p.of(d) {
		sum += s.share() * s.meanBits()
		shares += s.share()
	}
	return sum / shares
}

// share is the part of the frames that are of the stream, in relation to others of
// its direction.
func (s *Stream) share() float64 {
	switch {
	case s.Rate.isSet():
		return s.Rate.framesPerSecond(s.meanBits(), s.Sessions, 0)
	case s.Share > 0:
		return s.Share
	}
	return 1
}
