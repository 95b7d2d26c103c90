package bearer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/pcapng/tshark"
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

// dissect gives frames to tshark, and returns what it finds in each. SDUs of MAC are not
// to be taken for those of SRBs: Wireshark 4.4 does with LCID 4, which an SRB4 would have.
// Here it is the DRB's.
func dissect(t *testing.T, frames [][]byte) []dissection {
	t.Helper()
	out, _ := tshark.Run(t, capture(t, frames), "-T", "json", "--no-duplicate-keys", "-J", "mac-nr rlc-nr pdcp-nr",
		"-o", "mac-nr.attempt_to_dissect_srb_sdus:FALSE",
		"--enable-heuristic", "mac_nr_udp", "--enable-heuristic", "rlc_nr_udp", "--enable-heuristic", "pdcp_nr_udp")
	var packets []struct {
		Source struct{ Layers map[string]any } `json:"_source"`
	}
	if err := json.Unmarshal([]byte(out), &packets); err != nil {
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

// capture writes datagrams to a capture.
func capture(t *testing.T, datagrams [][]byte) string {
	t.Helper()
	from, to := netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:40001")
	var frames [][]byte
	for _, d := range datagrams {
		frames = append(frames, tshark.UDP(t, from, to, d))
	}
	return tshark.Capture(t, frames)
}

func verbose(t *testing.T, frames [][]byte) string {
	t.Helper()
	out, _ := tshark.Run(t, capture(t, frames), "-V", "-O", "mac-nr,rlc-nr", "--enable-heuristic", "mac_nr_udp", "--enable-heuristic", "rlc_nr_udp")
	return out
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
