package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// octets is what was counted after so many octets uplink and downlink, in
// packets of 100.
func octets(up, down uint64) Counts {
	return Counts{UplinkOctets: up, DownlinkOctets: down, UplinkPackets: up / 100, DownlinkPackets: down / 100}
}

// total is a volume of octets in both directions together.
func total(n uint64) Volume { return Volume{HasTotal: true, Total: n} }

// usageStep is a moment in the life of a URR: something is asked of it, or so
// much has been counted and the time has come to look.
type usageStep struct {
	at       float64 // seconds since it was created
	up, down uint64  // octets counted until then
	reached  uint64  // of up, when a threshold was reached; 0: not known
	query    bool
	started  bool // the datapath tells of a packet
	update   *UpdateURR
	want     string // the reports: trigger, octets up/down, seconds
	next     float64
	limits   string
}

// usageTests are the lives of URRs: each step says all that may be seen of it.
var usageTests = []struct {
	name  string
	urr   URR
	steps []usageStep
}{
	{
		"volume threshold: each report begins the measurement anew",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(1000)},
		[]usageStep{
			{at: 0, limits: "threshold 1000"},
			{at: 1, up: 600, down: 300, limits: "threshold 1000"},
			{at: 2, up: 700, down: 400, want: "#0 VOLTH 700/400 2s", limits: "threshold 2100"},
			{at: 3, up: 700, down: 400, limits: "threshold 2100"},
			{at: 4, up: 5000, down: 400, want: "#1 VOLTH 4300/0 2s", limits: "threshold 6400"},
		},
	},
	{
		"volume threshold: the report is of when it was reached, the rest belongs to the next one",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH | ReportPERIO, VolumeThreshold: total(1000), MeasurementPeriod: 10},
		[]usageStep{
			{at: 1, up: 1700, reached: 1100, want: "#0 VOLTH 1100/0 1s", next: 10, limits: "threshold 2100"},
			{at: 2, up: 1900, reached: 1100, next: 10, limits: "threshold 2100"},
			{at: 3, up: 2300, reached: 1100, want: "#1 VOLTH 1200/0 2s", next: 10, limits: "threshold 3300"},
			{at: 4, up: 3500, reached: 3600, want: "#2 VOLTH 1200/0 1s", next: 10, limits: "threshold 4500"},
			{at: 10, up: 4900, reached: 4500, want: "#3 PERIO+VOLTH 1400/0 6s", next: 20, limits: "threshold 5900"},
		},
	},
	{
		"volume threshold of one direction",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: Volume{HasDownlink: true, Downlink: 500}},
		[]usageStep{
			{at: 1, up: 9000, down: 400, limits: "threshold d500"},
			{at: 2, up: 9000, down: 500, want: "#0 VOLTH 9000/500 2s", limits: "threshold d1000"},
		},
	},
	{
		"volume quota: told once, and a new one goes on from the last report",
		URR{Method: MeasureVolume, Triggers: ReportVOLQU | ReportVOLTH, VolumeThreshold: total(800), VolumeQuota: total(1000)},
		[]usageStep{
			{at: 1, up: 800, want: "#0 VOLTH 800/0 1s", limits: "threshold 1600 quota 1000"},
			{at: 2, up: 1000, want: "#1 VOLQU 200/0 1s", limits: "threshold 1800 quota 1000 exhausted"},
			{at: 3, up: 1000, limits: "threshold 1800 quota 1000 exhausted"},
			{at: 4, up: 1000, update: &UpdateURR{VolumeQuota: Some(total(2000))}, limits: "threshold 1800 quota 3000"},
			{at: 5, up: 3100, want: "#2 VOLTH+VOLQU 2100/0 3s", limits: "threshold 3900 quota 3000 exhausted"},
		},
	},
	{
		"a new quota counts what was not reported when it was given",
		URR{Method: MeasureVolume, Triggers: ReportVOLQU, VolumeQuota: total(1000)},
		[]usageStep{
			{at: 1, up: 300, limits: "quota 1000"},
			{at: 2, up: 300, update: &UpdateURR{VolumeQuota: Some(total(200))}, limits: "quota 200"},
			{at: 2, up: 300, want: "#0 VOLQU 300/0 2s", limits: "quota 200 exhausted"},
		},
	},
	{
		"a quota of nothing stops packets and is not told",
		URR{Method: MeasureVolume, Triggers: ReportVOLQU, VolumeQuota: total(0)},
		[]usageStep{
			{at: 1, limits: "quota 0 exhausted"},
			{at: 2, update: &UpdateURR{VolumeQuota: Some(total(500))}, limits: "quota 500"},
		},
	},
	{
		"periodic: in step with the clock, and none is made up for",
		URR{Method: MeasureVolume, Triggers: ReportPERIO, MeasurementPeriod: 10},
		[]usageStep{
			{at: 0, next: 10},
			{at: 9, up: 100, next: 10},
			{at: 10.5, up: 100, want: "#0 PERIO 100/0 10s", next: 20},
			{at: 20, up: 100, want: "#1 PERIO 0/0 9s", next: 30},
			{at: 47, up: 300, want: "#2 PERIO 200/0 27s", next: 50},
		},
	},
	{
		"a query neither moves the period nor the quota",
		URR{Method: MeasureVolume, Triggers: ReportPERIO | ReportVOLQU, MeasurementPeriod: 10, VolumeQuota: total(1000)},
		[]usageStep{
			{at: 4, up: 400, query: true, want: "#0 IMMER 400/0 4s", next: 10, limits: "quota 1000"},
			{at: 10, up: 500, want: "#1 PERIO 100/0 6s", next: 20, limits: "quota 1000"},
		},
	},
	{
		"time threshold, metered at once",
		URR{Method: MeasureDuration, Triggers: ReportTIMTH, Information: InfoISTM, TimeThreshold: 30},
		[]usageStep{
			{at: 0, next: 30},
			{at: 30, want: "#0 TIMTH 0/0 30s metered 30", next: 60},
			{at: 61, want: "#1 TIMTH 0/0 31s metered 31", next: 91},
		},
	},
	{
		"duration begins with the first packet and ends without packets",
		URR{Method: MeasureDuration, Triggers: ReportTIMTH, TimeThreshold: 100, InactivityDetectionTime: 8},
		[]usageStep{
			{at: 5, limits: "start"},
			{at: 6, up: 100, next: 8}, // looked for packets after a quarter of the time
			{at: 8, up: 200, next: 10},
			{at: 10, up: 200, next: 12},
			{at: 16, up: 200, limits: "start"}, // metered from 6 to 16
			{at: 50, up: 300, next: 52},
			{at: 58, up: 300, query: true, want: "#0 IMMER 300/0 58s metered 18", limits: "start"},
		},
	},
	{
		"time quota: packets are stopped though the datapath knows no time",
		URR{Method: MeasureDuration, Triggers: ReportTIMQU, Information: InfoISTM, TimeQuota: Some(uint32(20))},
		[]usageStep{
			{at: 1, next: 20},
			{at: 20, up: 500, want: "#0 TIMQU 500/0 20s metered 20", limits: "exhausted"},
			{at: 25, up: 500, update: &UpdateURR{TimeQuota: Some(uint32(10))}, next: 30},
		},
	},
	{
		"start and stop of traffic are told without a measurement",
		URR{Method: MeasureEvent, Triggers: ReportSTART | ReportSTOPT},
		[]usageStep{
			{at: 1, limits: "start"},
			{at: 2, up: 100, want: "#0 START", next: 4.5},
			{at: 4, up: 200, next: 6.5},
			{at: 14, up: 200, want: "#1 STOPT", limits: "start"},
			{at: 20, up: 300, want: "#2 START", next: 22.5},
		},
	},
	{
		"event threshold: starts of traffic are events, each with its time",
		URR{Method: MeasureEvent, Triggers: ReportEVETH, InactivityDetectionTime: 4, Events: EventLimits{Threshold: 2}},
		[]usageStep{
			{at: 0, limits: "start"},
			{at: 2, up: 100, next: 3},
			{at: 6, up: 100, limits: "start"},
			{at: 7, up: 200, want: "#0 EVETH 200/0 7s events 2 7", next: 8},
			{at: 11, up: 200, limits: "start"},
			{at: 12, up: 300, query: true, want: "#1 IMMER 100/0 5s events 12", next: 13},
		},
	},
	{
		"event quota: used up by the event that reaches it, and a new one goes on",
		URR{Method: MeasureEvent, Triggers: ReportEVEQU, Events: EventLimits{Quota: Some(uint32(1))}},
		[]usageStep{
			{at: 1, up: 100, want: "#0 EVEQU 100/0 1s events 1", next: 3.5, limits: "exhausted"},
			{at: 3, up: 100, update: &UpdateURR{EventQuota: Some(uint32(1))}, next: 5.5},
			{at: 11, up: 100, limits: "start"},
			{at: 12, up: 200, want: "#1 EVEQU 100/0 11s events 12", next: 14.5, limits: "exhausted"},
		},
	},
	{
		"an event quota of nothing stops packets and is not told",
		URR{Method: MeasureEvent, Triggers: ReportEVEQU, Events: EventLimits{Quota: Some(uint32(0))}},
		[]usageStep{{at: 1, limits: "start exhausted"}},
	},
	{
		"subsequent event limits take over at the Monitoring Time",
		URR{Method: MeasureEvent, Triggers: ReportEVETH, InactivityDetectionTime: 4, MonitoringTime: 10 * second, Events: EventLimits{Threshold: 9, SubsequentThreshold: 1}},
		[]usageStep{
			{at: 2, up: 100, next: 3},
			{at: 10, up: 100, want: "#0 MONIT 100/0 10s before events 2", limits: "start"},
			{at: 12, up: 200, want: "#1 EVETH 100/0 2s after events 12", next: 13},
		},
	},
	{
		"a packet that is told before it is counted",
		URR{Method: MeasureDuration, Triggers: ReportSTART, TimeThreshold: 100},
		[]usageStep{
			{at: 1, limits: "start"},
			{at: 2, started: true, want: "#0 START"},
			{at: 3, started: true, up: 100},
			{at: 12, query: true, up: 100, want: "#1 IMMER 100/0 12s metered 10"},
		},
	},
	{
		"a threshold of nothing is none",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(0)},
		[]usageStep{{at: 1, up: 100}},
	},
	{
		"quota holding time: told once, until packets come again",
		URR{Method: MeasureVolume, Triggers: ReportQUHTI, QuotaHoldingTime: 40, VolumeQuota: total(5000)},
		[]usageStep{
			{at: 0, next: 10, limits: "quota 5000"},
			{at: 10, up: 100, next: 20, limits: "quota 5000"},
			{at: 50, up: 100, want: "#0 QUHTI 100/0 50s", limits: "quota 5000 start"},
			{at: 90, up: 100, limits: "quota 5000 start"},
			{at: 91, up: 200, next: 101, limits: "quota 5000"},
		},
	},
	{
		"quota validity time",
		URR{Method: MeasureVolume, Triggers: ReportQUVTI, QuotaValidityTime: 15, VolumeQuota: total(5000)},
		[]usageStep{
			{at: 1, next: 15, limits: "quota 5000"},
			{at: 15, up: 100, want: "#0 QUVTI 100/0 15s", limits: "quota 5000"},
			{at: 20, up: 200, update: &UpdateURR{VolumeQuota: Some(total(1000))}, next: 35, limits: "quota 1100"},
		},
	},
	{
		"monitoring time: what was used before is told apart, and the subsequent threshold holds",
		URR{
			Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(1000),
			MonitoringTime: 20 * second, SubsequentVolumeThreshold: total(300),
		},
		[]usageStep{
			{at: 1, next: 20, limits: "threshold 1000"},
			{at: 20, up: 900, want: "#0 MONIT 900/0 20s before", limits: "threshold 1200"},
			{at: 30, up: 1200, want: "#1 VOLTH 300/0 10s after", limits: "threshold 1500"},
			{at: 40, up: 1500, want: "#2 VOLTH 300/0 10s", limits: "threshold 1800"},
		},
	},
	{
		"monitoring time without a subsequent threshold: the rest of the former one holds",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(1000), MonitoringTime: 20 * second},
		[]usageStep{
			{at: 20, up: 900, want: "#0 MONIT 900/0 20s before", limits: "threshold 1000"},
			{at: 21, up: 1000, want: "#1 VOLTH 100/0 1s after", limits: "threshold 2000"},
		},
	},
	{
		"limits beyond all numbers",
		URR{Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(1<<64 - 1)},
		[]usageStep{
			{at: 1, up: 1000, query: true, want: "#0 IMMER 1000/0 1s", limits: "threshold 18446744073709551615"},
			{at: 2, up: 2000, limits: "threshold 18446744073709551615"},
		},
	},
	{
		"a clock that is put back",
		URR{Method: MeasureDuration | MeasureVolume, Triggers: ReportPERIO, Information: InfoISTM, MeasurementPeriod: 10},
		[]usageStep{
			{at: 10, up: 100, want: "#0 PERIO 100/0 10s metered 10", next: 20},
			{at: 3, up: 200, query: true, want: "#1 IMMER 100/0 0s metered 0", next: 20},
			{at: 20, up: 300, want: "#2 PERIO 100/0 10s metered 10", next: 30},
		},
	},
}

func TestUsage(t *testing.T) {
	for _, tc := range usageTests {
		t.Run(tc.name, func(t *testing.T) {
			u := tc.urr
			u.ID = 7
			const born = 1_800_000_000 * second
			if u.MonitoringTime != 0 {
				u.MonitoringTime += born
			}
			u.provision(born, Counts{})
			s := &Session{URRs: []URR{u}}
			for _, step := range tc.steps {
				now := born + int64(step.at*1e9)
				counts := &Usage{URRs: []URRCounts{{URRID: 7, Counts: octets(step.up, step.down)}}}
				if step.reached != 0 {
					counts.URRs[0].Reached = octets(step.reached, step.down)
				}
				s.Reports = nil
				switch {
				case step.query:
					s.query(nil, now, counts, []uint32{7}, false)
				case step.update != nil:
					u := &s.URRs[0]
					set(&u.VolumeQuota, step.update.VolumeQuota)
					if step.update.TimeQuota.Present {
						u.TimeQuota = step.update.TimeQuota
					}
					u.rearm(step.update, now)
				default:
					s.look(now, counts, Optional[uint32]{7, step.started})
				}
				next := 0.0
				if n := s.next(now); n != 0 {
					next = float64(n-born) / 1e9
				}
				got := []string{reportText(s.Reports), fmt.Sprint(next), limitsText(s.URRs[0].Limits())}
				want := []string{step.want, fmt.Sprint(step.next), step.limits}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("at %v s (-want +got: reports, next look, limits):\n%s", step.at, diff)
				}
			}
		})
	}
}

var triggerNames = []string{
	"PERIO", "VOLTH", "TIMTH", "QUHTI", "START", "STOPT", "DROTH", "IMMER", "VOLQU", "TIMQU", "LIUSA", "TERMR", "MONIT",
	"ENVCL", "MACAR", "EVETH", "EVEQU", "TEBUR", "IPMJL", "QUVTI", "EMRRE", "UPINT",
}

// reportText writes reports as the tables have them.
func reportText(list []UsageReport) string {
	var out []string
	for _, r := range list {
		text := fmt.Sprintf("#%d %s", r.SEQN, flagNames(uint32(r.Trigger), triggerNames))
		if r.Trigger&unmeasured == 0 {
			text += fmt.Sprintf(" %d/%d %ds", r.Usage.UplinkOctets, r.Usage.DownlinkOctets, (r.End-r.Start)/second)
		}
		if r.Method&MeasureDuration != 0 {
			text += fmt.Sprintf(" metered %d", r.Duration)
		}
		if r.Before {
			text += " before"
		}
		if r.After {
			text += " after"
		}
		if len(r.EventTimes) > 0 {
			text += " events"
		}
		for _, at := range r.EventTimes {
			text += fmt.Sprintf(" %d", at/second%1_000_000)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func limitsText(l Limits) string {
	var out []string
	volume := func(name string, v Volume) {
		switch {
		case v.HasTotal:
			out = append(out, fmt.Sprintf("%s %d", name, v.Total))
		case v.HasUplink:
			out = append(out, fmt.Sprintf("%s u%d", name, v.Uplink))
		case v.HasDownlink:
			out = append(out, fmt.Sprintf("%s d%d", name, v.Downlink))
		}
	}
	volume("threshold", l.Threshold)
	volume("quota", l.Quota)
	if l.StartOfTraffic {
		out = append(out, "start")
	}
	if l.Exhausted {
		out = append(out, "exhausted")
	}
	return strings.Join(out, " ")
}
