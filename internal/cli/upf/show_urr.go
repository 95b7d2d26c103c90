package upfcmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

func printURRs(w io.Writer, urrs []upf.URR) error {
	if len(urrs) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := term.NewTable(w, "URR", "METHOD", "TRIGGERS", "THRESHOLD", "QUOTA", "UL OCTETS", "DL OCTETS", "UL PACKETS", "DL PACKETS", "REPORTS",
		"UL REPORTED", "DL REPORTED")
	for i := range urrs {
		u := &urrs[i]
		t.Row(u.ID, u.Method, u.Triggers, limits(u.VolumeThreshold, some(u.TimeThreshold), some(u.EventThreshold)),
			limits(u.VolumeQuota, u.TimeQuota, u.EventQuota), u.UplinkOctets, u.DownlinkOctets, u.UplinkPackets, u.DownlinkPackets,
			u.Reports, u.Reported.UplinkOctets, u.Reported.DownlinkOctets)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range urrs {
		noteURR(notes{w, fmt.Sprintf("URR %d", urrs[i].ID)}, &urrs[i])
	}
	return nil
}

// noteURR tells what few URRs have.
func noteURR(more notes, u *upf.URR) {
	more.some("Measurement Information", u.Information)
	for _, t := range []struct {
		name    string
		seconds uint32
	}{
		{"Measurement Period", u.Period}, {"Quota Holding Time", u.QuotaHoldingTime}, {"Quota Validity Time", u.QuotaValidityTime},
		{"Inactivity Detection Time", u.InactivityTime},
	} {
		more.some(t.name, seconds(some(t.seconds)))
	}
	if u.MonitoringTime != nil {
		more.add("Monitoring Time", u.MonitoringTime.Format(time.RFC3339))
		more.some("subsequent threshold", limits(u.SubsequentVolumeThreshold, some(u.SubsequentTimeThreshold), some(u.SubsequentEventThreshold)))
		more.some("subsequent quota", limits(u.SubsequentVolumeQuota, u.SubsequentTimeQuota, u.SubsequentEventQuota))
	}
	more.some("Linked URR", term.Words(u.LinkedURRs))
	more.some("Quota Action: FAR", number(u.QuotaFAR))
	more.some("Dropped DL Traffic Threshold", dropped(u.DroppedThreshold))
	more.some("dropped instead of buffered", dropped(u.DroppedDownlink))
	if u.DurationMs != 0 {
		more.add("metered", milliseconds(u.DurationMs), "of which reported", milliseconds(u.Reported.DurationMs))
	}
	if u.Events != 0 {
		more.add("events", u.Events, "of which reported", u.Reported.Events)
	}
	if u.Exhausted {
		more.add("quota exhausted")
	}
}

// limits shows the limits there are: octets, seconds, events.
func limits(v *upf.Volume, time, events *uint32) string {
	var list []string
	if v != nil {
		for _, l := range []struct {
			name  string
			value *uint64
		}{{"total", v.Total}, {"uplink", v.Uplink}, {"downlink", v.Downlink}} {
			if l.value != nil {
				list = append(list, fmt.Sprintf("%s %d", l.name, *l.value))
			}
		}
	}
	if time != nil {
		list = append(list, seconds(time))
	}
	if events != nil {
		list = append(list, fmt.Sprintf("%d events", *events))
	}
	return strings.Join(list, ", ")
}

func dropped(d *upf.DroppedUsage) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%d packets, %d octets", d.Packets, d.Octets)
}

func seconds(s *uint32) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%ds", *s)
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// some is nil for 0.
func some(v uint32) *uint32 {
	if v == 0 {
		return nil
	}
	return &v
}
