package n4

import (
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestNodeReport: all CP functions are told of a GTP-U path that failed and of
// its recovery; who does not answer is told the latest later.
func TestNodeReport(t *testing.T) {
	p := port(t)
	cp, lost := newCPFunction(t, "127.0.0.2", p), newCPFunction(t, "127.0.0.3", p)
	lost.set(func(f *cpFunction) { f.silent = true })
	b := newBed(t, Config{PeerPort: p, HeartbeatInterval: 50 * time.Millisecond, T1: 20 * time.Millisecond, N1: 2})
	b.client(t, "127.0.0.2").associate("127.0.0.2", cp.recovery.Time())
	b.client(t, "127.0.0.3").associate("127.0.0.3", cp.recovery.Time())
	gnb := session.Tunnel{IPv4: session.IPv4{10, 3, 0, 1}}
	upf := session.Tunnel{IPv6: session.IPv6{0x20, 1, 15: 9}}
	b.reportPath(gnb, true)
	m := await[*pfcp.NodeReportRequest](t, cp, 0)
	if m.NodeID.Addr != b.Addr().Addr() || m.ReportType != pfcp.NodeReportUPFR || len(m.PathFailure) != 1 ||
		m.PathFailure[0].IPv4 != netip.MustParseAddr("10.3.0.1") || m.PathFailure[0].IPv6.IsValid() {
		t.Errorf("report %+v", m)
	}
	await[*pfcp.NodeReportRequest](t, lost, 1) // sent again
	b.reportPath(upf, true)
	b.reportPath(gnb, false)
	eventually(t, "both news told", func() bool {
		cp.mu.Lock()
		defer cp.mu.Unlock()
		var failed, recovered bool
		for _, r := range cp.got {
			if m, ok := r.(*pfcp.NodeReportRequest); ok {
				failed = failed || len(m.PathFailure) == 1 && m.PathFailure[0].IPv6 == netip.MustParseAddr("2001::9")
				recovered = recovered || len(m.PathRecovery) == 1 && m.PathRecovery[0].IPv4 == netip.MustParseAddr("10.3.0.1")
			}
		}
		return failed && recovered
	})
	lost.set(func(f *cpFunction) { f.silent, f.got = false, nil })
	eventually(t, "the latest news told late, in one report", func() bool {
		lost.mu.Lock()
		defer lost.mu.Unlock()
		for _, r := range lost.got {
			if m, ok := r.(*pfcp.NodeReportRequest); ok {
				return m.ReportType == pfcp.NodeReportUPFR|pfcp.NodeReportUPRR && len(m.PathFailure) == 1 && len(m.PathRecovery) == 1
			}
		}
		return false
	})
}
