package dut

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// eupf is eUPF of edgecomllc: XDP programs on the devices, in native mode, which
// route by the kernel's tables.
//
// Tried with a8d774a (v0.7.1 and later commits) on Linux 6.18: start, readiness, association,
// sessions, packets both ways, modification, deletion, park, stop, kill.
var eupf = Kind{
	Name: "eupf", Title: "eUPF", Program: "eupf",
	Install: "eUPF: https://github.com/edgecomllc/eupf, docs/install.md: go generate ./cmd/... and go build ./cmd, or its container image; " +
		"then --dut eupf=/path/to/eupf",
	Tested: "With a8d774a (v0.7.1 and later commits) on Linux 6.18: sessions and packets both ways.",
	Traits: Traits{Mode: "native", IPv4Only: true, Ignores: []string{
		"SDF filters but one of each tunnel or UE address, and Precedence.",
		"MBRs that do not divide 10^9 bit/s are exceeded, up to twofold; those of 1.5 Gbit/s and more, and GBR.",
		"URR: volumes are those of all sessions together, reported when the session ends only.",
		"Buffering: packets are dropped.",
	}},
	// A PDR is found by TEID or UE address alone: a second one of each direction takes
	// the place of the first.
	Dialect: n4load.Dialect{PDRs: 2},
	Version: goVersion("github.com/edgecomllc/eupf"),
	Plan:    planEUPF,
}

func planEUPF(p *Place, directory string) (*Plan, error) {
	const name = "config.yml"
	return &Plan{
		Args:  []string{"--config", filepath.Join(directory, name)},
		Files: map[string]string{name: eupfConfig(p)}, Show: name,
		Mounts: true, // it pins an array of programs at a path of its own
	}, nil
}

// eupfConfig is config.yml. Maps and the pool of TEIDs have room for the sessions,
// the log has warnings only. It must never give the CP function up, however long
// it is parked: a response to its last Heartbeat Request that comes late is the
// end of its PFCP.
func eupfConfig(p *Place) string {
	const sessions = 65535 // its default
	room := max(sessions, p.Sessions)
	devices := p.N3.UPF.Device
	if p.N6.UPF.Device != devices {
		devices += ", " + p.N6.UPF.Device
	}
	var b strings.Builder
	for _, line := range []struct {
		name  string
		value any
	}{
		{"interface_name", "[" + devices + "]"},
		{"xdp_attach_mode", "native"},
		{"api_address", `"127.0.0.1:8080"`},
		{"metrics_address", `"127.0.0.1:9090"`},
		{"pfcp_address", fmt.Sprintf("%q", p.N4UPF.String()+":8805")},
		{"pfcp_node_id", p.N4UPF},
		{"n3_address", p.N3.UPF.Address.Addr()},
		{"n9_address", p.N3.UPF.Address.Addr()},
		{"ueip_pool", "192.0.2.0/24"}, // a network must be there, although it allocates no addresses
		{"max_sessions", room},
		{"feature_ftup", true},
		{"teid_pool", room},
		{"heartbeat_interval", 86400},
		{"logging_level", "warn"},
	} {
		fmt.Fprintf(&b, "%s: %v\n", line.name, line.value)
	}
	return b.String()
}
