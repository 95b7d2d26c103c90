// Package p4rt is a P4Runtime server for a software switch: it gives controllers the tables, counters, meters, registers,
// groups, packets and digests of a P4 program that another package executes.
//
//	controllers ─ gRPC ─► Server ─► pipeline: ids of P4Info to positions in the program ─► Tx (executor)
//	     ▲                   │
//	     │                   └─ SetForwardingPipelineConfig: P4Info and program checked against each other ─► Switch
//	     └─ StreamChannel ◄─ one queue for each controller ◄─ PacketIn, Digest: called by the workers, never wait
//
// A Write is decoded from its octets straight into the executor's entries, without the generated messages, which would cost
// several times as much as the change itself. The changes of a batch are done within few updates of the executor.
//
// VERIFY_AND_SAVE creates a second state that no frame uses yet; reads and writes go there until COMMIT activates it.
//
// Not here: roles other than the default one, action profiles, value sets, idle timeouts, counters of colours, translated
// values. A request for one of these gets UNIMPLEMENTED; a pipeline that needs it is rejected.
//
// Octet strings are unsigned numbers in network byte order. Those that do not fit are INVALID_ARGUMENT in matches, action
// parameters, data and packet metadata (9.1.1, 9.1.2, 9.7, 16.1), and OUT_OF_RANGE elsewhere (8.4).
//
// Source: P4Runtime Specification v1.4.1.
package p4rt
