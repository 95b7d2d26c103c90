package target

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/internal/wordwrap"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
)

// Report is what a switch and its server have counted.
type Report struct {
	Stats
	P4Runtime p4rt.Stats `json:"p4runtime"`
}

// reportColumns is how wide a report is at most: any terminal shows that.
const reportColumns = 80

// Print writes a report for people: all ports, and of the other counts those that are not 0.
func (r Report) Print(w io.Writer) error {
	t := wordwrap.NewTable("PORT", "DEVICE", "MODE", "RX FRAMES", "RX OCTETS", "RX FULL",
		"TX FRAMES", "TX OCTETS", "TX FULL", "TOO LONG", "ERRORS")
	for _, p := range r.Ports {
		t.Row(fmt.Sprint(p.Number), p.Device, string(p.Mode), fmt.Sprint(p.RxFrames), fmt.Sprint(p.RxOctets), fmt.Sprint(p.RxFull),
			fmt.Sprint(p.TxFrames), fmt.Sprint(p.TxOctets), fmt.Sprint(p.TxFull), fmt.Sprint(p.TxTooLong), fmt.Sprint(p.TxErrors+p.RxSenseless))
	}
	if err := t.Write(w, reportColumns); err != nil {
		return err
	}
	fmt.Fprintln(w)
	t = wordwrap.NewTable("to ports", fmt.Sprint(r.ToPorts))
	t.Row("to the controller", fmt.Sprint(r.ToController))
	for _, why := range slices.Sorted(maps.Keys(r.Drops)) {
		if n := r.Drops[why]; n > 0 {
			t.Row("dropped: "+why, fmt.Sprint(n))
		}
	}
	for _, x := range p4runtimeCounts(r.P4Runtime) {
		if x.n > 0 {
			t.Row(x.name, fmt.Sprint(x.n))
		}
	}
	return t.Write(w, reportColumns)
}

// collector gives what is counted to Prometheus.
type collector struct {
	s      *Switch
	server *p4rt.Server
}

// NewCollector makes metrics of a switch and its server.
func NewCollector(s *Switch, server *p4rt.Server) prometheus.Collector { return collector{s, server} }

var (
	portFrames = prometheus.NewDesc("plumbline_p4switch_port_frames_total", "Frames of a port, by what became of them there.", []string{"port", "device", "what"}, nil)
	portOctets = prometheus.NewDesc("plumbline_p4switch_port_octets_total", "Octets of the frames of a port.", []string{"port", "device", "direction"}, nil)
	outFrames  = prometheus.NewDesc("plumbline_p4switch_out_frames_total", "Frames that came out of the program.", []string{"to"}, nil)
	dropFrames = prometheus.NewDesc("plumbline_p4switch_dropped_frames_total", "Frames that ended, by the reason.", []string{"reason"}, nil)
	p4runtime  = prometheus.NewDesc("plumbline_p4switch_p4runtime_total", "What controllers did and got.", []string{"what"}, nil)
	connected  = prometheus.NewDesc("plumbline_p4switch_controllers", "Controllers that are connected.", nil, nil)
)

// Describe is of prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{portFrames, portOctets, outFrames, dropFrames, p4runtime, connected} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	s := c.s.Stats()
	for _, p := range s.Ports {
		number := fmt.Sprint(p.Number)
		for _, x := range []namedCount{
			{"rx", p.RxFrames}, {"rx_full", p.RxFull}, {"rx_senseless", p.RxSenseless},
			{"tx", p.TxFrames}, {"tx_full", p.TxFull}, {"tx_too_long", p.TxTooLong}, {"tx_error", p.TxErrors},
		} {
			count(portFrames, x.n, number, p.Device, x.name)
		}
		count(portOctets, p.RxOctets, number, p.Device, "rx")
		count(portOctets, p.TxOctets, number, p.Device, "tx")
	}
	count(outFrames, s.ToPorts, "port")
	count(outFrames, s.ToController, "controller")
	for why, n := range s.Drops {
		count(dropFrames, n, why)
	}
	r := c.server.Stats()
	for _, x := range p4runtimeCounts(r) {
		count(p4runtime, x.n, x.name)
	}
	ch <- prometheus.MustNewConstMetric(connected, prometheus.GaugeValue, float64(r.Controllers))
}

type namedCount struct {
	name string
	n    uint64
}

func p4runtimeCounts(r p4rt.Stats) []namedCount {
	return []namedCount{
		{"updates", r.Updates}, {"updates_refused", r.UpdatesRefused},
		{"packet_ins", r.PacketIns}, {"packet_ins_dropped", r.PacketInsDropped}, {"packet_ins_malformed", r.PacketInsMalformed},
		{"packet_outs", r.PacketOuts}, {"packet_outs_refused", r.PacketOutsRefused},
		{"digest_lists", r.DigestLists}, {"digests_dropped", r.DigestsDropped},
	}
}
