package phy

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/ran/radio/ue"
)

// Print writes a table of the UEs, and a line for the air.
func (s *Stats) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "UE\tdirection\tpackets\tblocks\tagain\tfailed\trequests\tMB\t")
	for i := range s.UEs {
		d, u := &s.UEs[i].Downlink, &s.UEs[i].Uplink
		fmt.Fprintf(t, "%d\tdownlink\t%d\t%d\t%d\t%d\t\t%.1f\t\n", i, d.Packets, d.Blocks, d.Retransmissions, d.Failed, float64(d.BlockOctets)/1e6)
		fmt.Fprintf(t, "%d\tuplink\t%d\t%d\t%d\t\t%d\t%.1f\t\n", i, u.Packets, u.Blocks, u.Retransmissions, u.Requests, float64(u.BlockOctets)/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d slots; PUSCH: %d received, %d CRC failures, %d not sent as asked; PDSCH: %d without transport block, %d that no UE listened to; "+
		"feedback not sent as asked: %d; PDUs: %d collisions, %d misplaced, %d for unknown UEs; %d packets lost by devices\n",
		s.Slots, s.PUSCHGood, s.PUSCHFailed, s.PUSCHAbsent, s.Empty, s.Unheard, s.FeedbackAbsent, s.Collisions, s.Misplaced, s.Strangers, s.DeviceLost)
	return err
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("radio_phy_"+name, help, labels, nil)
}

var (
	descSlots    = describe("slots_total", "Slots that were on the air.")
	descPDUs     = describe("unusable_pdus_total", "PDUs of requests that had no effect, or another one.", "reason")
	descPUSCH    = describe("pusch_total", "PUSCHs that were asked for.", "outcome")
	descFeedback = describe("feedback_absent_total", "HARQ feedback that the UE did not send as it was asked for.")
	descLost     = describe("device_lost_packets_total", "Packets that a UE's device did not take.")

	descPackets  = describe("ue_packets_total", "Packets of programs behind the UE.", "ue", "direction")
	descOctets   = describe("ue_bytes_total", "Octets of these packets.", "ue", "direction")
	descBlocks   = describe("ue_blocks_total", "New transport blocks: received, or sent.", "ue", "direction")
	descAgain    = describe("ue_retransmissions_total", "Transmissions of transport blocks behind the first.", "ue", "direction")
	descFailed   = describe("ue_failed_blocks_total", "Transport blocks not received, each time.", "ue")
	descRequests = describe("ue_scheduling_requests_total", "Scheduling requests.", "ue")
	descIgnored  = describe("ue_ignored_dcis_total", "DCIs that the UE did not understand or follow.", "ue")
)

// Describe implements [prometheus.Collector].
func (p *PHY) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, ch) }

// Collect implements [prometheus.Collector].
func (p *PHY) Collect(ch chan<- prometheus.Metric) {
	s := p.Stats()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	counter(descSlots, s.Slots)
	counter(descFeedback, s.FeedbackAbsent)
	counter(descLost, s.DeviceLost)
	for reason, n := range map[string]uint64{
		"unknown_ue": s.Strangers, "misplaced": s.Misplaced, "collision": s.Collisions, "unheard": s.Unheard, "no_transport_block": s.Empty,
	} {
		counter(descPDUs, n, reason)
	}
	for outcome, n := range map[string]uint64{"good": s.PUSCHGood, "absent": s.PUSCHAbsent, "crc_failure": s.PUSCHFailed} {
		counter(descPUSCH, n, outcome)
	}
	for i := range s.UEs {
		collectUE(counter, strconv.Itoa(i), &s.UEs[i])
	}
}

func collectUE(counter func(*prometheus.Desc, uint64, ...string), index string, s *ue.Stats) {
	const down, up = "downlink", "uplink"
	d, u := &s.Downlink, &s.Uplink
	counter(descPackets, d.Packets, index, down)
	counter(descPackets, u.Packets, index, up)
	counter(descOctets, d.Octets, index, down)
	counter(descOctets, u.Octets, index, up)
	counter(descBlocks, d.Blocks, index, down)
	counter(descBlocks, u.Blocks, index, up)
	counter(descAgain, d.Retransmissions, index, down)
	counter(descAgain, u.Retransmissions, index, up)
	counter(descFailed, d.Failed, index)
	counter(descRequests, u.Requests, index)
	counter(descIgnored, s.BadDCIs+s.IgnoredDCIs, index)
}
