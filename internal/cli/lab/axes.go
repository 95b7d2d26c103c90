package labcmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/method"
	"github.com/plumbline-upf/plumbline/lab/system"
)

// labRules are rules of sessions, as flags say them.
type labRules struct{ system.Rules }

// maxMBRKbps is the largest MBR of a QER: 5 octets. Source: TS 29.244, 8.2.8.
const maxMBRKbps = 1<<40 - 1

// UnmarshalText takes none, or parts joined by +.
func (r *labRules) UnmarshalText(text []byte) error {
	r.Rules = system.Rules{}
	if string(text) == "none" {
		return nil
	}
	for _, part := range strings.Split(string(text), "+") {
		if err := r.add(part); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

func (r *labRules) add(part string) error {
	if part == "urr" && !r.URR {
		r.URR = true
		return nil
	}
	if part == "ipv6" && !r.IPv6 {
		r.IPv6 = true
		return nil
	}
	if kbps, ok := strings.CutPrefix(part, "mbr="); ok && r.MBRKbps == 0 {
		n, err := strconv.ParseUint(kbps, 10, 64)
		if err != nil || n < 1 || n > maxMBRKbps {
			return fmt.Errorf("mbr of %s: want 1 to %d kbit/s", kbps, uint64(maxMBRKbps))
		}
		r.MBRKbps = n
		return nil
	}
	if pdrs, ok := strings.CutSuffix(part, "pdr"); ok && r.PDRs == 0 {
		n, err := strconv.Atoi(pdrs)
		if err != nil || n < 1 || n > system.MaxPDRs {
			return fmt.Errorf("%s PDRs: want 1 to %d", pdrs, system.MaxPDRs)
		}
		r.PDRs = n
		return nil
	}
	return fmt.Errorf("%q: want none, or some of Npdr, mbr=KBPS, urr and ipv6, each once", part)
}

// labChurn is churn, as flags say it.
type labChurn struct{ system.Churn }

// UnmarshalText takes none, or three rates per second.
func (c *labChurn) UnmarshalText(text []byte) error {
	c.Churn = system.Churn{}
	if string(text) == "none" {
		return nil
	}
	parts := strings.Split(string(text), ":")
	rates := []*float64{&c.Establish, &c.Modify, &c.Delete}
	if len(parts) != len(rates) {
		return fmt.Errorf("%q: want none, or sessions established, modified and deleted per second, such as 100:800:100", text)
	}
	for i, part := range parts {
		rate, err := strconv.ParseFloat(part, 64)
		if err != nil || !(rate >= 0 && rate <= system.MaxChurn) {
			return fmt.Errorf("%q: %q per second: want 0 to %g", text, part, system.MaxChurn)
		}
		*rates[i] = rate
	}
	return nil
}

// lossRatio is a part of the frames, written as a ratio or with %.
type lossRatio float64

// maxLossGoal is the most that a goal may allow.
const maxLossGoal = 0.5

// UnmarshalText takes 0, 1e-5, 0.5% and such.
func (l *lossRatio) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	ratio, err := strconv.ParseFloat(number, 64)
	if percent {
		ratio /= 100
	}
	if err != nil || !(ratio >= 0 && ratio <= maxLossGoal) {
		return fmt.Errorf("%q: want a part of the frames up to %g, such as 0, 1e-5 or 0.5%%", text, maxLossGoal)
	}
	*l = lossRatio(ratio)
	return nil
}

// labSender is a sender, as flags say it.
type labSender struct{ generator.Sender }

// UnmarshalText takes live, afxdp or packet.
func (s *labSender) UnmarshalText(text []byte) (err error) {
	s.Sender, err = generator.ParseSender(string(text))
	return err
}

// labLoad is a load, as flags say it.
type labLoad struct{ method.Level }

// UnmarshalText takes idle, max, percentages and rates.
func (l *labLoad) UnmarshalText(text []byte) (err error) {
	l.Level, err = method.ParseLevel(string(text))
	return err
}

func levels(loads []labLoad) []method.Level {
	var list []method.Level
	for _, l := range loads {
		list = append(list, l.Level)
	}
	return list
}
