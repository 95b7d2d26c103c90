package apps

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// audio is the RTP that a call plays, a capture of Debian's package sip-tester:
// G.711 in packets of 30 ms.
const audio = "/usr/share/sip-tester/g711a.pcap"

// program is one that this package runs.
type program struct{ command, pkg string }

// programs are all of them, with their Debian packages.
var programs = []program{{"iperf3", "iperf3"}, {"sipp", "sip-tester"}, {"curl", "curl"}, {"nginx", "nginx"}}

// Needs says which programs are missing, and how to install them; nil: none.
//
// Errors: [errors.ErrUnsupported].
func Needs() error {
	var missing, packages []string
	for _, p := range programs {
		if _, err := look(p.command); err != nil {
			missing, packages = append(missing, p.command), append(packages, p.pkg)
		}
	}
	if _, err := os.Stat(audio); err != nil && !slices.Contains(packages, "sip-tester") {
		missing, packages = append(missing, audio), append(packages, "sip-tester")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s not installed: apt-get install %s (or scripts/setup lab)",
		errors.ErrUnsupported, strings.Join(missing, ", "), strings.Join(packages, " "))
}

// look finds a program, also where those of the system's administration are, which
// is not in everybody's PATH.
func look(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err == nil {
		return path, nil
	}
	if path, found := exec.LookPath("/usr/sbin/" + command); found == nil {
		return path, nil
	}
	return "", err
}
