package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func sampleInterop() *Interop {
	return &Interop{
		Schema: InteropSchema, Started: time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC),
		UEs: []InteropUE{{Name: "uesimtun0", Namespace: "ue", Device: "uesimtun0", MTU: 1400, Addresses: []string{"10.60.0.1"}}},
		Steps: []InteropStep{
			{Step: "ping", UE: "uesimtun0", IPVersion: 4, Result: Pass, Seen: "sent 10, received 10, rtt 0.80 ms",
				Echo: &InteropEcho{Octets: 84, Sent: 10, Received: 10, MinNS: 1, MeanNS: 800_000, MaxNS: 2, FirstNS: 3, GapNS: 4, Recovered: true}},
			{Step: "TCP downlink", UE: "a-namespace:uesimtun1", IPVersion: 6, Result: Fail, Seen: "iperf3: unable to connect to server: Connection refused",
				UPF: &InteropUPF{Drops: map[string]uint64{"no_pdr": 12}, Sessions: []InteropSession{{SEID: "0x1", PDRs: 2, ApplyActions: []string{"FORW", "BUFF NOCP"}}}}},
			{Step: "UPF restart", Result: NotTried, Seen: "no command (--upf-restart)"},
			{Step: "UE to UE", UE: "uesimtun0", IPVersion: 4, Result: NotJudged, Seen: strings.Repeat("x", 200)},
		},
	}
}

const sampleInteropTable = ` step          UE               IP  result      what was seen
 ping          uesimtun0        4   pass        sent 10, received 10, rtt 0.80
                                                ms
 TCP downlink  …pace:uesimtun1  6   fail        iperf3: unable to connect to
                                                server: Connection refused
                                                UPF: dropped 12 no_pdr; session
                                                0x1 of 2 PDRs, FARs FORW BUFF
                                                NOCP
 UPF restart                        not tried   no command (--upf-restart)
 UE to UE      uesimtun0        4   not judged  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                                                xxxxxxxx

 1 passed, 1 failed, 2 not judged
`

func TestInteropTable(t *testing.T) {
	var b bytes.Buffer
	if err := InteropTable(&b, sampleInterop()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleInteropTable, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > InteropColumns {
			t.Errorf("%d columns, want %d at most: %q", n, InteropColumns, line)
		}
	}
}

// TestInteropJSON reads back what was written, and looks at the names.
func TestInteropJSON(t *testing.T) {
	var b bytes.Buffer
	want := sampleInterop()
	if err := WriteInterop(&b, want); err != nil {
		t.Fatal(err)
	}
	var got Interop
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, text := range []string{`"schema": "plumbline.interop/1"`, `"result": "not tried"`, `"rtt_mean_ns": 800000`, `"gap_ns": 4`, `"no_pdr": 12`} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %s in\n%s", text, &b)
		}
	}
	if passed, failed := got.Judged(); passed != 1 || failed != 1 {
		t.Errorf("%d passed and %d failed, want 1 and 1", passed, failed)
	}
}
