package model_test

import (
	"testing"

	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/model"
)

type underTest struct{ *model.UPF }

func (u underTest) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	f := u.FromN6
	if port == conformance.N3 {
		f = u.FromN3
	}
	got := f(frame)
	return conformance.Outcome{Reason: got.Reason, Packet: got.Packet}
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Kind{}, func(t *testing.T) conformance.Datapath {
		return underTest{model.New(model.Config{
			Endpoints:   []datapath.Endpoint{{Address: conformance.N3Address}},
			MaxSessions: conformance.MaxSessions,
			Now:         func() uint64 { return 1_000_000_000 },
		})}
	})
}

var _ datapath.Driver = underTest{}
