package nfapi

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
)

const dissector = "../deploy/wireshark/nfapi.lua"

// capture writes vectors as packets: P7 over UDP, P5 over TCP.
func capture(t *testing.T, list []vector) string {
	t.Helper()
	sequence := uint32(1)
	var frames [][]byte
	for _, v := range list {
		frames = append(frames, frame(t, v, sequence))
		if v.plane == P5 {
			sequence += uint32(len(v.octets))
		}
	}
	return tshark.Capture(t, frames)
}

func frame(t *testing.T, v vector, sequence uint32) []byte {
	t.Helper()
	ip := &layers.IPv4{SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}, Protocol: layers.IPProtocolUDP}
	var transport gopacket.SerializableLayer
	udp := &layers.UDP{SrcPort: 50011, DstPort: 50010}
	tcp := &layers.TCP{SrcPort: 50000, DstPort: 50001, Seq: sequence, ACK: true, PSH: true, Window: 65535}
	if transport = udp; v.plane == P5 {
		ip.Protocol, transport = layers.IPProtocolTCP, tcp
	}
	_ = udp.SetNetworkLayerForChecksum(ip)
	_ = tcp.SetNetworkLayerForChecksum(ip)
	return tshark.Frame(t, ip, transport, gopacket.Payload(v.octets))
}

// TestDissector: tshark finds in each vector the fields that the vector says, and
// nothing truncated.
func TestDissector(t *testing.T) {
	list := vectors(t)
	out, stderr := tshark.Run(t, capture(t, list), "-X", "lua_script:"+dissector, "-T", "json", "--no-duplicate-keys")
	if strings.Contains(stderr, "Lua") {
		t.Fatal(stderr)
	}
	var packets []struct {
		Source struct{ Layers map[string]any } `json:"_source"`
	}
	if err := json.Unmarshal([]byte(out), &packets); err != nil {
		t.Fatal(err)
	}
	if len(packets) != len(list) {
		t.Fatalf("got %d packets, want %d", len(packets), len(list))
	}
	for i, v := range list {
		found := map[string]int{}
		leaves(packets[i].Source.Layers["nfapi5g"], "", found)
		if len(found) == 0 {
			t.Errorf("%s: nothing found", v.Name)
		}
		for key := range found {
			if strings.Contains(key, "truncated") || strings.HasPrefix(key, "nfapi5g.octets=") {
				t.Errorf("%s: %s", v.Name, key)
			}
		}
		want := map[string]int{}
		if v.plane == P7 { // of P5 the files say in words what is in TLVs
			wanted(v, v.Fields, "", want)
		}
		for key, n := range want {
			if found[key] < n && !notSent(v.profile, key) {
				t.Errorf("%s: got %d of %s, want %d", v.Name, found[key], key, n)
			}
		}
	}
}

// TestDissectorJoined: tshark finds each message of a packet that the kernel has not cut
// yet, and none in one that only begins as if.
func TestDissectorJoined(t *testing.T) {
	slotIndication, uci := "00010082000000160007000000000001e24003ff0013", "000100870000001a00070000000000000000000000000000cafe"
	list := []vector{{}, {}}
	for i, text := range []string{uci + slotIndication, uci + slotIndication + "00"} {
		list[i].octets = octets(t, text)
	}
	out, _ := tshark.Run(t, capture(t, list), "-X", "lua_script:"+dissector, "-T", "fields", "-e", "nfapi5g.message_id", "-e", "_ws.col.Info")
	lines := strings.Split(out, "\n")
	if !strings.HasSuffix(lines[0], "\tUCI.indication, SLOT.indication") || strings.Contains(lines[1], "indication") {
		t.Errorf("got %q", lines)
	}
}

// leaves counts the last word of each field with its value.
func leaves(v any, name string, to map[string]int) {
	switch x := v.(type) {
	case map[string]any:
		for k, item := range x {
			leaves(item, k, to)
		}
	case []any:
		for _, item := range x {
			leaves(item, name, to)
		}
	default:
		to[fmt.Sprintf("%s=%v", name[strings.LastIndex(name, ".")+1:], v)]++
		if strings.Contains(name, "truncated") || name == "nfapi5g.octets" {
			to[fmt.Sprintf("%s=%v", name, v)]++
		}
	}
}

// wanted counts the numbers of a vector's fields in the same way.
func wanted(v vector, x any, name string, to map[string]int) {
	switch x := x.(type) {
	case map[string]any:
		for k, item := range x {
			if k != "header" && !strings.Contains(k, "eamforming") && !strings.Contains(k, "hardcoded") && !(v.profile == Aerial && strings.Contains(k, "maintenance")) {
				wanted(v, item, k, to)
			}
		}
	case []any:
		for _, item := range x {
			wanted(v, item, name, to)
		}
	case float64:
		name = strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "[0]")
		if name == "harq_value" {
			name = "harq_list"
		}
		to[fmt.Sprintf("%s=%d", name, int64(x))]++
	}
}
