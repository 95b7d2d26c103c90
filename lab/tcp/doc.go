// Package tcp sends TCP through a UPF: a UE behind package gnb in the gNB's
// namespace of a test bed, and iperf3 between it and the data network.
//
//	iperf3 ─ TUN device of the UE ─ gNB ──N3──► UPF ──N6──► iperf3
//
// The gNB's goroutines run in this process.
package tcp
