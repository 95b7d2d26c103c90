package gtpu

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestScapy: scapy makes the same octets. It has no opinion on the Supported
// Extension Headers Notification: it gives the list a length of two octets,
// where TS 29.281 V18.1.0, 8.5, has one.
func TestScapy(t *testing.T) {
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import scapy.contrib.gtp").Run(); err != nil {
		t.Skipf("scapy is not there (package python3-scapy): %v", err)
	}
	out, err := exec.Command(python, "testdata/scapy_gtpu.py").Output()
	if err != nil {
		t.Fatal(err)
	}
	h, err := Parse(octets(t, "34 ff 000a 00000001 0000 00 85 01 10 09 00 4500"))
	if err != nil {
		t.Fatal(err)
	}
	paged := Marks{QFI: 9, RQI: true, HasPagingPolicy: true, PagingPolicy: 5}
	ours := map[string][]byte{
		"echo request":     AppendEchoRequest(nil, 7),
		"echo response":    AppendEchoResponse(nil, 7),
		"end marker":       AppendEndMarker(nil, 0x01020304, 0, 0),
		"error indication": AppendErrorIndication(nil, Tunnel{0x99, v4}, 50001),
		"relayed":          append(Marks{PDUType: PDUTypeUplink, QFI: 5}.AppendRelayed(nil, h, 2, 2), 0x45, 0),
		"marked":           append(paged.AppendGPDU(nil, 2, 2), 0x45, 0),
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(ours) {
		t.Errorf("scapy made %d messages, want %d", len(lines), len(ours))
	}
	for _, line := range lines {
		name, digits, _ := strings.Cut(line, "\t")
		if want := octets(t, digits); !bytes.Equal(ours[name], want) {
			t.Errorf("%s: we make %x, scapy %x", name, ours[name], want)
		}
	}
}
