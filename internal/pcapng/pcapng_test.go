package pcapng

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"
)

// read reads a file by an implementation that is not ours.
func read(t *testing.T, file []byte) (interfaces []string, packets []Packet) {
	t.Helper()
	options := pcapgo.DefaultNgReaderOptions
	options.WantMixedLinkType = true
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), options)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, info, opts, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		p := Packet{Interface: info.InterfaceIndex, At: info.Timestamp.UTC(), Octets: info.Length, Data: data}
		if len(opts.Comments) > 0 {
			p.Comment = opts.Comments[0]
		}
		if opts.Flags != nil {
			p.Direction = opts.Flags.Direction
		}
		packets = append(packets, p)
	}
	for i := range r.NInterfaces() {
		x, err := r.Interface(i)
		if err != nil {
			t.Fatal(err)
		}
		interfaces = append(interfaces, x.Name)
	}
	return interfaces, packets
}

func TestWriter(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 456789012, time.UTC)
	var file bytes.Buffer
	w := NewWriter(&file, "plumb")
	if err := w.Packet(&Packet{}); err == nil {
		t.Error("no interface: no error")
	}
	for i, name := range []string{"n3", "n6"} {
		if n, err := w.Interface(name, Ethernet, 256); err != nil || n != i {
			t.Fatalf("interface: %d, %v", n, err)
		}
	}
	want := []Packet{
		{Interface: 0, At: at, Direction: Inbound, Octets: 60, Data: bytes.Repeat([]byte{1}, 60), Comment: "PDR 1\n"},
		{Interface: 1, At: at.Add(1), Direction: Outbound, Octets: 1500, Data: []byte{1, 2, 3, 4, 5}, Comment: "dropped: über"},
		{Interface: 1, At: at.Add(2), Octets: 1, Data: []byte{9}},
	}
	for i := range want {
		if err := w.Packet(&want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Dropped(0, at, 7); err != nil {
		t.Fatal(err)
	}
	if err := w.Packet(&Packet{Interface: 2}); err == nil {
		t.Error("interface 2: no error")
	}
	names, got := read(t, file.Bytes())
	if diff := cmp.Diff([]string{"n3", "n6"}, names); diff != "" {
		t.Errorf("interfaces: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packets: -want +got\n%s", diff)
	}
	scapyReads(t, file.Bytes(), "3 60 1500 1 PDR 1\n")
}

// TestNothing: a file without packets is one nonetheless.
func TestNothing(t *testing.T) {
	var file bytes.Buffer
	if err := NewWriter(&file, "plumb").End(); err != nil {
		t.Fatal(err)
	}
	if _, packets := read(t, file.Bytes()); len(packets) > 0 {
		t.Errorf("%d packets", len(packets))
	}
}

// TestLongComment: a comment is cut to what an option holds.
func TestLongComment(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, "plumb")
	if _, err := w.Interface("n3", Ethernet, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.Packet(&Packet{Data: []byte{1}, Comment: strings.Repeat("x", maxOption+9)}); err != nil {
		t.Fatal(err)
	}
	if _, packets := read(t, file.Bytes()); len(packets) != 1 || len(packets[0].Comment) != maxOption {
		t.Errorf("got %d packets", len(packets))
	}
}

// scapyReads lets scapy read the file: number and lengths of the packets, and the
// first comment without the newline at its end. (scapy 2.5 takes a comment for invalid that
// has none, and cuts it off; 2.6 does neither.)
func scapyReads(t *testing.T, file []byte, want string) {
	t.Helper()
	if err := exec.Command("/usr/bin/python3", "-c", "import scapy").Run(); err != nil {
		t.Log("no scapy (python3-scapy): not read by it")
		return
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `
import logging; logging.disable()
import sys
from scapy.utils import RawPcapNgReader
p = list(RawPcapNgReader(sys.argv[1]))
c = getattr(p[0][1], "comments", None) or [p[0][1].comment]
print(len(p), *[m.wirelen for _, m in p], c[0].decode().removesuffix("\n"))`
	out, err := exec.Command("/usr/bin/python3", "-c", script, path).CombinedOutput()
	if err != nil || string(out) != want {
		t.Errorf("scapy: %v\ngot  %swant %s", err, out, want)
	}
}

// FuzzWriter: whatever is written is read back.
func FuzzWriter(f *testing.F) {
	f.Add([]byte{1, 2, 3}, "comment", uint16(3))
	f.Add([]byte{}, "", uint16(0))
	f.Add([]byte("abcdefgh"), "ä", uint16(65535))
	f.Fuzz(func(t *testing.T, data []byte, comment string, octets uint16) {
		if len(comment) > maxOption {
			return
		}
		var file bytes.Buffer
		w := NewWriter(&file, "plumb")
		if _, err := w.Interface("n3", IP, 0); err != nil {
			t.Fatal(err)
		}
		in := Packet{At: time.Unix(1, 2).UTC(), Octets: int(octets), Data: data, Comment: comment}
		if err := w.Packet(&in); err != nil {
			t.Fatal(err)
		}
		in.Octets = max(in.Octets, len(data))
		_, got := read(t, file.Bytes())
		if len(got) != 1 || !bytes.Equal(got[0].Data, data) || got[0].Comment != comment || got[0].Octets != in.Octets {
			t.Errorf("got %+v, want %+v", got, in)
		}
	})
}
