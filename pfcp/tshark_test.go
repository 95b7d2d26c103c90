package pfcp

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumbline/pcapng"
)

// TestTshark: Wireshark's dissector finds every message that is sent here whole: as
// PFCP, of its type, with nothing malformed and no expert information from warnings up.
func TestTshark(t *testing.T) {
	names := slices.Sorted(maps.Keys(samples))
	var datagrams [][]byte
	for _, name := range names {
		b, err := Append(nil, Header{Sequence: 7, SEID: 0x1122334455667788}, samples[name])
		if err != nil {
			t.Fatal(err)
		}
		datagrams = append(datagrams, b)
	}
	file := captured(t, datagrams)

	types := strings.Fields(tshark(t, file, "-T", "fields", "-e", "pfcp.msg_type"))
	for i, name := range names {
		if want := strconv.Itoa(int(samples[name].MessageType())); i >= len(types) || types[i] != want {
			t.Errorf("%s: tshark finds message types %v, want %s at %d", name, types, want, i)
			break
		}
	}
	const warning = 0x00600000 // PI_WARN; errors are above
	filter := "_ws.malformed or _ws.expert.severity >= " + strconv.Itoa(warning)
	for line := range strings.Lines(tshark(t, file, "-Y", filter, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message", "-e", "_ws.malformed")) {
		number, said, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		t.Errorf("%s: %s: %x", names[n-1], said, datagrams[n-1])
	}
}

// TestTsharkSees: it does find what is wrong with a message.
func TestTsharkSees(t *testing.T) {
	b, err := Append(nil, Header{Sequence: 7}, samples["heartbeat request"])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-5]++ // the length of the only IE, which now ends behind the message
	if out := tshark(t, captured(t, [][]byte{b}), "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number"); strings.TrimSpace(out) != "1" {
		t.Errorf("malformed frames: %q, want 1", out)
	}
}

// tshark returns what it prints about a capture.
func tshark(t *testing.T, file string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	var out, stderr bytes.Buffer
	cmd := exec.Command("tshark", append([]string{"-r", file}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("tshark %v: %v: %s", args, err, &stderr)
	}
	return out.String()
}

// captured writes datagrams, each in a frame from 10.4.0.1 to 10.4.0.2, UDP port 8805.
func captured(t *testing.T, datagrams [][]byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pfcp.pcapng")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pcapng.NewWriter(f, "test")
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.Interface("n4", pcapng.Ethernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range datagrams {
		b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 4, 0, 1, 10, 4, 0, 2, 0x22, 0x65, 0x22, 0x65, 0, 0, 0, 0}
		binary.BigEndian.PutUint16(b[16:], uint16(20+8+len(d)))
		binary.BigEndian.PutUint16(b[38:], uint16(8+len(d)))
		b = append(b, d...)
		if err := w.Packet(&pcapng.Packet{Interface: link, At: time.Unix(1_790_000_000, int64(i)), Data: b, Octets: len(b)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}
