package bearer

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"plumbline/pcapng"
)

// framings are what Wireshark's dissectors of MAC, RLC and PDCP for NR recognise in UDP.
// Source: Wireshark 4.0, epan/dissectors/packet-mac-nr.h, packet-rlc-nr.h and
// packet-pdcp-nr.h.
const (
	tagPayload = 0x01

	macTDD, macUplink, macDownlink, macCRNTI = 2, 0, 1, 3
	macTagUEID                               = 0x03

	rlcUM, rlcAM                                              = 2, 4
	rlcTagDirection, rlcTagUEID, rlcTagBearerType, rlcTagID   = 0x02, 0x03, 0x04, 0x05
	rlcDRB                                                    = 5
	pdcpUser                                                  = 2
	pdcpTagSN, pdcpTagDirection, pdcpTagBearerType, pdcpTagID = 0x02, 0x03, 0x04, 0x05
)

func macFrame(uplink bool, tb []byte) []byte {
	direction := byte(macDownlink)
	if uplink {
		direction = macUplink
	}
	return append(append([]byte("mac-nr"), macTDD, direction, macCRNTI, macTagUEID, 0, 1, tagPayload), tb...)
}

func rlcFrame(mode, bits byte, uplink bool, pdu []byte) []byte {
	direction := byte(1)
	if uplink {
		direction = 0
	}
	return append(append([]byte("rlc-nr"), mode, bits, rlcTagDirection, direction, rlcTagUEID, 0, 1, rlcTagBearerType, rlcDRB, rlcTagID, 1, tagPayload), pdu...)
}

func pdcpFrame(pdu []byte) []byte {
	return append(append([]byte("pdcp-nr"), pdcpUser, pdcpTagSN, 18, pdcpTagDirection, 1, pdcpTagBearerType, 1, pdcpTagID, 1, tagPayload), pdu...)
}

// dissect gives frames to tshark, and returns what it finds in each.
func dissect(t *testing.T, frames [][]byte) []dissection {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	cmd := exec.Command("tshark", "-r", capture(t, frames), "-T", "json", "--no-duplicate-keys", "-J", "mac-nr rlc-nr pdcp-nr",
		"--enable-heuristic", "mac_nr_udp", "--enable-heuristic", "rlc_nr_udp", "--enable-heuristic", "pdcp_nr_udp")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var packets []struct {
		Source struct{ Layers map[string]any } `json:"_source"`
	}
	if err := json.Unmarshal(out.Bytes(), &packets); err != nil {
		t.Fatal(err)
	}
	if len(packets) != len(frames) {
		t.Fatalf("got %d packets, want %d", len(packets), len(frames))
	}
	found := make([]dissection, len(packets))
	for i := range packets {
		found[i] = dissection{}
		found[i].add("", packets[i].Source.Layers)
	}
	return found
}

// dissection is what tshark says of a frame: the values of each field, in order.
type dissection map[string][]string

func (d dissection) add(name string, v any) {
	switch x := v.(type) {
	case map[string]any:
		for k, item := range x {
			d.add(k, item)
		}
	case []any:
		for _, item := range x {
			d.add(name, item)
		}
	default:
		d[name] = append(d[name], fmt.Sprint(x))
	}
}

// number is a field's only value.
func (d dissection) number(t *testing.T, name string) int {
	t.Helper()
	if len(d[name]) != 1 {
		t.Fatalf("got %d of %s in %v", len(d[name]), name, d)
	}
	n, err := strconv.ParseInt(d[name][0], 0, 32)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return int(n)
}

func (d dissection) octets(t *testing.T, name string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(d[name], ""), ":", ""))
	if err != nil || len(d[name]) != 1 {
		t.Fatalf("%s: %v in %v", name, err, d)
	}
	return b
}

func capture(t *testing.T, frames [][]byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "l2.pcapng")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pcapng.NewWriter(f, "test")
	if err != nil {
		t.Fatal(err)
	}
	link, err := w.Interface("l2", pcapng.Ethernet, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, payload := range frames {
		eth := &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
		ip := &layers.IPv4{Version: 4, TTL: 64, SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}, Protocol: layers.IPProtocolUDP}
		udp := &layers.UDP{SrcPort: 40000, DstPort: 40001}
		_ = udp.SetNetworkLayerForChecksum(ip)
		buffer := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(payload)); err != nil {
			t.Fatal(err)
		}
		b := buffer.Bytes()
		if err := w.Packet(&pcapng.Packet{Interface: link, At: time.Unix(1_790_000_000, int64(i)), Data: b, Octets: len(b)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func verbose(t *testing.T, frames [][]byte) string {
	t.Helper()
	out, err := exec.Command("tshark", "-r", capture(t, frames), "-V", "-O", "mac-nr,rlc-nr", "--enable-heuristic", "mac_nr_udp", "--enable-heuristic", "rlc_nr_udp").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// malformed reports whether Wireshark has something to complain of.
func malformed(d dissection) bool {
	for name := range d {
		if strings.HasPrefix(name, "_ws.malformed") || strings.HasSuffix(name, ".invalid") {
			return true
		}
	}
	return len(d) == 0
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
