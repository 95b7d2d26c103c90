// Package system is a system under test in a test bed of its own: a UPF, or the bed
// alone, with whatever sends frames through it and counts what arrives.
//
//	New ─► Establish(sessions) ─► Open(frames, directions) ─► Trial(load) ─► … ─► Close
//	                              Turn(func): goes on, is measured, stands still again
//
//	              ┌───────────── System ─────────────┐
//	generator ─N3─►                                  ─N6─► meter     uplink
//	    meter ◄─N3─   UPF, or a program that only    ◄─N6─ generator  downlink
//	              │   redirects (the bed)            │
//	              └─────────────────▲────────────────┘
//	                   N4: sessions, churn (n4load)
//
// Several systems are measured by taking turns ([System.Turn]): each has namespaces,
// links and processes of its own, all alike, and whichever has not its turn is
// stopped, so that it takes no CPU from the others. The bed alone says what these
// links, the generator and the meter allow at all.
//
// A trial ([System.Trial]) offers a load in each direction that is open, both at the
// same time if both are, and sessions per second besides if there is churn. It says
// what was intended, offered and received, so that what the sender could not do is
// not taken for a loss.
//
// The package needs root: it makes namespaces and attaches XDP programs.
package system
