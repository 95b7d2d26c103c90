package datapath

import "github.com/plumbline-upf/plumbline/datapath/api"

// Movable is what a datapath does besides [Driver], so that its sessions can go
// from one datapath to another while the control plane goes on:
//
//	next, opened paused, takes every session (Apply)
//	old.Pause, next.Resume             the gap, in which packets may be lost
//	next.Carry(what old has counted)   sessions whose URRs have a quota before Resume
//	next.Inherit(old.Stages())         before Resume; see package move
//	old.Close
//
// The Config of each datapath has a field Paused: with it New returns a datapath
// that holds rules and touches no device, port or socket that another datapath of
// the same UPF may have, until Resume.
type Movable interface {
	Driver

	// Pause takes the datapath off its devices and sockets, and returns when no
	// packet is under way: from then on Usage, Drops and totals do not change. It
	// still takes changes of its rules. What it has buffered stays, until it is inherited.
	Pause() error

	// Resume makes a datapath that is paused take packets. If it returns an error
	// it is paused still.
	Resume() error

	// Carry adds what another datapath has counted for the session until its last
	// packet to what this one counts: of its PDRs and of its URRs, where ids that
	// the session does not have are passed over. Packets may be counted meanwhile.
	// Limits that u reaches by itself are taken as raised; an event is raised for
	// those that only both together reach. It is called once for a session, at most.
	//
	// Errors: [ErrNoSession].
	Carry(seid uint64, u *api.SessionUsage) error
}
