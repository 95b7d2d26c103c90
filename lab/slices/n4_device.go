package slices

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/probe/n4"
)

// n4Device is where N4 goes in a test bed: both ends are in the UPF's namespace.
const n4Device = "lo"

// openMonitor observes N4 of all UPFs. It returns nil for an external UPF, whose N4 device is unknown.
func openMonitor(s system) (*n4.Monitor, error) {
	var c n4.Config
	for _, b := range s {
		if b.upf.Kind.External {
			return nil, nil
		}
		c.UPFs = append(c.UPFs, n4.UPF{Name: b.name, N4: []netip.Addr{b.top.Config.N4UPF}})
	}
	m, err := n4.Open(c)
	if err != nil {
		return nil, err
	}
	for i, b := range s {
		if _, err := m.Attach(n4.Point{UPF: i, Namespace: b.top.UPF.Path(), Device: n4Device}); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// transactions are what the monitor has seen, of all types of messages.
func transactions(m *n4.Monitor) ([]report.SliceN4, error) {
	snapshot, err := m.Read()
	if err != nil {
		return nil, err
	}
	var list []report.SliceN4
	for i := range snapshot.Series {
		x := &snapshot.Series[i]
		if x.Answered == 0 {
			continue
		}
		list = append(list, report.SliceN4{
			UPF: x.UPF, Seen: report.SeenByDevice, Message: strings.TrimSuffix(x.Type.String(), " Request"), Count: x.Answered, Refused: x.Rejected,
			Lost: x.Unanswered, Repeats: x.Retransmissions, DelayNS: report.LatencyOf(x.Delay), MeanNS: x.Delay.Mean(), Histogram: encode(x.Delay),
		})
	}
	return list, nil
}
