package scheduler

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
)

// Print writes a table of both directions, and a line for the rest.
func (s *Stats) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tpackets\tblocks\tagain\tgood\tbad\tabsent\tlost\tgiven up\tMB\t")
	for _, d := range []struct {
		name string
		Direction
	}{{"downlink", s.Downlink}, {"uplink", s.Uplink}} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n",
			d.name, d.Packets, d.Blocks, d.Again, d.Good, d.Bad, d.Absent, d.Lost, d.GivenUp, float64(d.Octets)/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d slots, %d UEs, %d preambles, %d scheduling requests, %d packets refused, %d missing; indications: %d stale, %d of unknown UEs; %d transport blocks malformed\n",
		s.Slots, s.UEs, s.Preambles, s.Requests, s.Downlink.Refused, s.Uplink.Missing, s.Stale, s.Unknown, s.Malformed)
	return err
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("radio_mac_"+name, help, labels, nil)
}

var (
	descUEs       = describe("ues", "UEs that are known.")
	descSlots     = describe("slots_total", "Slots that were scheduled.")
	descPreambles = describe("preambles_total", "Preambles of the cell's UEs.")
	descRequests  = describe("scheduling_requests_total", "Scheduling requests.")
	descStale     = describe("stale_indications_total", "Indications that no HARQ process waited for.")
	descUnknown   = describe("unknown_indications_total", "Indications of an RNTI that is not known.")
	descMalformed = describe("malformed_blocks_total", "Transport blocks that ended before their headers said.")
	descPackets   = describe("packets_total", "Packets taken from the core, or given to it.", "direction")
	descRefused   = describe("refused_packets_total", "Packets of the core for which there was no room, or no UE.")
	descMissing   = describe("missing_packets_total", "Uplink packets that were lost on the air, by their numbers.")
	descBlocks    = describe("blocks_total", "New transport blocks.", "direction")
	descAgain     = describe("retransmissions_total", "Transmissions of transport blocks behind the first.", "direction")
	descOctets    = describe("block_bytes_total", "Octets of transport blocks: sent for the first time, or received.", "direction")
	descOutcome   = describe("transmissions_total", "What became of transmissions.", "direction", "outcome")
	descGivenUp   = describe("given_up_blocks_total", "Transport blocks that were sent as often as allowed.", "direction")
	descBusy      = describe("harq_processes", "HARQ processes that are not free.", "direction")
)

// Describe implements [prometheus.Collector].
func (s *Scheduler) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect implements [prometheus.Collector].
func (s *Scheduler) Collect(ch chan<- prometheus.Metric) {
	v := s.Stats()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(descUEs, v.UEs)
	counter(descSlots, v.Slots)
	counter(descPreambles, v.Preambles)
	counter(descRequests, v.Requests)
	counter(descStale, v.Stale)
	counter(descUnknown, v.Unknown)
	counter(descMalformed, v.Malformed)
	counter(descRefused, v.Downlink.Refused)
	counter(descMissing, v.Uplink.Missing)
	for name, d := range map[string]*Direction{"downlink": &v.Downlink, "uplink": &v.Uplink} {
		counter(descPackets, d.Packets, name)
		counter(descBlocks, d.Blocks, name)
		counter(descAgain, d.Again, name)
		counter(descOctets, d.Octets, name)
		counter(descGivenUp, d.GivenUp, name)
		gauge(descBusy, d.Busy, name)
		for outcome, n := range map[string]uint64{"good": d.Good, "bad": d.Bad, "absent": d.Absent, "lost": d.Lost} {
			counter(descOutcome, n, name, outcome)
		}
	}
}
