package capture

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
	"github.com/plumbline-upf/plumbline/nfapi"
)

// recorded are captures of P5 between `plumb nfapi vnf` and `plumb nfapi pnf`, by tcpdump on lo:
// over TCP, over SCTP, and over SCTP in UDP. CONFIG.request is in three chunks.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/p5-*.pcap")
	if err != nil || len(names) != 3 {
		t.Fatalf("got %q, %v, want three captures", names, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRecorded: of a recorded capture there are the messages that tshark finds with our
// dissector, in its order.
func TestRecorded(t *testing.T) {
	for name, b := range recorded(t) {
		var got []string
		stats, err := Read(bytes.NewReader(b), Options{P5Ports: []uint16{50001}}, func(e *Event) error {
			if e.Plane != nfapi.P5 || e.Profile != nfapi.OAI2025 || e.Err != nil {
				t.Errorf("%s: %v %v %v: %v", name, e.Plane, e.Profile, e.Header.MessageID, e.Err)
			}
			got = append(got, fmt.Sprintf("0x%04x", uint16(e.Header.MessageID)))
			return nil
		})
		out, _ := tshark.Run(t, name, "-X", "lua_script:../../deploy/wireshark/nfapi.lua", "-Y", "nfapi5g", "-T", "fields", "-e", "nfapi5g.message_id")
		want := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' || r == ',' })
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(got) < 13 {
			t.Errorf("%s: %v (-tshark +got):\n%s", name, err, diff)
		}
		if want := (Stats{Packets: stats.Packets, Messages: len(got)}); stats != want {
			t.Errorf("%s: got %+v, want %+v", name, stats, want)
		}
	}
}
