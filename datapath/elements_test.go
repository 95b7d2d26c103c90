package datapath

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/rules.md")

//go:generate go test . -run TestDocumentation -update

// columns are the datapaths of docs/rules.md. A new one has a field of [Element],
// a line here, and a test of its own that proves its cells.
var columns = []struct {
	name string
	way  func(e Element) Way
}{
	{"model", func(e Element) Way { return e.Model }},
	{"xdp, tc", func(e Element) Way { return e.XDP }},
	{"afxdp, tun, tap", func(e Element) Way { return e.Vector }},
	{"p4", func(e Element) Way { return e.P4 }},
}

const rulesHead = `# What the datapaths do of the rules

Generated from ` + "`datapath/elements.go`" + ` by ` + "`go generate ./datapath`" + `; a test keeps it in step, and a test of each datapath holds each of its
cells against what the datapath does: whether it takes a session with the element, and which part of it treats the packets. Source: TS 29.244 V18.6.0.

- **done**: by the one path that there is.
- **program**: in the kernel, by the fast path.
- **vectors**: in user space, by the stages that treat vectors of packets.
- **pipeline**: by a P4 program ([p4.md](p4.md)).
- **slow path**: handed on by the program, the stages or the pipeline, for correctness and not for speed. A PDR that shares its F-TEID or UE IP address with one of the slow
  path goes there, too.
- **refused**: the datapath's capabilities lack it. A request that asks for it is refused whole, with Cause 73 and the Failed Rule ID of the
  PDR, FAR, QER, URR or BAR that does ([pfcp.md](pfcp.md)); what is about the session as such has no Failed Rule ID. Nothing is accepted that is
  not done.

What of a rule never reaches a datapath is not here: durations, periods, quota holding and monitoring times, linked usage, inactivity and reports are
the control plane's, and so is what is refused before any datapath is asked (Header Enrichment, IP multicast, ATSSS). See [pfcp.md](pfcp.md) and
[n4.md](n4.md).

## Notes

- A framed route is looked for after the UE addresses, the longest first; it finds the session, and Precedence finds the PDR. An IPv6 one has at most
  64 bits, an IPv4 one at least one.
- A packet is charged by the meters of all QERs of its PDR or by none. Within the GBR of one QER the MBR of another drops nothing, but is charged.
- A packet rate lets all packets of its time come at once.
- RQI and paging policy are written into a PDU Session Container; a downlink packet without QFI has none, and none is made for them.
- DL Flow Level Marking comes after Transport Level Marking, under its mask, and leaves ECN alone.
- A packet of a FAR with DUPL goes on in the program; the slow path makes its copies, which are lost, and counted (copy_full), if it has
  no time for them.
- The first frame of a MAC address of a UE goes through the slow path, which learns of it, and so do frames to groups, ARP, and what proxying answers.
- Outer Header Creation to an F-TEID of the UPF itself: no packet leaves; the rule of that F-TEID treats it in the same pass, in the program or by vectors as
  it would be of another UPF. Four F-TEIDs more than the first one are the most; beyond, a packet is dropped (loop). A FAR that sends to the F-TEID
  of its own PDR is refused with Cause 73. Frames of Ethernet PDU sessions there are the slow path's.
- A flow has no name, and matches no host, from the first octet of an HTTP request until its head is whole: not the name of the request before, which
  users could choose by where they cut the next one. An invalid request (two Hosts) leaves the connection without a name to its end, and
  so do a connection's first octets that are no ClientHello and no request (STARTTLS), and segments that overlap and say different things.
- The fragments of a user packet match the SDF filters that the first one matches, by its ports or SPI; one that comes before the first has none. Where
  a filter of the key compares ports, the SPI or a name, fragments are the slow path's.
- Segments that a receiver drops show no name: checksum wrong, IP options. Nor do fragments, whose octets may come out of order and overlap, so that none is
  trusted. Another connection between the same ends within two
  hours is known by the answer to its SYN, so a filter with a host belongs in PDRs of both directions.
- A QUIC flow, which is all UDP between two ends, has no name while a ClientHello is not whole, and none until it was silent for five minutes if two
  Initial packets say different names, or after more than 16 of them. UDP flows lose their names when the process starts anew.
- Of what a P4 target counts a limit is heard of at its next reading, 100 ms later at most. A session that has less than 16 MiB left to a threshold or quota, or
  less than eight times what it had in the last 100 ms, is the slow path's, where both are exact to the packet.
- Measurement before enforcement counts what gates and meters drop, but not what a quota or a FAR stops.
`

func documentation() string {
	var s strings.Builder
	s.WriteString(rulesHead)
	rule := ""
	for _, e := range Elements {
		if e.Rule != rule {
			rule = e.Rule
			fmt.Fprintf(&s, "\n## %s\n\n| element | clause |", rule)
			for _, c := range columns {
				fmt.Fprintf(&s, " %s |", c.name)
			}
			s.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
		}
		fmt.Fprintf(&s, "| %s | %s |", e.Name, e.Clause)
		for _, c := range columns {
			fmt.Fprintf(&s, " %s |", c.way(e))
		}
		s.WriteString("\n")
	}
	return s.String()
}

// TestDocumentation compares docs/rules.md with the table, from which it is
// generated (go generate ./datapath).
func TestDocumentation(t *testing.T) {
	file := filepath.Join("..", "docs", "rules.md")
	want := documentation()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/rules.md is not what the table says; run: go generate ./datapath")
	}
}
