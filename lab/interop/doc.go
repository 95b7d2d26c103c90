// Package interop walks through what a UPF has to do for a core network, from the UEs'
// devices to the data network and back, and judges each step by what packets did:
//
//	UE device ─ radio, gNB ─► any UPF ─► data network: echo replies, iperf3, HTTP server
//	     ▲                       ▲
//	     └── ping, iperf3, curl  └── the core, which commands of the user's make do something
//
// It knows nothing of the core, of the gNB and of N4. UEs are network devices, such as
// UERANSIM's uesimtun0 or those of `plumb gnb`; the data network is an address, and may be
// a network namespace, where servers are then started.
//
// Echo requests are sent by this package, from sockets that are bound to the UE's device:
// it knows of each one when it was sent and answered. TCP and UDP are iperf3's, HTTP is
// curl's. Every wait is bounded.
//
// The package needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW.
package interop
