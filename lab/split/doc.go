// Package split measures a gNB that nFAPI splits into two processes, beside the same
// gNB in one, with unmodified programs behind a UPF:
//
//	  <run>-ue         <run>-pnf               <run>-gnb             <run>-upf     <run>-dn
//	┌──────────┐     ┌───────────┐   P5, P7  ┌─────────────┐   N3   ┌───────┐ N6 ┌────────┐
//	│ ping,    ├─TUN─┤ plumb     ├───────────┤ plumb       ├────────┤ plumb ├────┤ iperf3 │
//	│ iperf3   │     │ nfapi pnf │           │ nfapi vnf   │        │ upf   │    │        │
//	└──────────┘     └───────────┘           └─────────────┘        └───────┘    └────────┘
//
// In one piece it is `plumb nfapi mono`, in the gNB's namespace. Each [Case] has its
// own processes; the UPF and the session of the UE are the same for all.
//
// What ping says is set beside the least that this radio allows (package ran/radio/floor),
// what iperf3 says beside what its transport blocks can carry (package ran/radio/grid). Of
// the split itself the figures are those of package nfapi/stopwatch, which VNF and PNF
// print at their end.
package split
