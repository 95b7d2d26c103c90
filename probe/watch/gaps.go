package watch

import (
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
	"github.com/plumbline-upf/plumbline/probe/export"
	"github.com/plumbline-upf/plumbline/probe/find"
)

// maxGaps is how many gaps of a UPF are remembered: the latest.
const maxGaps = 100

// interrupted notes when a UPF, which is yet as it was before the change, is not measured.
func (u *upf) interrupted(c *find.Change, now time.Time) {
	if u.gone {
		if !c.Gone {
			u.closeGap(now)
		}
		return
	}
	var why []string
	switch {
	case c.Gone:
		u.openGap(export.Gap{From: now, Why: "it had ended"})
		return
	case c.Target.PID != u.target.PID:
		why = append(why, "it was started again")
	}
	var devices []string
	for _, p := range c.Detach {
		devices = append(devices, p.Device)
	}
	slices.Sort(devices)
	for _, device := range slices.Compact(devices) {
		why = append(why, device+" was another one or none")
	}
	if len(why) > 0 {
		u.openGap(export.Gap{From: now, Until: now, Why: printable.Lines(strings.Join(why, "; "))})
	}
}

func (u *upf) openGap(g export.Gap) {
	if len(u.gaps) == maxGaps {
		u.gaps = slices.Delete(u.gaps, 0, 1)
	}
	u.gaps = append(u.gaps, g)
}

func (u *upf) closeGap(now time.Time) {
	if n := len(u.gaps); n > 0 && u.gaps[n-1].Until.IsZero() {
		u.gaps[n-1].Until = now
	}
}
