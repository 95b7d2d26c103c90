package upf

import (
	"net/netip"
	"time"
)

// Paths of the local API. All are GET and answer JSON.
const (
	pathSessions     = "/v1/sessions" // and /v1/sessions/SEID
	pathAssociations = "/v1/associations"
	pathDatapath     = "/v1/datapath"
	pathMove         = "/v1/move"
	pathPeers        = "/v1/peers"
	pathDrops        = "/v1/drops"
	pathConfig       = "/v1/config"
	pathSlices       = "/v1/slices"
	pathTrace        = "/v1/trace"
)

// Associations are the PFCP associations.
type Associations struct {
	Associations []Association `json:"associations"`
}

// Association is one PFCP association, with a CP function.
type Association struct {
	NodeID   string     `json:"node_id"`
	Address  netip.Addr `json:"address"`
	Since    time.Time  `json:"since"`
	Sessions int        `json:"sessions"`
	// RecoveryTimeStamp is when the CP function says it started.
	RecoveryTimeStamp time.Time `json:"recovery_time_stamp"`
	// PathDown: it does not answer heartbeats.
	PathDown bool `json:"path_down"`
	// LeaveOut names what it is not sent, as it cannot read it.
	LeaveOut []string `json:"leave_out,omitempty"`
}

// Datapath is what forwards packets, and what it can do.
type Datapath struct {
	Name         string       `json:"name"` // DatapathXDP, DatapathTC ...
	Since        time.Time    `json:"since"`
	Why          string       `json:"why"`  // it was chosen
	Mode         string       `json:"mode"` // of its devices, joined by "+" if they differ
	MaxSessions  uint64       `json:"max_sessions"`
	MemoryOctets uint64       `json:"memory_octets"` // of its tables; 0: not known
	N3Addresses  []netip.Addr `json:"n3_addresses"`  // of F-TEIDs
	Devices      []Device     `json:"devices"`       // empty: it opens none
	// Buffer and Tables are as they are now; nil: not known.
	Buffer *Buffered  `json:"buffer,omitempty"`
	Tables []TableUse `json:"tables,omitempty"`
	// Target is the P4 target; nil: the datapath has none.
	Target *Target `json:"target,omitempty"`
	// Agents are the datapaths that are other processes, by number.
	Agents []AgentState `json:"agents,omitempty"`
}

// Target is the P4 target that forwards.
type Target struct {
	Address  string    `json:"address,omitempty"` // host:port; empty: it is in this process
	DeviceID uint64    `json:"device_id"`
	Up       bool      `json:"up"`
	Since    time.Time `json:"since"`         // when Up changed last
	Why      string    `json:"why,omitempty"` // it is not up
	// Sessions are those that it forwards, at least in part, CPUSessions the others, of which
	// WaitingSessions are about to be put into it.
	Sessions        int `json:"sessions"`
	CPUSessions     int `json:"cpu_sessions"`
	WaitingSessions int `json:"waiting_sessions"`
	// Handed are the packets that it has handed to the CPU.
	Handed []Drop `json:"handed"`
}

// AgentState is a datapath that is another process, as it last said of itself.
type AgentState struct {
	Name     string     `json:"name"`
	Number   int        `json:"number"`
	Up       bool       `json:"up"`                 // new sessions can be placed on it
	Datapath string     `json:"datapath,omitempty"` // DatapathXDP, DatapathTC ...
	Desired  int        `json:"desired"`            // sessions that it is to hold
	Sessions uint64     `json:"sessions"`           // that it holds
	Refused  uint64     `json:"refused"`            // desired ones that it could not take when it came back
	Buffer   *Buffered  `json:"buffer,omitempty"`
	Tables   []TableUse `json:"tables,omitempty"`
}

// Buffered is what waits for UEs that are idle, and how much may. Octets are those
// of memory.
type Buffered struct {
	Sessions   int `json:"sessions"`
	Packets    int `json:"packets"`
	MaxPackets int `json:"max_packets"`
	Octets     int `json:"octets"`
	MaxOctets  int `json:"max_octets"`
}

// TableUse is how full a table of the datapath is.
type TableUse struct {
	Name string `json:"name"`
	Used int    `json:"used"`
	Max  int    `json:"max"`
}

// Device is a network device of the datapath.
type Device struct {
	Interface string `json:"interface"` // N3, N6 or the name of another GTP-U endpoint
	Name      string `json:"name"`
	Mode      string `json:"mode"`       // ModeNative or ModeGeneric
	MTU       int    `json:"mtu_octets"` // of an IP packet
}

// Peers are the next hops that the datapath knows.
type Peers struct {
	Peers []Peer `json:"peers"`
}

// Peer is one next hop: a gNB or a router on N3, a router or a host on N6.
type Peer struct {
	Interface string     `json:"interface"` // N3 or N6
	Address   netip.Addr `json:"address"`
	Device    string     `json:"device,omitempty"` // by which packets leave; empty: no route
	MAC       string     `json:"mac,omitempty"`    // empty: not resolved, or the kernel sends there
	MTU       int        `json:"mtu_octets"`       // of an IP packet
	Uses      int        `json:"uses"`             // by rules and routes
}

// Drops says how many packets were dropped since the UPF started.
type Drops struct {
	At    time.Time `json:"at"`
	Drops []Drop    `json:"drops"` // every reason there is, in order of name
}

// Drop is one reason to drop a packet, or to hand it on.
type Drop struct {
	Reason  string `json:"reason"` // as in metrics
	Text    string `json:"text"`
	Packets uint64 `json:"packets"`
}

// problem is the body of an answer that is not 200 OK.
type problem struct {
	Error string `json:"error"`
}
