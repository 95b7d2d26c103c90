package pfcp

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
)

// TestTshark: Wireshark's dissector finds every message that is sent here whole: as
// PFCP, of its type, with nothing malformed and no expert information from warnings up.
func TestTshark(t *testing.T) {
	messages := maps.Clone(samples)
	messages[misread+", no Network Instance"] = withoutNetworkInstance(t)
	names := slices.Sorted(maps.Keys(messages))
	var datagrams [][]byte
	for _, name := range names {
		b, err := Append(nil, Header{Sequence: 7, SEID: 0x1122334455667788}, messages[name])
		if err != nil {
			t.Fatal(err)
		}
		datagrams = append(datagrams, b)
	}
	file := captured(t, datagrams)

	out, _ := tshark.Run(t, file, "-T", "fields", "-e", "pfcp.msg_type")
	types := strings.Fields(out)
	for i, name := range names {
		if want := strconv.Itoa(int(messages[name].MessageType())); i >= len(types) || types[i] != want {
			t.Errorf("%s: tshark finds message types %v, want %s at %d", name, types, want, i)
			break
		}
	}
	out, _ = tshark.Run(t, file, "-Y", "pfcp.network_instance and frame.number == "+strconv.Itoa(1+slices.Index(names, misread)), "-T", "fields", "-e", "pfcp.network_instance")
	if strings.TrimSpace(out) != "n9" {
		t.Errorf("%s: got Network Instance %q, want n9", misread, out)
	}
	version := tshark.Version(t)
	const warning = 0x00600000 // PI_WARN; errors are above
	filter := "_ws.malformed or _ws.expert.severity >= " + strconv.Itoa(warning)
	out, _ = tshark.Run(t, file, "-Y", filter, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message", "-e", "_ws.malformed")
	for line := range strings.Lines(out) {
		number, said, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if names[n-1] == misread && strings.HasPrefix(version, "4.4.") && strings.HasPrefix(said, "Malformed Packet") {
			t.Logf("Wireshark %s misreads the %s", version, misread)
			continue
		}
		t.Errorf("%s: %s: %x", names[n-1], said, datagrams[n-1])
	}
}

// misread has a Remote GTP-U Peer with a Network Instance and no Recovery Time Stamp. Behind
// each Network Instance (bit 4, NI) Wireshark 4.4 reads a Recovery Time Stamp, which only
// bit 5, RTS, announces; and it does so as many octets too far on as it has read of the IE, so
// behind its end. Wireshark 4.0 knows no Recovery Time Stamp.
// Source: TS 29.244 V18.6.0, 8.2.70; packets given to Wireshark 4.4.19.
const misread = "node report request"

func withoutNetworkInstance(t *testing.T) Message {
	t.Helper()
	m, ok := samples[misread].(*NodeReportRequest)
	if !ok {
		t.Fatalf("%s: got %T", misread, samples[misread])
	}
	without := *m
	without.PathFailure = slices.Clone(m.PathFailure)
	for i := range without.PathFailure {
		without.PathFailure[i].NetworkInstance = nil
	}
	return &without
}

// TestTsharkSees: it does find what is wrong with a message.
func TestTsharkSees(t *testing.T) {
	b, err := Append(nil, Header{Sequence: 7}, samples["heartbeat request"])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-5]++ // the length of the only IE, which now ends behind the message
	out, _ := tshark.Run(t, captured(t, [][]byte{b}), "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number")
	if strings.TrimSpace(out) != "1" {
		t.Errorf("malformed frames: %q, want 1", out)
	}
}

// captured writes datagrams to a capture, each from one N4 address to another.
func captured(t *testing.T, datagrams [][]byte) string {
	t.Helper()
	from, to := netip.AddrPortFrom(netip.MustParseAddr("10.4.0.1"), Port), netip.AddrPortFrom(netip.MustParseAddr("10.4.0.2"), Port)
	var frames [][]byte
	for _, d := range datagrams {
		frames = append(frames, tshark.UDP(t, from, to, d))
	}
	return tshark.Capture(t, frames)
}
