package slices

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// slice is one of the three.
type slice struct {
	name    string // as shown, "eMBB"
	short   string // as in names of namespaces
	sst     uint8  // standardised. Source: TS 23.501 V18.8.0, table 5.15.2.2-1.
	dnn     string
	qfi     uint8
	program string // in words
}

// Indexes of all.
const (
	embb = iota
	urllc
	mmtc
	numSlices
)

var all = [numSlices]slice{
	embb:  {"eMBB", "embb", 1, "internet", 9, "iperf3, UDP both ways"},
	urllc: {"URLLC", "urllc", 2, "voip", 1, "SIPp, calls with RTP, which is echoed"},
	mmtc:  {"mMTC", "mmtc", 3, "streaming", 8, "curl from nginx, one file after another"},
}

// noSD is the Slice Differentiator of an S-NSSAI that has none.
// Source: TS 23.003 V18, 28.4.2.
const noSD = 0xffffff

func (s *slice) snssai() pfcp.SNSSAI { return pfcp.SNSSAI{SST: s.sst, SD: noSD} }

// Load is the load of the programs.
type Load struct {
	Name         string
	StreamBPS    uint64  // of UDP payload, in each direction; 0: OfThroughput
	OfThroughput float64 // 0 to 1
	Calls        float64 // per second
}

// The loads of the study.
var named = []Load{
	{Name: "light", StreamBPS: 5e6, Calls: 2}, {Name: "medium", StreamBPS: 20e6, Calls: 4}, {Name: "heavy", StreamBPS: 50e6, Calls: 8},
}

// ParseLoad takes light, medium, heavy, or a part of the throughput such as 50%, with
// the calls of heavy.
func ParseLoad(text string) (Load, error) {
	for _, l := range named {
		if l.Name == text {
			return l, nil
		}
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	part, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !percent || err != nil || !(part > 0 && part <= 100) {
		return Load{}, fmt.Errorf("%q: want light, medium, heavy, or a part of the throughput such as 50%%", text)
	}
	return Load{Name: strconv.FormatFloat(part, 'f', -1, 64) + " %", OfThroughput: part / 100, Calls: named[len(named)-1].Calls}, nil
}

// Parameters of the programs at any load, as in the study where it specifies them.
const (
	streamOctets = 1332 // of UDP payload: 469 packets a second are 5 Mbit/s
	callHold     = 2 * time.Second
	callsSpare   = 2.5 // calls at the same time, of those that are due in a second, at most
	fileOctets   = 10_000_000
	filePause    = 50 * time.Millisecond

	iperfPort = 5201
	sipPort   = 5060
	webPort   = 80
)

// planned is the slices for a result.
func planned() []report.SlicePlan {
	var list []report.SlicePlan
	for i := range all {
		s := &all[i]
		list = append(list, report.SlicePlan{Name: s.name, SST: s.sst, DNN: s.dnn, Program: s.program})
	}
	return list
}
