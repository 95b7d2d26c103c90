// Package method measures systems by the methods of the laboratory: throughput,
// latency, frame loss rate, campaigns, bursts, soaks, recovery, isolation of slices.
//
// A run is a list of cells; a cell is a [Method] at one point of the axes (rules,
// sessions, frames, direction, churn). In a cell the systems take turns, the bed
// first, as often as there are repeats, so that whatever changes on the machine
// changes for all of them:
//
//	start  bed A B C
//	rules, sessions: establish  bed A B C
//	  cell 1:  bed A B C  bed A B C  bed A B C
//	  cell 2:  bed A B C  bed A B C  bed A B C
//	further rules or sessions: establish  bed A B C
//	  ...
//
// What a turn leaves is a [report.Turn]: trials as they were made, and figures. The
// result file is written after each turn, whole and under its name or not at all,
// so a run that was interrupted goes on behind its last turn. A system that fails
// is out until there are other rules, and the result says why; without the bed there is
// nothing to compare with.
package method
