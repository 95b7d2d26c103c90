// Package upf is the UPF as a service: its configuration, the wiring of its
// parts, its metrics and its local API.
//
//	upf.yaml ─► Load ─► Start ─► datapath ◄─ bus ◄─ rules ◄─ session ◄─ n4 ◄─ SMF
//	                               │                            │        │
//	                               └──────────────┬─────────────┴────────┘
//	                                              ├─► metrics (HTTP, for Prometheus)
//	                                              └─► local API (HTTP on a Unix socket) ◄─ Client
//
// Metrics and API only read, and read what is counted or held anyhow: sessions
// are immutable values, counters are atomic, tables are asked. So neither can
// change a session or make a packet wait.
package upf
