package upf

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/upf/bus/controlplane"
)

var (
	descAgentUp       = describe("agent_up", "1 if new sessions can be placed on the datapath agent.", "agent")
	descAgentSessions = describe("agent_sessions", "PFCP sessions that the datapath agent is to hold.", "agent")
	descAgentChanges  = describe("agent_changes_total",
		"Changes of sessions given to the datapath agent, by what became of them.", "agent", "result")
	descAgentRewrites = describe("agent_rewrites_total",
		"How often all that the agent is to hold was written again because Redis had lost it.", "agent")
)

// collectAgents says how the datapaths are that are other processes.
func (c *collector) collectAgents(ch chan<- prometheus.Metric) {
	u, ok := c.driver.(*controlplane.Upper)
	if !ok {
		return
	}
	for _, a := range u.Agents() {
		up := 0.0
		if a.Up {
			up = 1
		}
		gauge(ch, descAgentUp, up, a.Name)
		gauge(ch, descAgentSessions, float64(a.Desired), a.Name)
		for result, n := range map[string]uint64{
			"applied": a.Stats.Applied, "refused": a.Stats.Refused, "timed_out": a.Stats.TimedOut} {
			counter(ch, descAgentChanges, n, a.Name, result)
		}
		counter(ch, descAgentRewrites, a.Stats.Rewrites, a.Name)
	}
}
