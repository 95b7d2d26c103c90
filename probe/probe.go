// Package probe measures how long each packet stays in a running UPF, of any
// make, without touching it: small programs of the kernel stand at the devices by
// which packets come to the UPF and leave it.
//
//	              Point: N3, In                          Point: N6, Out
//	gNB ──► device ───────●──────► UPF, in any namespace ──────●─────► data network
//	        GTP-U         │                                    │      IP
//	                      └─► in-flight table ─► claimed ──────┘
//	                          fingerprint, time   delay ─► histogram of the Series
//
// A packet is known again by a fingerprint of the first 64 octets of the user
// packet, without what a UPF may rightly change. An entry is claimed once. Packets
// that cannot be told apart while both are in the UPF are not guessed at: they are
// counted as ambiguous. So at any moment, of what came in,
//
//	In = Matched + Lost + InFlight + Ambiguous + Evicted + Untimed
//
// Times are nanoseconds of CLOCK_MONOTONIC, which all namespaces share.
package probe

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Way is where packets go at a point.
type Way uint8

// Ways.
const (
	In  Way = iota // to the UPF
	Out            // from the UPF
)

// Side is what packets are at a point.
type Side uint8

// Sides.
const (
	Both Side = iota // N3 and N6 on one device: what is GTP-U is N3
	N3               // GTP-U; N9 as well
	N6               // IP as it is
)

// Hook is where a program stands.
type Hook uint8

// Hooks.
const (
	Ingress     Hook = iota // what the device receives: tcx, or clsact on kernels before 6.6
	Egress                  // what the device sends: the same
	HostIngress             // netif_receive_skb of any namespace: tp_btf; Linux 6.12
	HostEgress              // net_dev_queue of any namespace: the same
)

// String is how the point is shown.
func (p Point) String() string {
	namespace := ""
	if p.Namespace != "" {
		namespace = p.Namespace + ":"
	}
	return fmt.Sprintf("%s%s %v %v %v", namespace, p.Device, p.Hook, p.Side, p.Way)
}

// Point is one end of the way through a UPF. A TUN device turns things round: what
// it sends goes to the UPF.
type Point struct {
	UPF       int    // index in Config.UPFs
	Namespace string // path of the network namespace; empty: that of the process
	Device    string // name there
	Hook      Hook
	Way       Way
	Side      Side
}

// UPF is one of those that are measured.
type UPF struct {
	Name string
	N3   []netip.Addr   // its GTP-U addresses; empty: any
	UEs  []netip.Prefix // of its UEs, if known; what N6 has for others is none of its business
}

// Slice is what packets are told apart by.
type Slice struct {
	Name string // as shown; unique
	SST  uint8
	SD   uint32 // 24 bits; 0xffffff: none. Source: TS 23.003 V18, 28.4.2.
	DNN  string
}

// Direction of a series.
type Direction uint8

// Directions.
const (
	Uplink   Direction = iota // came in by N3
	Downlink                  // came in by N6
)

// Config describes a probe.
type Config struct {
	UPFs   []UPF
	Slices []Slice // more may be learnt later; packets of none belong to the slice ""

	// Expected is how many UPFs there will be, up to 64; default len(UPFs). Tables have room for so many, at
	// least for 16. What slices do not need of it further ones may have.
	Expected int

	InFlight int           // packets that the table has room for; default 65,536
	Timeout  time.Duration // a packet in the UPF for longer is lost; default 1 s
	NAT      bool          // N6 sees translated addresses: the fingerprint does without addresses, ports and ICMP identifiers

	// Timed is N if one packet of N is timed, chosen by fingerprint, so that the points
	// choose the same ones; 0 or 1: every packet. All are counted, but of those that are not
	// timed nothing tells which were lost.
	Timed uint32

	Sample Sampling

	// Parts takes delays apart: [Probe.Follow] says what UPFs read packets from. It
	// needs Linux 6.10.
	Parts bool

	// Stats has the kernel account how long programs take (kernel.bpf_stats_enabled),
	// all that there are on the machine, which costs each of them some 10 ns more.
	Stats bool
}

// Sampling says which packets are reported one by one.
type Sampling struct {
	Every uint32        // one of so many; 0: none, 1: all
	Above time.Duration // and all that stayed longer; 0: none
}

// Account is what became of packets.
type Account struct {
	In        uint64 // came to the UPF
	Matched   uint64 // left it, and were known again
	Lost      uint64 // did not leave it within Config.Timeout
	InFlight  uint64 // are in it
	Ambiguous uint64 // could not be told from another one in flight
	Evicted   uint64 // were forgotten for want of room
	Untimed   uint64 // with Config.Timed: came in, and were not chosen

	Octets        uint64 // user octets (IP and above) of Matched
	UntimedOctets uint64 // the same of Untimed
}

// Seen is how many packets rates are of: those that left, and those that came of which that
// is not known; and their octets.
func (a Account) Seen() (packets, octets uint64) {
	return a.Matched + a.Untimed, a.Octets + a.UntimedOctets
}

// Timed is how many came in of those that are timed.
func (a Account) Timed() uint64 { return a.In - a.Untimed }

// Balanced reports whether every packet that came in is accounted for.
func (a Account) Balanced() bool {
	return a.In == a.Matched+a.Lost+a.InFlight+a.Ambiguous+a.Evicted+a.Untimed
}

// Series is one slice in one direction through one UPF.
type Series struct {
	UPF       string
	Slice     string
	Direction Direction
	Account
	Delay *hdrhistogram.Histogram // ns, of Matched; two significant figures to 2^36 - 1
	Parts *Parts                  // of Delay; nil without Config.Parts
}

// Sample is one packet.
type Sample struct {
	UPF       string
	Slice     string
	Direction Direction
	InNs      uint64 // CLOCK_MONOTONIC
	OutNs     uint64
	Octets    uint32 // of the user packet
	TEID      uint32 // uplink: it came with; downlink: it left with; 0: none
	QFI       uint8
	CPU       uint16 // of the exit
}
