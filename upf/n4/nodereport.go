package n4

import (
	"log/slog"
	"maps"
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// pathNews is what one CP function has to be told of GTP-U paths: of each peer
// the latest.
type pathNews struct {
	mu   sync.Mutex
	down map[gtpuPeer]bool // false: up again
	busy bool              // it is being told
}

// gtpuPeer is a peer on N3, N9, S1-U or S5/S8-U.
type gtpuPeer struct {
	v4 session.IPv4
	v6 session.IPv6
}

// maxPathNews bounds the peers that wait to be reported to one CP function, and
// is what fits into one message.
const maxPathNews = pfcp.MaxPeers

// reportPath tells all CP functions that a GTP-U peer does not answer, or that
// it does again. It does not wait for them.
// Source: TS 29.244 V18.6.0, 6.2.9 and 7.4.5.1.
func (e *Endpoint) reportPath(peer session.Tunnel, down bool) {
	p := gtpuPeer{peer.IPv4, peer.IPv6}
	for _, a := range e.peers.list() {
		if a.paths.add(p, down) {
			e.background.Go(func() { e.tellPaths(a) })
		}
	}
}

// add notes news. It reports whether somebody has to begin to tell them.
func (n *pathNews) add(p gtpuPeer, down bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down == nil {
		n.down = make(map[gtpuPeer]bool)
	}
	if _, ok := n.down[p]; !ok && len(n.down) >= maxPathNews {
		return false
	}
	n.down[p] = down
	was := n.busy
	n.busy = true
	return !was
}

// take takes all news out. If there are none, nobody is busy any more.
func (n *pathNews) take() map[gtpuPeer]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.down
	n.down, n.busy = nil, len(news) > 0
	return news
}

// putBack puts back what could not be told, but for what is older than news that
// came since.
func (n *pathNews) putBack(old map[gtpuPeer]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.Copy(old, n.down)
	n.down = old
}

// tellPaths tells a CP function all news of paths. While it does not answer it
// is asked as often as there are heartbeats.
func (e *Endpoint) tellPaths(a *association) {
	for {
		news := a.paths.take()
		if len(news) == 0 {
			return
		}
		body, err := e.request(a.lifetime, netip.AddrPortFrom(a.addr, e.config.PeerPort), 0, e.nodeReport(news), pfcp.MsgNodeReportResponse)
		if err == nil {
			var m pfcp.NodeReportResponse
			if err = m.Decode(body); err == nil && m.Cause.Accepted() {
				continue
			}
			e.log.event(kindAssociation, slog.LevelWarn, "n4: node report not accepted", "node", a.node, "addr", a.addr, "cause", m.Cause, "error", err)
			continue
		}
		a.paths.putBack(news)
		if !sleep(a.lifetime, e.config.HeartbeatInterval) {
			return
		}
	}
}

// nodeReport is a User Plane Path Failure Report, a User Plane Path Recovery
// Report, or both.
func (e *Endpoint) nodeReport(news map[gtpuPeer]bool) *pfcp.NodeReportRequest {
	m := &pfcp.NodeReportRequest{NodeID: e.nodeID}
	for p, down := range news {
		var r pfcp.RemoteGTPUPeer
		if p.v4 != (session.IPv4{}) {
			r.IPv4 = netip.AddrFrom4(p.v4)
		}
		if p.v6 != (session.IPv6{}) {
			r.IPv6 = netip.AddrFrom16(p.v6)
		}
		if down {
			m.ReportType |= pfcp.NodeReportUPFR
			m.PathFailure = append(m.PathFailure, r)
		} else {
			m.ReportType |= pfcp.NodeReportUPRR
			m.PathRecovery = append(m.PathRecovery, r)
		}
	}
	return m
}
