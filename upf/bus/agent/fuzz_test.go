package agent

import (
	"errors"
	"hash/maphash"
	"io"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// FuzzEntry: whatever stands in the stream of changes, the agent, with a real
// datapath below it, neither stops nor holds what it should not: a version never
// goes back, and what it believes to hold the datapath holds.
func FuzzEntry(f *testing.F) {
	session := &api.Session{Seid: 1, Rules: []*api.Rule{{
		PdrId: 1, Detect: &api.Detect{FTeid: &api.FTEID{Teid: 1, Ipv4: 0x0a030001}}, FarId: 1,
		Forward:            &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		OuterHeaderRemoval: true,
	}}}
	encoded, err := wire.Marshal(session)
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range []*api.Batch{
		{Last: 1, Changes: []*api.VersionedChange{{Version: 1, Seid: 1, Session: encoded}}},
		{Last: 2, Changes: []*api.VersionedChange{{Version: 1, Seid: 1, Session: encoded}, {Version: 2, Seid: 1}}},
		{Last: 1, Changes: []*api.VersionedChange{{Version: 1, Seid: 2, Session: encoded}}},
		{Usages: []*api.UsageRequest{{Id: 1, Seid: 1}}},
		{Last: 1, Changes: []*api.VersionedChange{{Version: 1, Seid: 1, Session: []byte("\x09\x01\x00\x00\x00\x00\x00\x00\x00\x12\x00")}}},
	} {
		octets, err := wire.Marshal(b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(octets, octets)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		a := &Agent{
			driver: stages.New(stages.Config{
				Endpoints:   []datapath.Endpoint{{Name: "n3", Address: netip.MustParseAddr("10.3.0.1")}},
				MaxSessions: 16, Now: func() uint64 { return 0 },
			}),
			log: quiet(), held: map[uint64]holding{}, seed: maphash.MakeSeed(), settled: true,
		}
		defer a.driver.Close()
		for _, b := range [][]byte{first, second} {
			before := a.watermark
			err := a.entry(t.Context(), redis.XMessage{ID: "1-1", Values: map[string]any{wire.Field: string(b)}})
			if err != nil && !errors.Is(err, errGap) {
				t.Fatal(err)
			}
			if a.watermark < before {
				t.Fatalf("version %d after %d", a.watermark, before)
			}
		}
		for seid := range a.held {
			if _, err := a.driver.Usage(seid); err != nil {
				t.Fatalf("session %#x: %v", seid, err)
			}
		}
	})
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
