// Package pfcpsim is a PFCP simulator: a CP function that does what a scenario
// says and looks whether the UP function answers as it should.
//
// A scenario is YAML: steps, each of which sends a message, waits for one, or
// sends a packet. Messages are written as they are on the wire, IE by IE, under
// the names of TS 29.244; a [Node] is one IE of such a tree. What a step expects
// is a part of such a tree, and may name values, which later steps use:
//
//	steps:
//	  - associate: {}
//	  - establish:
//	      Create PDR:
//	        PDR ID: 1
//	        Precedence: 255
//	        PDI: {Source Interface: Access, F-TEID: choose}
//	        Outer Header Removal: GTP-U/UDP/IPv4
//	        FAR ID: 1
//	      Create FAR: {FAR ID: 1, Apply Action: FORW, Forwarding Parameters: {Destination Interface: Core}}
//	    expect:
//	      Cause: Request accepted
//	      Created PDR: {PDR ID: 1, F-TEID: {ipv4: ?n3, teid: ?teid}}
//
// [Load] and [Parse] read a scenario, [Dialect] is one of those that are built
// in: each speaks as one real CP function does. A [Peer] is the CP function,
// with its socket; [Peer.Run] does a scenario. The package needs nothing of the
// UP function but its address.
package pfcpsim
