// Package programs runs unmodified programs in tests: ping, curl, iperf3 and
// SIPp, in network namespaces, between a UE and a data network. Each function
// fails the test unless the program's own account of what arrived is right:
//
//	[Ping]  every answer has the octets that were sent
//	[Curl]  SHA-256 of a file, both ways
//	[Iperf] octets and datagrams that the receiving end got
//	[SIPp]  calls that were answered and ended, and their RTP
//
// The tests of this package run all of them through every datapath of a UPF.
package programs
