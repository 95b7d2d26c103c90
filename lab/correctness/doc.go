// Package correctness measures whether a UPF does what its rules say, in
// figures: how far from an MBR it is, how many octets a URR is wrong by, how long
// a rule takes to act.
//
//	topology ─► UPF as a child process ◄─ PFCP ─ smf
//	generator ─► UPF ─► meter (rates, counts) or recorder (every frame)
//
// What is measured, each over PFCP and with packets of its own:
//
//	rate     MBR asked, and passed: frames of the generator, then TCP of iperf3
//	usage    octets in Usage Reports beside those that the meter saw; octets by
//	         which a threshold was reported late and a quota was exceeded
//	effect   packets treated by the old rule that were sent after the CP function
//	         had the response to its modification: gate, path switch
//	buffer   Downlink Data Report after the first packet, packets lost and out of
//	         order when the buffer is released under traffic
//	restart  how long nothing is forwarded when the UPF is killed and started again
//
// Everything is said over N4 and seen on N3 and N6, so that nothing of it depends
// on how the UPF works. Points in time are nanoseconds of CLOCK_MONOTONIC, which
// programs in the kernel have too.
//
// The package needs root: it makes namespaces and attaches XDP programs.
package correctness
