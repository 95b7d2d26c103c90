// Package search finds rates, and lengths of bursts, by trials: which load to try
// next, for how long, when it is enough, and what the result is. It sends nothing; a
// [Measure] that the caller gives does.
//
//	MLR.Search ──Trial{Load, Duration}──► Measure ──Outcome{Intended, Sent, Received}──► next trial … Result
//
//	MLR     several loss goals in one search, noise tolerated         RFC 9971 (MLRsearch)
//	Binary  one goal, every trial is believed                         RFC 2544, 26.1
//	Steps   the loss at 100 %, 90 %, … of a load                      RFC 2544, 26.3
//	Burst   the longest burst without loss                            RFC 9004
//	Soak    the load that loses a given part on average, in hours      PLRsearch
//
// # MLRsearch
//
// A [Goal] says how much loss a trial may have, for how long a load has to be tried,
// and what part of that time may have more loss. All trials at a load make it a lower
// bound for a goal, an upper bound, or leave it undecided. The smallest upper bound and
// the largest lower bound below it are the relevant ones; once they are as close as the
// goal's width, the goal is reached, and the conditional throughput is what got through
// at the lower one.
//
// Which loads are tried is up to the implementation. Here each goal goes through three
// stages: single short trials to a coarse width, longer ones to half of it, then trials
// of the final duration to the final width, as many as the goal wants. Whichever goal is
// behind has its turn, the lowest load first, and every goal learns from all trials. The
// rate that came through an overload says where to look next.
//
// Loads are frames per second in each direction, whole numbers. Loss is of the frames
// sent; of those intended, where the sender stayed behind by more than is tolerated. A
// trial that lost frames while something else had the sender's CPU is made again.
//
// Source: RFC 9971, 4 (specification), appendices A and B (classification, conditional
// throughput).
package search
