package method

import "github.com/plumbline-upf/plumbline/lab/report"

// published is one line of a comparison that somebody else has published.
type published struct {
	system, version  string
	uplink, downlink rates
}

// rates are what was sent and received, as printed: Gbit/s and thousands of frames per
// second.
type rates struct{ txGbps, rxGbps, txKpps, rxKpps float64 }

// campaign2025 is the table of "Simple Measurement of UPF Performance 6".
var campaign2025 = []published{
	{"Open5GS UPF (TUN)", "2.7.2", rates{1.79, 1.08, 150.07, 93.65}, rates{1.74, 1.33, 150.36, 111.87}},
	{"Open5GS UPF (TAP)", "2.7.2", rates{1.79, 1.16, 150.14, 100.07}, rates{1.74, 1.17, 150.11, 98.55}},
	{"free5GC UPF", "1.2.4", rates{5.96, 4.8, 500.31, 414.59}, rates{4.05, 3.03, 350.09, 254.98}},
	{"UPG-VPP", "1.13.0", rates{9.42, 6.87, 790.31, 593.79}, rates{10.31, 6.94, 891.25, 585.1}},
	{"eUPF (native mode)", "0.6.4", rates{11.67, 9.42, 978.83, 814.75}, rates{11.24, 9.77, 971.56, 819.85}},
}

// CampaignReferences are the figures of a published comparison by the same method, in
// the directions of a run. The loss is worked out from the rates that are printed.
func CampaignReferences(directions []report.Direction) []report.Reference {
	var list []report.Reference
	for _, p := range campaign2025 {
		for _, d := range directions {
			r := p.uplink
			if d == report.Downlink {
				r = p.downlink
			}
			if d == "" {
				continue // directions were not measured together
			}
			list = append(list, report.Reference{
				System: p.system, Version: p.version,
				Source: "Simple Measurement of UPF Performance 6 (s5uishida), 2025-01-25",
				Conditions: "One session, 1400 octets of UDP payload, 60 s, rates chosen by hand for each UPF; TRex 3.06 and UPF in virtual machines of one " +
					"Proxmox VE host, VirtIO, 2 virtual CPUs for the UPF. Rates include the frame check sequence.",
				Cell: report.LabCell{Method: NameCampaign, Direction: d, Sessions: 1, Frames: FramesOfCampaign},
				Figures: []report.Figure{
					{Name: "Tx", Unit: "bit/s", Value: r.txGbps * 1e9},
					{Name: "Rx", Unit: "bit/s", Better: report.Higher, Value: r.rxGbps * 1e9},
					{Name: "Tx frames", Unit: "pps", Value: r.txKpps * 1e3},
					{Name: "Rx frames", Unit: "pps", Better: report.Higher, Value: r.rxKpps * 1e3},
					{Name: "loss", Unit: "ratio", Better: report.Lower, Value: 1 - r.rxKpps/r.txKpps},
				},
			})
		}
	}
	return list
}

// FramesOfCampaign are frames with 1400 octets of UDP payload: with IPv4, UDP and
// Ethernet headers and frame check sequence.
const FramesOfCampaign = "1446"

// LatencyReferences are published figures of latency with the delay of the test set-up
// taken off.
func LatencyReferences() []report.Reference {
	return []report.Reference{{
		System: "UPF on Tofino", Source: "Evaluation of a Tofino-based UPF in the i14y lab (slides)",
		Conditions: "RFC 2544 of an Ixia over a switch, whose delay (25930 to 26012 ns, average variation 1.1 ns) was measured first; 20000 sessions, " +
			"one uplink and one downlink entry each.",
		Cell: report.LabCell{Method: NameLatency, Sessions: 20_000},
		Figures: []report.Figure{
			{Name: "latency min less bed", Unit: "ns", Better: report.Lower, Value: 1185},
			{Name: "latency max less bed", Unit: "ns", Better: report.Lower, Value: 1365},
			{Name: "average variation", Unit: "ns", Better: report.Lower, Value: 1.1},
		},
	}}
}
