package upf

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/upf/bus/controlplane"
)

// associations lists the associations, the oldest first.
func (a *localAPI) associations(*http.Request) (any, error) {
	sessions := map[uint32]int{}
	for s := range a.sessions.All() {
		sessions[s.Owner]++
	}
	answer := Associations{Associations: []Association{}}
	for _, x := range a.endpoint.Associations() {
		answer.Associations = append(answer.Associations, Association{
			NodeID: x.NodeID, Address: x.Addr, Since: x.Since, Sessions: sessions[x.Owner],
			RecoveryTimeStamp: x.Recovery, PathDown: x.PathDown, LeaveOut: x.LeaveOut.Names()})
	}
	return answer, nil
}

// nodeIDs returns the Node ID of the CP function behind each owner of sessions.
func (a *localAPI) nodeIDs() map[uint32]string {
	ids := map[uint32]string{}
	for _, x := range a.endpoint.Associations() {
		ids[x.Owner] = x.NodeID
	}
	return ids
}

// describe adds to what was known at the start how full the datapath is.
func (a *localAPI) describe(*http.Request) (any, error) {
	about := *a.about.Load()
	about.MemoryOctets = tablesOctets(a.forwarder())
	if d, ok := a.forwarder().(datapath.BufferReporter); ok {
		b := Buffered(d.Buffered())
		about.Buffer = &b
	}
	if d, ok := a.forwarder().(datapath.TableReporter); ok {
		about.Tables = viewTables(d.TableUse())
	}
	if d, ok := a.forwarder().(datapath.TargetReporter); ok {
		about.Target = viewTarget(d.Target())
	}
	if u, ok := a.driver.(*controlplane.Upper); ok {
		for _, x := range u.Agents() {
			about.Agents = append(about.Agents, viewAgent(&x))
		}
	}
	return about, nil
}

func viewTarget(t datapath.TargetState) *Target {
	v := &Target{
		Address: t.Address, DeviceID: t.DeviceID, Up: t.Away == nil, Since: t.Since,
		Sessions: t.Sessions, CPUSessions: t.All - t.Sessions, WaitingSessions: t.Waiting, Handed: []Drop{},
	}
	if t.Away != nil {
		v.Why = t.Away.Error()
	}
	for _, r := range datapath.Reasons() {
		if n := t.Handed[r]; n > 0 {
			v.Handed = append(v.Handed, Drop{r.String(), r.Text(), n})
		}
	}
	return v
}

func viewTables(list []datapath.TableUse) []TableUse {
	var all []TableUse
	for _, t := range list {
		all = append(all, TableUse(t))
	}
	return all
}

func viewAgent(x *controlplane.AgentStatus) AgentState {
	v := AgentState{
		Name: x.Name, Number: int(x.Number), Up: x.Up, Datapath: x.Datapath, Desired: x.Desired, Sessions: x.Sessions,
		Refused: x.Refused, Tables: viewTables(x.Tables),
	}
	if x.Buffered != nil {
		b := Buffered(*x.Buffered)
		v.Buffer = &b
	}
	return v
}

func (a *localAPI) configuration(*http.Request) (any, error) { return a.config, nil }

// peers lists the next hops, those on N3 first, by address.
func (a *localAPI) peers(*http.Request) (any, error) {
	answer := Peers{Peers: []Peer{}}
	d, ok := a.forwarder().(datapath.PeerReporter)
	if !ok {
		return answer, nil
	}
	for _, p := range d.Peers() {
		answer.Peers = append(answer.Peers, Peer{
			Interface: p.Interface, Address: p.Address, Device: p.Device, MAC: p.MAC, MTU: int(p.MTU), Uses: p.Sessions})
	}
	slices.SortFunc(answer.Peers, func(x, y Peer) int {
		return cmp.Or(cmp.Compare(x.Interface, y.Interface), x.Address.Compare(y.Address))
	})
	return answer, nil
}

func (a *localAPI) drops(*http.Request) (any, error) {
	drops, err := a.driver.Drops()
	if err != nil {
		return nil, fmt.Errorf("drops: %w", err)
	}
	d := Drops{At: time.Now(), Drops: []Drop{}}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			d.Drops = append(d.Drops, Drop{r.String(), r.Text(), drops[r.String()]})
		}
	}
	return d, nil
}
