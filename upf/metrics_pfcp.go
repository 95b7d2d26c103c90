package upf

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/n4"
)

var (
	descAssociations = describe("associations", "PFCP associations.")
	descMessages     = describe("pfcp_messages_total",
		"PFCP messages received, and sent (repetitions included).", "type", "direction")
	descResponses  = describe("pfcp_responses_total", "PFCP responses composed, by Cause.", "cause")
	descDuplicates = describe("pfcp_duplicates_total",
		"PFCP requests that came again and were answered from the response cache.")
	descRetransmissions = describe("pfcp_retransmissions_total", "PFCP requests of the UPF that were sent again.")
	descIgnored         = describe("pfcp_drops_total", "Datagrams on N4 that got no answer.", "reason")
	descPathFailures    = describe("pfcp_path_failures_total", "CP functions that stopped answering heartbeats.")
	descPeerRestarts    = describe("pfcp_peer_restarts_total", "CP functions whose Recovery Time Stamp became newer.")
	descSendErrors      = describe("pfcp_send_errors_total", "PFCP responses that the socket did not take.")
	descStoreErrors     = describe("store_errors_total", "Times that the store did not take what it was given; it is tried again.")
	descReports         = describe("pfcp_reports_total",
		"PFCP Session Report Requests: sent (repetitions not counted), answered, rejected (any other Cause), unanswered (sent N1 times; tried again later), discarded (given up, or session or association was gone), other_form (of those sent, without optional IEs that were not answered before).", "outcome")
	descReportsWaiting = describe("pfcp_reports_waiting", "Sessions with something to report that no CP function has answered yet.")
	descReportsResting = describe("pfcp_reports_resting", "Session reports that were not answered, until they are tried again.")
	descLatency        = describe("pfcp_request_duration_seconds",
		"From a PFCP request being read from the socket to its response being handed to it.", "type")
)

// collectPFCP reads the counters of the N4 endpoint.
func (c *collector) collectPFCP(ch chan<- prometheus.Metric, n *n4.Counters) {
	var others struct{ received, sent uint64 }
	for t := range n.Received {
		others.received += n.Received[t].Load()
		others.sent += n.Sent[t].Load()
	}
	for _, t := range n4.MessageTypes() {
		received, sent := n.Received[t].Load(), n.Sent[t].Load()
		counter(ch, descMessages, received, label(t), "received")
		counter(ch, descMessages, sent, label(t), "sent")
		others.received -= min(received, others.received)
		others.sent -= min(sent, others.sent)
		collectLatency(ch, t, &n.Latency[t])
	}
	counter(ch, descMessages, others.received, "other", "received")
	counter(ch, descMessages, others.sent, "other", "sent")
	for i := range n.Causes {
		// Those that happened; the first one is there from the start.
		if count := n.Causes[i].Load(); count > 0 || pfcp.Cause(i) == pfcp.CauseRequestAccepted {
			counter(ch, descResponses, count, label(pfcp.Cause(i)))
		}
	}
	for _, d := range n4.Drops() {
		counter(ch, descIgnored, n.Dropped[d].Load(), d.String())
	}
	counter(ch, descDuplicates, n.Duplicates.Load())
	counter(ch, descRetransmissions, n.Retransmissions.Load())
	counter(ch, descPathFailures, n.PathFailures.Load())
	counter(ch, descPeerRestarts, n.PeerRestarts.Load())
	counter(ch, descSendErrors, n.SendErrors.Load())
	counter(ch, descStoreErrors, n.StoreErrors.Load())
	for outcome, count := range map[string]*atomic.Uint64{
		"sent": &n.Reports.Requests, "answered": &n.Reports.Answered, "rejected": &n.Reports.Rejected,
		"unanswered": &n.Reports.Unanswered, "discarded": &n.Reports.Discarded,
		"other_form": &n.Reports.OtherForm,
	} {
		counter(ch, descReports, count.Load(), outcome)
	}
	gauge(ch, descReportsWaiting, float64(c.endpoint.ReportsWaiting()))
	gauge(ch, descReportsResting, float64(c.endpoint.ReportsResting()))
}

// collectLatency has a histogram for each request type that came.
func collectLatency(ch chan<- prometheus.Metric, t pfcp.MessageType, h *n4.Histogram) {
	count, sum, below := h.Read()
	if count == 0 {
		return
	}
	buckets := make(map[float64]uint64, len(below))
	for bound, n := range below {
		buckets[float64(bound)/float64(time.Second)] = n
	}
	ch <- prometheus.MustNewConstHistogram(descLatency, count, sum.Seconds(), buckets, label(t))
}

// label is a name of TS 29.244 as label values are written.
func label(name interface{ String() string }) string {
	return strings.ReplaceAll(strings.ToLower(name.String()), " ", "_")
}
