package stages_test

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

type underTest struct {
	*stages.UPF
	sent *[][]byte
	now  *uint64
}

// Pass lets time go by.
func (u underTest) Pass(d time.Duration) { *u.now += uint64(d) }

func (u underTest) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	var got stages.Frame
	switch port {
	case conformance.N3:
		got = u.FromN3(frame)
	case conformance.N6LAN:
		all := u.FromEthernet(1+int(port-conformance.N6), frame)
		got = all[0]
		for _, f := range all[1:] {
			if f.Reason == datapath.ReasonNone {
				*u.sent = append(*u.sent, f.Packet)
			}
		}
	default:
		got = u.FromNetwork(1+int(port-conformance.N6), frame)
	}
	return conformance.Outcome{Reason: got.Reason, Packet: got.Packet}
}

func (u underTest) Sent(testing.TB) [][]byte {
	sent := *u.sent
	*u.sent = nil
	return sent
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath {
		u := underTest{sent: new([][]byte), now: new(uint64)}
		*u.now = 1_000_000_000
		u.UPF = stages.New(stages.Config{
			Endpoints:   conformance.Endpoints,
			N6:          conformance.DataNetworks,
			MaxSessions: conformance.MaxSessions, Hosts: conformance.HostAddresses,
			MTU: conformance.MTU, Router4: conformance.N6Address, Router6: conformance.N6Address6, Advertise: &conformance.Advertise, Secret: conformance.Secret,
			Now:  func() uint64 { return *u.now },
			Send: func(packet []byte) { *u.sent = append(*u.sent, packet) },
		})
		return u
	})
}

var _ datapath.Driver = underTest{}

// TestAnswersAreLimited: what strangers make the UPF send is bounded, however
// much they send.
func TestAnswersAreLimited(t *testing.T) {
	now, sent := uint64(1), 0
	u := stages.New(stages.Config{
		Endpoints: conformance.Endpoints, MaxSessions: 1,
		Now:  func() uint64 { return now },
		Send: func([]byte) { sent++ },
	})
	if err := u.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	frames := conformance.Frames(conformance.N3)
	for range 10 {
		for range 100 {
			for _, frame := range frames { // no TEID is known, and some are Echo Requests
				u.FromN3(frame)
			}
			now += 10_000_000
		}
	}
	// 10 s at 100 a second, and the burst of a second.
	if sent < 1000 || sent > 1101 {
		t.Errorf("%d answers in 10 s, want 1100", sent)
	}
}
