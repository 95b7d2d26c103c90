package session

import (
	"context"
	"net/netip"
	"time"
)

// Config is what a [Manager] has to know.
type Config struct {
	// MaxSessions is how many sessions there can be, 1 to 2^24. There are as
	// many F-TEIDs, rounded up to a power of two.
	MaxSessions int
	// MaxRules is how many rules of a kind a session may have, up to 4096; 0: 128.
	MaxRules int
	// Endpoints is where the datapaths terminate GTP-U, at least one. An F-TEID is
	// chosen at the one of the session's agent that fits the PDI best: by its 3GPP
	// Interface Type, then by its Network Instance, then by its Source Interface.
	Endpoints  []Endpoint
	Slices     []Slice
	Pools      []Pool
	Predefined []PredefinedRule
	// Store outlives the process; nil: nothing does.
	Store Store
	// AgentUp reports whether sessions may be placed on an agent; nil: on all.
	AgentUp func(agent uint8) bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Endpoint is where a datapath terminates GTP-U, at UDP port 2152.
type Endpoint struct {
	Name  string
	Agent uint8 // number of the datapath; 0 if there is but one
	IPv4  IPv4  // all zero: none
	IPv6  IPv6  // all zero: none
	// Interfaces are the Source Interfaces of F-TEIDs that are chosen here;
	// empty: any.
	Interfaces       []Interface
	InterfaceTypes   []InterfaceType // 3GPP Interface Types; empty: any
	NetworkInstances []string        // in text form; empty: any
}

// Pool is where UE addresses come from that the UP function allocates: single
// addresses out of IPv4 prefixes, /64 prefixes out of IPv6 prefixes.
type Pool struct {
	Name     string // the UE IP Address Pool Identity
	Prefixes []netip.Prefix
}

// Slice is what sessions of an S-NSSAI and DNN have in common. A session is of
// the first slice whose conditions it meets, all that are there.
type Slice struct {
	Number           uint32 // not 0, unique
	SNSSAI           Optional[SNSSAI]
	DNNs             []string // empty: any
	NetworkInstances []string // of one of the PDIs; empty: any
	Pools            []string // names, in the order in which they are tried; empty: all
	// UplinkMBR and DownlinkMBR are what all its sessions may have together;
	// 0: not limited.
	UplinkMBR, DownlinkMBR BitsPerSecond
	MaxSessions            int     // 0: as many as the manager
	Agents                 []uint8 // on which its sessions are placed; empty: any
}

// PredefinedRule is a rule that a CP function activates by its name: packets that
// match the PDR for which it is active, and one of its filters, are treated by it.
// Source: TS 29.244 V18.6.0, 5.19.
type PredefinedRule struct {
	Name       string
	Precedence uint32
	Filters    []SDFFilter // none: any packet
	Drop       bool        // else by the FAR of the PDR
	// Gates, MBR and QFI replace the QERs of the PDR if HasQER.
	HasQER bool
	QER    QER
}

// Store keeps records for a restart. Its methods may be called from several
// goroutines at once. Save and Drop do not wait for the medium: who answers a
// request flushes the store first.
type Store interface {
	// Save replaces what was kept under kind and id. The record is the caller's
	// again when it returns.
	Save(kind byte, id uint64, record []byte)
	Drop(kind byte, id uint64)
	// Flush returns nil when all that was saved and dropped before the call
	// outlives this process.
	Flush(ctx context.Context) error
}

// KindSession is the kind of session records; their id is the SEID.
const KindSession = 's'
