// Package faulty is a UPF that does its work wrong in a known way, so that tests can see
// whether the laboratory measures that: so many frames lost, doubled, out of order,
// late, wrong. It is for tests, and slow.
//
//	test ─► dut.Start(faulty.Kind) ─► this program again (Main) ◄─ PFCP: one PDR and FAR each way
//	                                  N3 ◄─ packet sockets ─► N6
package faulty
