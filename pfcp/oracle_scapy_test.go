package pfcp

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// update writes what the oracles and the tables say to the files that the
// tests compare with: go test ./pfcp -run 'Scapy|GoPFCP|Documentation' -update.
var update = flag.Bool("update", false, "write golden vectors and docs/pfcp.md")

// scapy runs testdata/scapy_pfcp.py with Debian's Python, which has scapy as
// the package python3-scapy, and reads its JSON.
func scapy(t *testing.T, command, input string, out any) {
	t.Helper()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import scapy.contrib.pfcp").Run(); err != nil {
		t.Skipf("scapy is not there (package python3-scapy): %v", err)
	}
	run := exec.Command(python, "testdata/scapy_pfcp.py", command)
	run.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	run.Stderr = &stderr
	b, err := run.Output()
	if err != nil {
		t.Fatalf("scapy: %v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatalf("scapy: %v\n%s", err, b)
	}
}

// TestScapyGolden asks scapy for the messages in testdata/scapy_pfcp.py and
// compares them with the golden vectors, octet for octet.
func TestScapyGolden(t *testing.T) {
	messages := map[string]string{}
	scapy(t, "encode", "", &messages)
	for name, digits := range messages {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, scapySource(name), b)
		})
	}
}

func scapySource(name string) string {
	if strings.HasPrefix(name, "simple-client-") {
		return "scapy 2.5.0, as s5uishida/simple_pfcp_client (31bfbb0) sends it, made by pfcp/testdata/scapy_pfcp.py"
	}
	return "scapy 2.5.0, made by pfcp/testdata/scapy_pfcp.py"
}

// TestScapyAgrees has scapy read our octets of each sample, and every golden
// vector. Scapy states every field there could be, so ours have to be among its.
func TestScapyAgrees(t *testing.T) {
	var names, lines []string
	var ours [][]string
	for name, sample := range samples {
		h := Header{Type: sample.MessageType(), S: sample.MessageType().IsSession(), Sequence: maxSequence}
		b, err := Append(nil, h, sample)
		if err != nil {
			t.Fatal(err)
		}
		names, lines, ours = append(names, name), append(lines, hex.EncodeToString(b)), append(ours, ourFacts(t, h, sample))
	}
	for _, v := range pfcptest.Good(t) {
		if strings.Contains(v.Name, "bundle") {
			continue // scapy reads the first message of a datagram only
		}
		h, m := decode(t, v.Octets)
		names, lines, ours = append(names, v.Name), append(lines, hex.EncodeToString(v.Octets)), append(ours, ourFacts(t, h, m))
	}
	var theirs [][]string
	scapy(t, "decode", strings.Join(lines, "\n"), &theirs)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			for _, fact := range ours[i] {
				if !scapyStates(theirs[i], fact) {
					t.Errorf("we read %s, scapy\n%s", fact, strings.Join(theirs[i], "\n"))
				}
			}
			if a, b := paths(ours[i]), paths(theirs[i]); len(a) > len(b) {
				t.Errorf("we read %d IEs, scapy %d", len(a), len(b))
			}
		})
	}
}

// scapyStates reports whether fact is among what scapy says. Of a Network
// Instance that is plain text it takes the first letter for a label's length.
func scapyStates(theirs []string, fact string) bool {
	if path, text, ok := strings.Cut(fact, ":instance="); ok && slices.Contains(theirs, path+":instance="+text[1:]) {
		return true
	}
	return slices.Contains(theirs, fact)
}

// paths returns the IEs that facts are about.
func paths(list []string) []string {
	var p []string
	for _, fact := range list {
		if path, _, ok := strings.Cut(fact, ":"); ok {
			p = append(p, path)
		}
	}
	slices.Sort(p)
	return slices.Compact(p)
}
