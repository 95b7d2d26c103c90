package model_test

import (
	"testing"

	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/model"
)

type underTest struct {
	*model.UPF
	sent *[][]byte
}

func (u underTest) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	f := u.FromN6
	if port == conformance.N3 {
		f = u.FromN3
	}
	got := f(frame)
	return conformance.Outcome{Reason: got.Reason, Packet: got.Packet}
}

func (u underTest) Sent(testing.TB) [][]byte {
	sent := *u.sent
	*u.sent = nil
	return sent
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath {
		u := underTest{sent: new([][]byte)}
		u.UPF = model.New(model.Config{
			Endpoints:   conformance.Endpoints,
			MaxSessions: conformance.MaxSessions,
			Now:         func() uint64 { return 1_000_000_000 },
			Send:        func(packet []byte) { *u.sent = append(*u.sent, packet) },
		})
		return u
	})
}

var _ datapath.Driver = underTest{}
