// Package n4load is CP functions that keep many PFCP requests in flight: they
// associate with a UP function, establish, modify and delete sessions, and
// measure how long each request takes.
//
//	Dial ─► Associate ─► Establish(template, sessions) ─► Modify ─► Delete ─► Close
//	DialGroup ─► Associate ─► NewPopulation ─► Fill ─► Run(load) ─► Drain ─► Close
//
// The first way is that of a bed which needs its sessions installed: a
// [Template] says what they have in common and makes them
// ([Template.Sessions]), and each call sends one request per [Session], no more
// than the window at a time, and fills in what the UP function answers.
//
// The second one is that of a load: a [Population] of sessions, of which a
// [Load] establishes, modifies and deletes some at given rates, whether the UP
// function keeps up or not.
//
// # Threads and time
//
// A [Group] is any number of CP functions ([Client]), each with a socket of its
// own, which one thread serves: it receives, repeats by T1 and N1, sends what is
// due, and sleeps in ppoll(2). In an open loop the intended send times are fixed
// beforehand, and latency counts from them (no coordinated omission). The
// thread has no timer slack, and wakes a little early (Options.Spin) to watch
// the clock and the sockets until the time has come. How late requests were is
// in the report, beside what the thread could not send at all.
//
// Heartbeat and Session Report Requests are answered at all times. [Client.Heartbeat] asks
// the UP function in its turn.
//
// Source: TS 29.244 V18.6.0, 6.2, 6.3 and 6.4.
package n4load
