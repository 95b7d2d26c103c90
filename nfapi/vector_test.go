package nfapi

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is a message that OpenAirInterface has packed.
type vector struct {
	Name       string
	Fields     map[string]any
	Length     int
	Hex        string
	FAPIHex    string `json:"fapi_hex"`
	FAPIHeader string `json:"fapi_header_hex"`
	Checksum   string `json:"checksum_field_if_enabled"`
	profile    Profile
	plane      Plane
	octets     []byte
}

// vectors reads nfapi/testdata/oai. Its README says where they are from.
func vectors(t testing.TB) []vector {
	t.Helper()
	var all []vector
	for file, profile := range map[string]Profile{
		"oai-2025-09_p5.json": OAI2025, "oai-2025-09_p7.json": OAI2025, "oai-2024-05-seed_p7.json": OAI2024, "oai-2025-09_p7_aerial-fapi.json": Aerial,
	} {
		text, err := os.ReadFile(filepath.Join("testdata/oai", file))
		if err != nil {
			t.Fatal(err)
		}
		var set struct{ Vectors []vector }
		if err := json.Unmarshal(text, &set); err != nil {
			t.Fatal(err)
		}
		if len(set.Vectors) == 0 {
			t.Fatalf("%s has no vectors", file)
		}
		for _, v := range set.Vectors {
			v.Name, v.profile = profile.String()+"/"+v.Name, profile
			if strings.Contains(file, "p5") {
				v.plane = P5
			}
			if v.octets, err = hex.DecodeString(v.Hex); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
			// Of a FAPI message the files have the beginning only.
			if b, err := hex.DecodeString(v.FAPIHeader); err == nil && len(b) == 8 {
				v := v
				v.Name += "/fapi"
				v.octets = append(b, v.octets[18:]...)
				all = append(all, v)
			}
			if b, err := hex.DecodeString(v.FAPIHex); err == nil && len(b) >= 8 {
				v.Name += "/fapi"
				v.octets = append(b[:8:8], v.octets[18:]...)
				all = append(all, v)
			}
		}
	}
	return all
}

// TestVectors: decode and encode are the identity for each vector, by the
// structures and by the JSON view.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			h, body, err := v.profile.parse(v.plane, v.octets)
			if err != nil {
				t.Fatal(err)
			}
			m := NewMessage(h.MessageID)
			if err := m.DecodeBody(v.profile, body); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, len(v.octets))
			n, err := v.profile.encode(v.plane, &h, m, b)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(b[:n]); got != hex.EncodeToString(v.octets) {
				t.Errorf("encoded\n got %s\nwant %x", got, v.octets)
			}
			view, err := v.profile.JSON(v.plane, v.octets)
			if err != nil {
				t.Fatal(err)
			}
			again, err := v.profile.FromJSON(v.plane, view)
			if err != nil {
				t.Fatalf("%v\n%s", err, view)
			}
			if hex.EncodeToString(again) != hex.EncodeToString(v.octets) {
				t.Errorf("by way of JSON\n got %x\nwant %x\n%s", again, v.octets, view)
			}
			var got map[string]any
			if err := json.Unmarshal(view, &got); err != nil {
				t.Fatal(err)
			}
			if v.plane == P7 {
				compareFields(t, v, got)
			}
		})
	}
}

// compareFields looks for each number and text that the vector says.
func compareFields(t *testing.T, v vector, got map[string]any) {
	flat := map[string]any{}
	flatten("", got, flat)
	want := map[string]any{}
	flatten("", v.Fields, want)
	for name, value := range want {
		if notSent(v.profile, name) {
			continue
		}
		if pdu, ok := strings.CutSuffix(name, ".payload"); ok && strings.Contains(v.Name, "TX_DATA") {
			if text := flat[pdu+".TLVs[0].payload"]; text != value {
				t.Errorf("%s.payload\n got %v\nwant %v", name, text, value)
			}
			continue
		}
		if strings.HasPrefix(name, "header.") && strings.HasSuffix(v.Name, "/fapi") && name != "header.message_id" {
			continue
		}
		if flat[name] != value {
			t.Errorf("%s: got %v, want %v", name, flat[name], value)
		}
	}
}

// notSent reports whether a field of OpenAirInterface's structure is not on the wire.
func notSent(p Profile, name string) bool {
	switch p {
	case Aerial:
		return strings.Contains(name, "maintenance_parms_v3")
	case OAI2024: // the PUSCH PDUs of the vector are 1 and 2
		return strings.HasPrefix(name, "pdus[1].beamforming.") || strings.HasPrefix(name, "pdus[2].beamforming.") || strings.Contains(name, "(hardcoded by pack)")
	}
	return false
}

func flatten(name string, v any, to map[string]any) {
	switch x := v.(type) {
	case map[string]any:
		for k, item := range x {
			if name == "" {
				flatten(k, item, to)
			} else {
				flatten(name+"."+k, item, to)
			}
		}
	case []any:
		for i, item := range x {
			flatten(fmt.Sprintf("%s[%d]", name, i), item, to)
		}
	default:
		to[name] = v
	}
}

// TestChecksum: the checksum of each P7 vector is the one that OpenAirInterface
// computes, and does not cover the time stamp.
func TestChecksum(t *testing.T) {
	seen := 0
	for _, v := range vectors(t) {
		h, _, err := v.profile.parse(v.plane, v.octets)
		if err != nil || v.Checksum == "" || h.Generation == GenFAPI {
			continue
		}
		seen++
		b := append([]byte(nil), v.octets...)
		v.profile.Seal(h.Generation, b, 99)
		n := lenHeader(P7, h.Generation)
		if got := hex.EncodeToString(b[n-8 : n-4]); got != v.Checksum {
			t.Errorf("%s: got %s, want %s", v.Name, got, v.Checksum)
		}
		h, _, _ = v.profile.ParseP7(b)
		if state, _ := v.profile.Verify(&h, b); state != ChecksumCorrect || h.Timestamp != 99 {
			t.Errorf("%s: got %v, time stamp %d", v.Name, state, h.Timestamp)
		}
		b[len(b)-1] ^= 1
		if state, _ := v.profile.Verify(&h, b); state != ChecksumWrong {
			t.Errorf("%s with an octet changed: got %v", v.Name, state)
		}
	}
	if seen == 0 {
		t.Error("no vector with a checksum")
	}
}
