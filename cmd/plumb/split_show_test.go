package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/upf"
)

// ask runs plumb with a socket of the bed, and returns what it prints.
func (b *splitBed) ask(socket string, args ...string) (string, error) {
	b.t.Helper()
	out, err := exec.Command("plumb", append(args, "--socket", filepath.Join(b.dir, socket))...).CombinedOutput()
	return string(out), err
}

// TestSplitShow: plumb n4 tells how its datapath is and what it forwarded; plumb
// datapath tells the same of itself, and shows packets.
func TestSplitShow(t *testing.T) {
	b := newSplitBed(t, "plt-splitshow")
	b.establish(3)
	b.checkHeld("established")
	var shown upf.Slices
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // a sign of life comes each second
		out, err := b.ask("api", "show", "slices", "--json")
		if err := json.Unmarshal([]byte(out), &shown); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err == nil && shown.Slices[0].Uplink.Packets == b.sent {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("plumb show slices: %s, want %d packets, %v", out, b.sent, err)
		}
	}
	for _, tc := range []struct {
		socket string
		args   []string
		want   []string // all of them
		fails  bool
	}{
		{"api", []string{"show", "datapath"}, []string{"\nAGENT", "one    3       up     xdp       3        3     0", "one    list_entries", "  1048576  0 "}, false},
		{"agent-api", []string{"show", "datapath"}, []string{"datapath xdp at ", "buffer: packets of 0 sessions", "list_entries", "N6  "}, false},
		{"agent-api", []string{"show", "peers"}, []string{"N3", "N6"}, false},
		{"agent-api", []string{"drops"}, nil, false},
		{"agent-api", []string{"show", "config"}, []string{"agent: one"}, false},
		{"agent-api", []string{"sessions"}, []string{"known to 'plumb n4'"}, true},
		{"agent-api", []string{"show", "slices"}, []string{"known to 'plumb n4'"}, true},
		{"api", []string{"trace", "--all"}, []string{"shows no packets"}, true},
		{"agent-api", []string{"trace", "--seid", "0x0300000000000009"}, []string{"not found"}, true},
	} {
		out, err := b.ask(tc.socket, tc.args...)
		if (err != nil) != tc.fails {
			t.Errorf("plumb %v: %v\n%s", tc.args, err, out)
		}
		for _, want := range tc.want {
			if !strings.Contains(out, want) {
				t.Errorf("plumb %v of %s has no %q:\n%s", tc.args, tc.socket, want, out)
			}
		}
	}
	b.checkTraced()
}

// checkTraced: the datapath alone shows the packets of a session, by each of its
// names.
func (b *splitBed) checkTraced() {
	followed := b.sessions[1]
	bed := &restartBed{trafficBed: b.trafficBed, upf: b.agent}
	for _, args := range [][]string{
		{"--teid", fmt.Sprintf("%#x", followed.ULTEID)},
		{"--seid", fmt.Sprintf("%#x", followed.RemoteSEID)},
		{"--ue", followed.UE.String()},
	} {
		wait := bed.runTraceOf("agent-api", append(args, "--count", "2", "--json")...)
		b.checkForwarded("traced", b.sessions)
		out, _ := wait()
		packets := bed.checkLines(out)
		for _, p := range packets {
			if uint32(p.TEID) != followed.ULTEID || p.Verdict != "forwarded" || len(p.Stages) == 0 {
				b.t.Errorf("plumb trace %v: %+v", args, p)
			}
		}
		if len(packets) != 2 {
			b.t.Errorf("plumb trace %v: %d packets, want 2", args, len(packets))
		}
	}
}
