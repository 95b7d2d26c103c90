// Package topology builds the test bed: network namespaces, the links between
// them and their addresses, from one [Config].
//
// The bed has three namespaces and two veth pairs:
//
//	  <run>-gnb                    <run>-upf                       <run>-dn
//	┌─────────────┐   N3   ┌───────────────────────┐   N6   ┌───────────────┐
//	│ n3 10.3.0.2 ├────────┤ n3 10.3.0.1           │        │               │
//	│             │        │           n6 10.6.0.1 ├────────┤ n6 10.6.0.2   │
//	│  generator  │        │           n6 fd06::1  │        │ n6 fd06::2    │
//	│  or meter   │        │ lo 10.4.0.1 (N4: UPF) │        │ meter or      │
//	└─────────────┘        │ lo 10.4.0.2 (N4: SMF) │        │ generator     │
//	                       └───────────────────────┘        └───────────────┘
//
// On a stick ([Config.OnAStick]) N3 and N6 are one device of the UPF, and gNB
// and data network are one namespace at its other end:
//
//	  <run>-gnb                              <run>-upf
//	┌───────────────────────────┐  N3+N6  ┌───────────────────────┐
//	│ n3 10.3.0.2, 10.6.0.2, …  ├─────────┤ n3 10.3.0.1, 10.6.0.1 │
//	└───────────────────────────┘         │ lo 10.4.0.1, 10.4.0.2 │
//	                                      └───────────────────────┘
//
// Both ends of a link know each other's Ethernet address for good, and IPv6 has
// no link-local addresses to announce: the links are silent but for what is
// measured. A stray packet would do harm: sent by another CPU, it can draw the
// receive work of a veth to that CPU for as long as frames keep coming.
//
// The data network routes the UE pools to the UPF's N6 address; the UPF has no
// route to them, since its datapath carries those packets. The UPF forwards IP
// and filters no reverse path. At the outer ends checksum offload is off unless
// [Config.Offload], because an XDP program would otherwise see frames whose checksums are not
// written yet; GRO is on at every end, because a veth hands a frame that XDP
// redirected to it on only if its receiving end has an XDP program or GRO.
//
// A namespace is called after the run and the process, and is removed by
// [Topology.Close]. [Sweep] removes those of processes that died before they
// could.
//
// The package needs CAP_SYS_ADMIN (namespaces) and CAP_NET_ADMIN (links).
package topology
