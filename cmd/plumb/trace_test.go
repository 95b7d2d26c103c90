package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/upf"
)

// runTrace starts plumb trace and returns when it runs; wait ends it.
func (b *restartBed) runTrace(args ...string) (wait func() (stdout, stderr string)) {
	b.t.Helper()
	return b.runTraceOf("api", args...)
}

// runTraceOf is runTrace of the process that listens there.
func (b *restartBed) runTraceOf(socket string, args ...string) (wait func() (stdout, stderr string)) {
	b.t.Helper()
	before := strings.Count(b.upf.log(), "msg=trace ")
	var out, log bytes.Buffer
	cmd := exec.Command("plumb", append([]string{"trace", "--socket", filepath.Join(b.dir, socket)}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(patience); strings.Count(b.upf.log(), "msg=trace ") == before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			<-ended
			b.t.Fatalf("the trace does not begin: %s", log.String())
		}
	}
	return func() (string, string) {
		b.t.Helper()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("%v: %v\n%s", cmd.Args, err, log.String())
			}
		case <-time.After(patience):
			cmd.Process.Kill()
			b.t.Fatalf("%v does not end: %v\n%s%s", cmd.Args, <-ended, out.String(), log.String())
		}
		return out.String(), log.String()
	}
}

// TestTrace follows one of two sessions with traffic: on the screen, as JSON, and
// in a capture file that others read.
func TestTrace(t *testing.T) {
	b := newRestartBed(t, "plt-tracecli", 2)
	b.checkForwarded("before", b.sessions)
	followed := b.sessions[1]
	file := filepath.Join(b.dir, "x.pcapng")
	wait := b.runTrace("--teid", fmt.Sprintf("%#x", followed.ULTEID), "--count", "5", "--json", "-w", file)
	b.checkForwarded("traced", b.sessions)
	out, log := wait()
	packets := b.checkLines(out)
	for _, p := range packets {
		if uint32(p.TEID) != followed.ULTEID || p.UE != followed.UE.String() || p.Verdict != "forwarded" || p.Direction != "uplink" || p.PDR == 0 {
			t.Errorf("%+v", p)
		}
	}
	if len(packets) != 5 || !strings.HasPrefix(log, "5 packets shown; of ") {
		t.Errorf("%d packets, want 5; %s", len(packets), log)
	}
	b.checkCounts(out, 5)
	b.checkCapture(file, followed.ULTEID, 5)

	wait = b.runTrace("--seid", fmt.Sprintf("%#x", followed.RemoteSEID), "-v", "--count", "1", "--sample", "1/2")
	b.checkForwarded("sampled", b.sessions)
	if out, _ := wait(); !strings.Contains(out, fmt.Sprintf("TEID %#08x  PDR 1", followed.ULTEID)) || !strings.Contains(out, "\n    emit: ") {
		t.Errorf("for people:\n%s", out)
	}

	// Packets flow on when the UPF is killed while all of them are traced.
	file = filepath.Join(b.dir, "killed.pcapng")
	wait = b.runTrace("--all", "--rate", "20000", "-w", file)
	sent, got := b.uplink(b.sessions, generator.Load{Rate: 5000, CPU: -1}, func() {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if st, err := os.Stat(file); err == nil && st.Size() > 10_000 {
				break
			}
		}
		b.upf.kill()
	})
	if got.Received != sent {
		t.Errorf("UPF killed: %d of %d frames arrived", got.Received, sent)
	}
	if out, _ := wait(); !strings.Contains(out, " forwarded by ") {
		t.Errorf("until the UPF was killed:\n%s", out)
	}
	b.start("")
	b.checkForwarded("after", b.sessions)
}

// checkLines reads the lines of --json.
func (b *restartBed) checkLines(out string) []*upf.TracePacket {
	b.t.Helper()
	var packets []*upf.TracePacket
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var l upf.TraceLine
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return packets
		} else if err != nil {
			b.t.Fatalf("%v\n%s", err, out)
		}
		if l.Packet != nil {
			packets = append(packets, l.Packet)
		}
	}
}

// checkCounts: the last line of --json has the counts, and what was shown was chosen.
func (b *restartBed) checkCounts(out string, shown uint64) {
	b.t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var l upf.TraceLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &l); err != nil || l.Counts == nil || l.Packet != nil {
		b.t.Fatalf("last line: %v, want counts:\n%s", err, out)
	}
	if l.Counts.Wanted < shown+l.Counts.Limited+l.Counts.Lost {
		b.t.Errorf("counts: %+v, want %d or more that were chosen", *l.Counts, shown)
	}
}

// checkCapture: each packet is there as it came, with its TEID, and as it left,
// at the interfaces of their devices, with the verdict as comment.
func (b *restartBed) checkCapture(file string, teid uint32, packets int) {
	b.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		b.t.Fatal(err)
	}
	var seen [2]int
	for {
		data, info, options, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(options.Comments) != 1 || !strings.Contains(options.Comments[0], "forwarded by "+b.N6.UPF.Device) {
			b.t.Fatalf("%v, %+v", err, options)
		}
		x, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			b.t.Fatal(err)
		}
		switch {
		case x.Name == b.N3.UPF.Device && binary.BigEndian.Uint32(data[14+20+8+4:]) == teid:
			seen[0]++
		case x.Name == b.N6.UPF.Device && data[14]>>4 == 4:
			seen[1]++
		default:
			b.t.Errorf("interface %s: %x", x.Name, data)
		}
	}
	if seen != [2]int{packets, packets} {
		b.t.Errorf("%v frames as they came and left, want %d each", seen, packets)
	}
}
