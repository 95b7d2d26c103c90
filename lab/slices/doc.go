// Package slices measures how long packets of network slices stay in a UPF while real
// programs use the slices: iperf3 (eMBB), SIPp calls with RTP (URLLC) and downloads
// from nginx (mMTC), light, medium and heavy.
//
//	UE eMBB ── TUN ─┐                                  ┌─ iperf3
//	UE URLLC ─ TUN ─┼─ gNB ──N3──● UPF(s) ●──N6── DN ──┼─ SIPp
//	UE mMTC ── TUN ─┘            └ probe ─┘            └─ nginx
//
// Each slice has its own UPF in its own test bed, or one UPF serves all slices. Any UPF of package
// dut can be measured; the UPFs of a list take turns. Sessions are established over PFCP with
// S-NSSAI and DNN, and other sessions are modified meanwhile at a given rate.
//
//	Run ─► for each repeat, load and UPF: a cell
//	         build    topology, UPF, sessions, gNB
//	         begin    programs; the load may be a part of the throughput, which is searched
//	         warm up
//	         watch    probe on; modifications; probe off: In points first
//	         end      programs, and what they say themselves
//	     ─► report.Slices
//
// The experiment is that of a published study; package report shows its figures for comparison.
package slices
