package gnb

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/wordwrap"
)

// Stats is what a gNB has counted. Octets of user packets are from the IP
// header on. Datagrams is the sum of the fields that follow it up to
// OtherMessages: each datagram is in exactly one.
type Stats struct {
	N3 struct {
		Datagrams        uint64 `json:"datagrams"`
		Delivered        uint64 `json:"delivered"`         // user packets, to a UE
		Malformed        uint64 `json:"malformed"`         // not GTP-U, or cut short
		UnknownPeer      uint64 `json:"unknown_peer"`      // source not in n3.peers
		UnknownTEID      uint64 `json:"unknown_teid"`      // of no UE
		BadTPDU          uint64 `json:"bad_t_pdu"`         // not an IP packet
		EchoRequests     uint64 `json:"echo_requests"`     // received
		EchoResponses    uint64 `json:"echo_responses"`    // received
		ErrorIndications uint64 `json:"error_indications"` // received, about a UE
		EndMarkers       uint64 `json:"end_markers"`       // received, for a UE
		OtherMessages    uint64 `json:"other_messages"`

		SocketDrops          uint64 `json:"socket_drops"` // the reader was late
		SocketErrors         uint64 `json:"socket_errors"`
		EchoResponsesSent    uint64 `json:"echo_responses_sent"`
		ErrorIndicationsSent uint64 `json:"error_indications_sent"`
	} `json:"n3"`
	Paths []PathStats `json:"paths"`
	UEs   []UEStats   `json:"ues"`
}

// PathStats is about the GTP-U path to one UPF.
type PathStats struct {
	UPF           netip.Addr    `json:"upf"`
	EchoRequests  uint64        `json:"echo_requests"`  // sent
	EchoResponses uint64        `json:"echo_responses"` // received in answer
	RTT           time.Duration `json:"rtt_ns"`         // of the last one
}

// UEStats is about one UE.
type UEStats struct {
	Name             string `json:"name"`
	Namespace        string `json:"namespace,omitempty"`
	UplinkPackets    uint64 `json:"uplink_packets"`
	UplinkOctets     uint64 `json:"uplink_octets"`
	UplinkErrors     uint64 `json:"uplink_errors"` // packets not read or not sent
	DownlinkPackets  uint64 `json:"downlink_packets"`
	DownlinkOctets   uint64 `json:"downlink_octets"`
	DownlinkErrors   uint64 `json:"downlink_errors"` // packets that the device refused
	OtherQFI         uint64 `json:"other_qfi"`       // downlink packets of another QoS flow
	NoQFI            uint64 `json:"no_qfi"`          // downlink packets without a QFI, where the UE has one
	EndMarkers       uint64 `json:"end_markers"`
	ErrorIndications uint64 `json:"error_indications"`
}

// Stats returns the counts so far. It may be called at any time, also after
// Run.
func (g *GNB) Stats() Stats {
	var s Stats
	d, n := g.down, &s.N3
	for v, to := range map[verdict]*uint64{
		delivered: &n.Delivered, malformed: &n.Malformed, unknownPeer: &n.UnknownPeer,
		unknownTEID: &n.UnknownTEID, badTPDU: &n.BadTPDU, echoRequest: &n.EchoRequests,
		echoResponse: &n.EchoResponses, errorIndication: &n.ErrorIndications,
		endMarker: &n.EndMarkers, otherMessage: &n.OtherMessages,
	} {
		*to = d.counts[v].Load()
		n.Datagrams += *to
	}
	n.SocketDrops, n.SocketErrors = g.socketDrops(), d.errs.Load()
	n.EchoResponsesSent, n.ErrorIndicationsSent = d.paths.sent.Load(), d.indic.sent.Load()
	s.Paths = d.paths.stats()
	for i, u := range g.ues {
		s.UEs = append(s.UEs, u.stats(g.ups[i]))
	}
	return s
}

func (u *ue) stats(up *uplink) UEStats {
	return UEStats{
		Name: u.Name, Namespace: u.Namespace,
		UplinkPackets: up.packets.Load(), UplinkOctets: up.octets.Load(), UplinkErrors: up.errCount.Load(),
		DownlinkPackets: u.packets.Load(), DownlinkOctets: u.total.Load(), DownlinkErrors: u.writeErrors.Load(),
		OtherQFI: u.otherQFI.Load(), NoQFI: u.noQFI.Load(), EndMarkers: u.endMarkers.Load(), ErrorIndications: u.errorIndics.Load(),
	}
}

func (p *paths) stats() []PathStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]PathStats, 0, len(p.byUPF))
	for upf, path := range p.byUPF {
		all = append(all, PathStats{
			UPF: upf, EchoRequests: path.sent, EchoResponses: path.answered, RTT: path.rtt,
		})
	}
	slices.SortFunc(all, func(a, b PathStats) int { return a.UPF.Compare(b.UPF) })
	return all
}

// printColumns is how wide text is at most: any terminal shows that.
const printColumns = 80

// Print writes s as text.
func (s Stats) Print(w io.Writer) error {
	ues := wordwrap.NewTable("UE", "UL PACKETS", "UL OCTETS", "UL ERRORS", "DL PACKETS", "DL OCTETS", "DL ERRORS", "OTHER QFI", "NO QFI")
	for _, u := range s.UEs {
		ues.Row(u.Name, fmt.Sprint(u.UplinkPackets), fmt.Sprint(u.UplinkOctets), fmt.Sprint(u.UplinkErrors),
			fmt.Sprint(u.DownlinkPackets), fmt.Sprint(u.DownlinkOctets), fmt.Sprint(u.DownlinkErrors), fmt.Sprint(u.OtherQFI), fmt.Sprint(u.NoQFI))
	}
	if err := ues.Write(w, printColumns); err != nil {
		return err
	}
	if len(s.Paths) > 0 {
		fmt.Fprintln(w)
		paths := wordwrap.NewTable("UPF", "ECHO REQUESTS", "ANSWERED", "LAST RTT")
		for _, p := range s.Paths {
			paths.Row(p.UPF.String(), fmt.Sprint(p.EchoRequests), fmt.Sprint(p.EchoResponses), p.RTT.String())
		}
		if err := paths.Write(w, printColumns); err != nil {
			return err
		}
	}
	n := s.N3
	text := fmt.Sprintf("N3 received %d datagrams: %d delivered, %d malformed, %d from unknown peers, "+
		"%d unknown TEID, %d not IP, %d Echo Requests, %d Echo Responses, %d Error Indications, %d End Markers, "+
		"%d others; %d more lost in the socket",
		n.Datagrams, n.Delivered, n.Malformed, n.UnknownPeer, n.UnknownTEID, n.BadTPDU, n.EchoRequests,
		n.EchoResponses, n.ErrorIndications, n.EndMarkers, n.OtherMessages, n.SocketDrops)
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(wordwrap.Lines(text, printColumns), "\n"))
	return err
}
