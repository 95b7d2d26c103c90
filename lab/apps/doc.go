// Package apps runs unmodified programs between UEs and a data network, as long as
// an experiment wants them, and returns their own account of what arrived:
//
//	[StartIperf]  iperf3, UDP at a rate, one way or both
//	[StartCalls]  SIPp at both ends: calls with RTP, which is echoed
//	[StartWeb]    nginx, and curl, one download after another
//
// [Needs] says which of the programs are missing. Programs run in network
// namespaces of a test bed and get SIGKILL when this process dies.
package apps
