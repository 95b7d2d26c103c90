package controlplane

import (
	"context"
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/internal/redisconn/redistest"
	"github.com/plumbline-upf/plumbline/upf/bus/agent"
)

// TestSeveralAgents: a session is given to the agent that its SEID names; one
// that is away costs the others nothing, and what they can do together is what
// each of them can.
func TestSeveralAgents(t *testing.T) {
	server := redistest.Start(t)
	drivers := map[uint8]*memory{0: newMemory(), 7: newMemory()}
	names := map[uint8]string{0: "zero", 7: "seven", 9: "nobody"}
	for number, d := range drivers {
		a, err := agent.New(agent.Config{
			Server: redisconn.Config{Address: server.Address}, Name: names[number], Driver: d, Log: testLog()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	changed := make(chan struct{}, 100)
	u, err := Open(t.Context(), Config{
		Server: redisconn.Config{Address: server.Address}, Agents: names, Log: testLog(),
		Changed: func() { changed <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := u.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for !u.Up(0) || !u.Up(7) {
		<-changed
	}
	for number, d := range drivers {
		seid := uint64(number)<<56 | 5
		if err := u.Apply(t.Context(), &api.Change{Seid: seid, Session: testSession(seid, 1)}); err != nil {
			t.Fatal(err)
		}
		if len(d.sessions) != 1 || d.sessions[seid] == nil {
			t.Errorf("agent %d holds %v", number, d.sessions)
		}
	}
	err = u.Apply(t.Context(), &api.Change{Seid: 9<<56 | 5, Session: testSession(9<<56|5, 1)})
	if !errors.Is(err, ErrAgentDown) {
		t.Errorf("an agent that never came: %v, want %v", err, ErrAgentDown)
	}
	if c := u.Capabilities(); c.GetMaxSessions() != 200 || !c.GetUsage() || c.GetFilters() || len(c.GetN3Ipv4()) != 2 {
		t.Errorf("capabilities of two: %v", c)
	}
	if list := u.Agents(); len(list) != 3 || !list[0].Up || !list[1].Up || list[2].Up || list[1].Desired != 1 {
		t.Errorf("agents: %+v", list)
	}
}
