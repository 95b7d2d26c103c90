// Package meter counts what arrives of a [generator.Generator]: an XDP program
// at the far end of the UPF.
//
// A frame of the run comes in, is read down to its stamp, and is dropped; other
// frames go on to the kernel. By its sequence number the frame is new,
// duplicated, or too old to tell (stale). A new one is compared with its stamp
// (right UE, TEID, QFI, DSCP, outer addresses, lengths, IPv4 header checksums) and its
// latency goes into two histograms: from when it was due, and from when it was
// sent, which a short stamp does not say. So
//
//	lost = Result.Sent of the generator - Received
//
// once nothing is on its way any more. A misdelivered frame has arrived: it is
// not lost, and counts as misdelivered besides.
//
// Latencies are nanoseconds of CLOCK_MONOTONIC, which all namespaces share. The
// histograms have two significant figures and end at 2^36 - 1 ns; later arrivals
// count as that.
//
// The meter itself takes time, and the bed limit includes it.
package meter
