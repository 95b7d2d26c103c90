package upf

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/datapath"
)

var (
	descBufferSessions   = describe("buffer_sessions", "PFCP sessions of which packets wait for the UE to be paged.")
	descBufferPackets    = describe("buffer_packets", "Packets that wait for UEs to be paged.")
	descBufferPacketsMax = describe("buffer_packets_max", "Packets that may wait at most (buffer.total_packets).")
	descBufferBytes      = describe("buffer_bytes", "Memory of the packets that wait for UEs to be paged.")
	descBufferBytesMax   = describe("buffer_bytes_max", "Memory that packets which wait may take at most (buffer.total_octets).")
	descTableEntries     = describe("table_entries", "Entries of a table of the datapath that are in use.", "table")
	descTargetUp         = describe("p4_target_up", "1 if the P4 target answers and takes entries.")
	descTargetSessions   = describe("p4_sessions", "PFCP sessions, by who forwards their packets: target, or cpu.", "by")
	descTargetHanded     = describe("p4_handed_total", "Packets that the P4 target has handed to the CPU.", "reason")
	descTableEntriesMax  = describe("table_entries_max", "Entries that a table of the datapath holds at most.", "table")
)

// collectOccupancy says how full the buffer and the tables are.
func (c *collector) collectOccupancy(ch chan<- prometheus.Metric) {
	if d, ok := c.forwarder().(datapath.BufferReporter); ok {
		b := d.Buffered()
		gauge(ch, descBufferSessions, float64(b.Sessions))
		gauge(ch, descBufferPackets, float64(b.Packets))
		gauge(ch, descBufferPacketsMax, float64(b.MaxPackets))
		gauge(ch, descBufferBytes, float64(b.Octets))
		gauge(ch, descBufferBytesMax, float64(b.MaxOctets))
	}
	if d, ok := c.forwarder().(datapath.TableReporter); ok {
		for _, t := range d.TableUse() {
			gauge(ch, descTableEntries, float64(t.Used), t.Name)
			gauge(ch, descTableEntriesMax, float64(t.Max), t.Name)
		}
	}
	if d, ok := c.forwarder().(datapath.TargetReporter); ok {
		t := viewTarget(d.Target())
		up := 0.0
		if t.Up {
			up = 1
		}
		gauge(ch, descTargetUp, up)
		gauge(ch, descTargetSessions, float64(t.Sessions), "target")
		gauge(ch, descTargetSessions, float64(t.CPUSessions), "cpu")
		for _, h := range t.Handed {
			counter(ch, descTargetHanded, h.Packets, h.Reason)
		}
	}
}
