// Package n4load is a CP function that keeps many PFCP requests in flight: it
// associates with a UP function, establishes, modifies and deletes sessions in
// bulk, and measures how long each request takes.
//
//	Dial ─► Associate ─► Establish(template, sessions) ─► Modify ─► Delete ─► Close
//
// A [Template] says what the sessions have in common and makes them
// ([Template.Sessions]); each bulk call sends one request per [Session], no
// more than the window at a time, and fills in what the UP function answers.
// Requests are repeated by T1 and N1, responses are matched by peer, sequence
// number and SEID. One goroutine per [Client] reads the socket in batches; it
// answers Heartbeat Requests, also between the calls.
//
// Source: TS 29.244 V18.6.0, 6.2, 6.3 and 6.4.
package n4load
