package dut

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

const open5gsInstall = "Open5GS: https://open5gs.org/open5gs/docs/: its packages (open5gs-upf), or meson and ninja from the sources; " +
	"then --dut %s=/path/to/open5gs-upfd"

// open5gsTUN and open5gsTAP are Open5GS's UPF, one thread in user space, with N6
// over a TUN or a TAP device from which the kernel routes.
//
// Tried with v2.8.0-66-g8f25f3b on Linux 6.18: start, readiness, association, sessions,
// packets both ways, modification, deletion, park, stop, kill.
var (
	open5gsTUN = open5gs("open5gs-tun", "Open5GS (TUN)", "ogstun")
	open5gsTAP = open5gs("open5gs-tap", "Open5GS (TAP)", "ogstap")
)

func open5gs(name, title, device string) Kind {
	return Kind{
		Name: name, Title: title, Program: "open5gs-upfd",
		Install: fmt.Sprintf(open5gsInstall, name),
		Tested:  "With v2.8.0-66-g8f25f3b on Linux 6.18: sessions and packets both ways.",
		Traits: Traits{Offloads: true, Packets: true, Lossy: true, AnyDNN: true, Ignores: []string{
			"Gate Status, MBR and GBR.",
			"Apply Action DROP of uplink FARs.",
			"SDF filters of downlink PDRs where no PDR matches: the last one is taken.",
			"Volume Quota: it is reported, traffic goes on. Periodic reports and Query URR.",
		}},
		Dialect: n4load.Dialect{
			InterfaceTypes: true, // else uplink packets are buffered and reported
			DNN:            open5gsDNN, CoreInstance: open5gsDNN, AccessInstance: open5gsDNN,
			PDRs: 16, Window: 16,
		},
		Version: saysVersion("-v"),
		Plan: func(p *Place, directory string) (*Plan, error) {
			const name = "upf.yaml"
			config, err := open5gsConfig(p, device)
			if err != nil {
				return nil, err
			}
			tap := device == "ogstap" // the name tells the program as well
			return &Plan{
				Args:  []string{"-c", filepath.Join(directory, name)},
				Files: map[string]string{name: config}, Show: name, Silent: true,
				Setup:    func() error { return makeTUN(p, device, tap) },
				Teardown: func() error { return removeDevice(device) },
			}, nil
		},
	}
}

const open5gsDNN = "internet"

// open5gsConfig is upf.yaml. It holds four sessions for each UE of global.max, and
// every request for 7.5 s with three of 16 timers for each UE: it aborts when they
// are used up, at about max*0.7 requests per second. So there are more than
// sessions need.
func open5gsConfig(p *Place, device string) (string, error) {
	const least = 16384
	pool, err := p.pool()
	if err != nil {
		return "", err
	}
	var subnets strings.Builder
	for _, s := range []netip.Prefix{pool, p.pool6()} {
		if s.IsValid() {
			fmt.Fprintf(&subnets, "    - subnet: %v\n      gateway: %v\n      dev: %s\n", s, lastAddr(s), device)
		}
	}
	return fmt.Sprintf(`logger:
  level: error
global:
  max:
    ue: %d
upf:
  pfcp:
    server:
      - address: %v
  gtpu:
    server:
      - address: %v
  session:
%s  metrics:
    server:
      - address: 127.0.0.1
        port: 9090
`, max(least, p.Sessions/2), p.N4UPF, p.N3.UPF.Address.Addr(), subnets.String()), nil
}
