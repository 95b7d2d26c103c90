package nfapi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	bitmap36 = "f0000000000000000000000000000000 00000000000000000000000000000000 0000000f"
	pusch    = "4601 dead0000 006a 0000 01 00 0ece 04 0b 00 01 002a 01 0004 00 002a 002a 00 02 0001 01" + bitmap36 + "0000 0032 00 00 0000 00 00 0d"
	srs      = "4601 0badcafe 006a 0000 01 00 00 01 00 0d 02 0123 03 04 05 06 07 0809 0a 0b 0c 000d 000e 0001 006a 01 0003"
)

// TestLayouts: bodies written by hand from the layouts, for what no vector shows,
// with some of the fields that they have to have, and back to the same octets.
func TestLayouts(t *testing.T) {
	for _, tc := range []struct {
		name    string
		profile Profile
		id      MessageID
		body    string   // hex
		want    []string // field=value
	}{
		{
			"PUSCH with all parts", OAI2025, MsgULTTIRequest,
			"0200 0013 01 00 01 00 00  0001 0088 000f" + pusch + " 00 03 01 000005dc 0009 aabb  0002 0003 0004 01 05 06 07  02 0001 02 03 0004 05 06 07 08 09  11 0022 33 44 " +
				"0001 006a 01 0003 01 00027005",
			[]string{
				"pdus[0].pusch_data.num_cb=9", "pdus[0].pusch_data.cb_present_and_position=aabb", "pdus[0].pusch_uci.csi_part2_bit_length=4", "pdus[0].pusch_uci.beta_offset_csi2=7",
				"pdus[0].pusch_ptrs.ptrs_ports_list[1].ptrs_re_offset=6", "pdus[0].pusch_ptrs.ul_ptrs_power=9", "pdus[0].dfts_ofdm.low_papr_sequence_number=34",
				"pdus[0].beamforming.prgs[0].beam_idx[0]=3", "pdus[0].maintenance_parms_v3.tbSizeLbrmBytes=159749",
			},
		},
		{
			"PUSCH with data and UCI has neither", OAI2024, MsgULTTIRequest, "0200 0013 01 00 01 00 00  0001 005b 0003" + pusch + "01 00027005",
			[]string{"pdus[0].pdu_bit_map=3", "pdus[0].maintenance_parms_v3.ldpcBaseGraph=1"},
		},
		{
			"SRS, two symbols, two reports", OAI2025, MsgULTTIRequest,
			"0200 0013 01 00 00 00 01  0003 004d" + srs + " 0110  0001 02 03 0004 05 06  00000005 1112 01 02 0003 04 00000005 00000006 07 02 0809  02 00 01",
			[]string{
				"pdus[0].handle=195939070", "pdus[0].t_offset=14", "pdus[0].srs_parameters_v4.srs_bandwidth_size=272", "pdus[0].srs_parameters_v4.symbol_list[1].sequence_number=6",
				"pdus[0].srs_parameters_v4.report_type=1112", "pdus[0].srs_parameters_v4.Ul_spatial_stream_ports[1]=9", "groups[0].ue_list[1].pdu_idx=1",
			},
		},
		{
			"SRS without the parameters of 10.04", OAI2024, MsgULTTIRequest, "0200 0013 01 00 00 00 00  0003 002c" + srs,
			[]string{"pdus[0].t_srs=13", "pdus[0].beamforming.prgs[0].beam_idx[0]=3"},
		},
		{
			"SRS of one symbol with four", Aerial, MsgULTTIRequest,
			"0002 1300 01 00 00 00 00  0300 5200  0146 fecaad0b 6a00 0000 01 00 00 00 00 0d 02 2301 03 04 05 06 07 0908 0a 0b 0c 0d00 0e00 0100 6a00 01 0300 " +
				"1001 0100 02 03 0000 00 00 0000 00 00 0400 05 06  02000000 11 01 02 0300 04 05000000 06000000 07 00",
			[]string{"pdus[0].srs_parameters_v4.symbol_list[3].srs_bandwidth_start=4", "pdus[0].srs_parameters_v4.sampled_ue_antennas=6"},
		},
		{
			"CSI-RS, PDSCH with PTRS and CBG, groups", OAI2025, MsgDLTTIRequest,
			"0200 0000 02 01  0002 0027 006a 0000 01 00 0004 0034 01 02 0003 04 05 06 07 002a 08 01 0002 0010 01 0001 0002 0003 0004 " +
				"0001 0070 0003 4601 0000 006a 0000 01 00 01 1a04 06 14 00 00 000005dc 002a 01 00 00 0884 00 002a 00 02 0001 01" + bitmap36 +
				"0000 0035 00 01 0d  01 02 03 04 05  0001 006a 01 0000 0003 08 01  01 00 deadbeef  01 00027005   02 00000000 00000001",
			[]string{
				"pdus[0].scramb_id=42", "pdus[0].precodingAndBeamforming.prgs[1].pm_idx=3", "pdus[0].precodingAndBeamforming.prgs[1].beam_idx[0]=4", "pdus[1].targetCodeRate[0]=6660",
				"pdus[1].nEpreRatioOfPDSCHToPTRS=5", "pdus[1].dlTbCrc=3735928559", "groups[0].nUe=2", "groups[0].PduIdx[1]=1",
			},
		},
		{
			"PDU of unknown type, PDU with more than is known", OAI2025, MsgDLTTIRequest,
			"0200 0000 02 00  0077 0007 010203  0003 001b 002a 00 00 06 0056 01 6a5b3c 00 0001 006a 01 0000 0003 aabb",
			[]string{"pdus[0].PDUType=119", "pdus[0].extra=010203", "pdus[1].bchPayload=6970172", "pdus[1].extra=aabb"},
		},
		{
			"UCI of format 2 and of a PUSCH", OAI2025, MsgUCIIndication,
			"0200 0013 0002  0002 0000 0f beef0000 4601 02 b4 001f 0500  0001 03  00 0008 aabb  00 0007 cc  00 0010 ddeeff " +
				"0000 0000 0a beef0001 4602 b4 001f 0500  01 0002 02  00 0004 04",
			[]string{
				"ucis[0].pucch_format=2", "ucis[0].sr.sr_payload=03", "ucis[0].harq.harq_payload=aabb", "ucis[0].csi_part1.csi_part1_payload=cc",
				"ucis[0].csi_part2.csi_part2_payload=ddeeff", "ucis[1].harq.harq_crc=1", "ucis[1].csi_part2.csi_part2_bit_len=4",
			},
		},
		{
			"UCI of format 3, less 2", OAI2024, MsgUCIIndication, "0200 0013 0001  0002 0000 02 beef0000 4601 01 b4 001f 0500  00 0002 01",
			[]string{"ucis[0].pucch_format=3"},
		},
		{
			"CRC of 8 code blocks", OAI2025, MsgCRCIndication, "0200 0013 0001  dead0000 4601 03 01 0008 ff00 c8 001f 0500",
			[]string{"crcs[0].cb_crc_status=ff00", "crcs[0].rssi=1280"},
		},
		{
			"two preambles", OAI2025, MsgRACHIndication, "0200 0013 01  002a 00 13 01 80 90 02  05 0010 00000100  3f 0020 00000200",
			[]string{"pdus[0].avg_snr=144", "pdus[0].preamble_list[1].preamble_index=63", "pdus[0].preamble_list[1].preamble_pwr=512"},
		},
		{
			"SRS report of 5 octets in 2 words", OAI2025, MsgSRSIndication, "0200 0013 0000 01  dead0000 4601 001f fffe 04 01 0001 00000005 01020304 05060708",
			[]string{"pdus[0].timing_advance_offset_nsec=-2", "pdus[0].report_tlv.value[1]=84281096"},
		},
		{
			"SRS report of 2 octets in 2 words", OAI2024, MsgSRSIndication, "0200 0013 0000 01  dead0000 4601 001f 0002 04 01 0001 00000002 01020304 05060708",
			[]string{"pdus[0].report_tlv.length=2", "pdus[0].report_tlv.value[1]=84281096"},
		},
		{
			"two parts, padding that is not zero", OAI2025, MsgTXDataRequest, "0200 0000 0001  00000011 0000 00000002  0000 00000005 04030201 eeddcc05  0001 00000004 08070605",
			[]string{"pdus[0].TLVs[0].payload=0102030405", "pdus[0].TLVs[0].padding=ccddee", "pdus[0].TLVs[1].payload=05060708"},
		},
		{
			"pointer: as many words as octets", OAI2024, MsgTXDataRequest, "0200 0000 0001  0011 0000 00000001  0001 0002 04030201 08070605",
			[]string{"pdus[0].TLVs[0].length=2", "pdus[0].TLVs[0].payload=0102030405060708"},
		},
		{
			"by offset", Aerial, MsgTXDataRequest, "0002 0000 0200  dc050000 0000 01000000 0200 dc05 00000000  dc050000 0100 01000000 0200 dc05 dc050000",
			[]string{"pdus[1].TLVs[0].offset=1500", "pdus[1].TLVs[0].length=1500"},
		},
		{"octets behind the last field", OAI2025, MsgDLNodeSync, "004e207b fffffffd f000 0002 0102 0000", []string{"delta_sfn_slot=-3", "trailing=f000000201020000"}},
		{"vendor's message", OAI2025, 0x300, "0102", []string{"body=0102"}},
		{"slot response", Aerial, MsgSlotResponse, "0100 0200", []string{"sfn=1", "slot=2"}},
		{
			"what a PNF can do", OAI2025, MsgPNFParamResponse,
			"00 02 1000 0023 02 00 0002 aabb 00000001 00000002 00000003 00000004 0001 0064 04 04 01 00 ff9c 001122 00 " +
				"1001 0017 0001 0001 0002 0001 0002 0001 0009 0064 0050 04 02 8000 01 00",
			[]string{
				"tlvs[0].value.location_coordinates=aabb", "tlvs[0].value.maximum_total_power=-100", "tlvs[0].value.oui=001122", "tlvs[1].value.phy[0].rf_config[1]=2",
				"tlvs[1].value.phy[0].excluded_rf_config[0]=9", "tlvs[1].value.phy[0].nmm_modes_supported=1",
			},
		},
		{
			"TLVs that are not accepted", OAI2025, MsgConfigResponse, "02 01 00 00 01  1001 0002 0028 0000  100c 0000",
			[]string{"num_missing=1", "tlvs[0].name=dl_bandwidth", "tlvs[0].value=40", "tlvs[1].length=0"},
		},
		{
			"entries behind TLV 5", OAI2025, MsgParamResponse, "00 02  0005 0002 0002 0000  100c 02 01 0000  100d 01 02 000000  0006 0001 03 000000  0103 0004 0a000002",
			[]string{"tlvs[0].config_tlvs_to_report_list=100c02010000100d0102000000", "tlvs[1].value=3", "tlvs[2].value=10.0.0.2"},
		},
		{"START.response of 32 bits", OAI2024, MsgStartResponse, "00000001", []string{"error_code=1"}},
		{"START.response by its number of 2024", OAI2024, MsgStartResponse2024, "00000002", []string{"header.message=START.response", "error_code=2"}},
		{"error", Aerial, MsgErrorIndication, "0001 0200 80 03", []string{"sfn=256", "slot=2", "message_id=128", "error_code=3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			checkLayout(t, tc.profile, tc.id, octets(t, tc.body), tc.want)
		})
	}
}

func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func planeOf(id MessageID) Plane {
	if id < MsgDLTTIRequest || id >= MsgPNFParamRequest && id <= MsgStopResponse {
		return P5
	}
	return P7
}

func checkLayout(t *testing.T, p Profile, id MessageID, body []byte, want []string) {
	t.Helper()
	plane := planeOf(id)
	b := make([]byte, 4096)
	h := Header{Generation: p.Generation(), Messages: 1}
	n, err := p.encode(plane, &h, &Opaque{ID: id, Body: body}, b)
	if err != nil {
		t.Fatal(err)
	}
	view, err := p.JSON(plane, b[:n])
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.FromJSON(plane, view)
	if err != nil || !bytes.Equal(again, b[:n]) {
		t.Errorf("%v\n got %x\nwant %x\n%s", err, again, b[:n], view)
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(view))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	flatten("", fields, got)
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		if fmt.Sprint(got[name]) != value {
			t.Errorf("%s: got %v, want %s\n%s", name, got[name], value, view)
		}
	}
	said := strings.Join(want, " ")
	for _, key := range []string{"extra", "trailing"} {
		if bytes.Contains(view, []byte(`"`+key+`"`)) && !strings.Contains(said, key) {
			t.Errorf("octets are left over: %s", view)
		}
	}
}

// TestTDDTables: the three forms of a TDD table are kept as they are.
func TestTDDTables(t *testing.T) {
	all := strings.Repeat("00", 279) + "01"
	for name, body := range map[string]string{
		"one TLV for each symbol": "00 1010 0001 01 000000 1026 0001 06 000000" + strings.Repeat("1027 0001 00 000000", 279) + "1027 0001 01 000000",
		"one TLV of all symbols":  "03 1010 0001 01 000000 1026 0001 06 000000 1027 0118" + all,
		"10.04":                   "02 1010 0001 01 000000 1035 0119 06" + all + "000000",
	} {
		t.Run(name, func(t *testing.T) {
			b := octets(t, body)
			m := &ConfigRequest{}
			if err := m.DecodeBody(OAI2025, b); err != nil {
				t.Fatal(err)
			}
			symbols := 0
			for _, v := range m.TLVs {
				switch v.Tag {
				case TagSlotConfig:
					symbols += len(v.Value)
				case TagTDDTable:
					symbols += len(v.Value) - 1
				}
			}
			if symbols != 280 {
				t.Errorf("got %d symbols, want 280", symbols)
			}
			last := map[string]string{"one TLV for each symbol": "tlvs[281].value=1", "one TLV of all symbols": "tlvs[2].value[279]=1", "10.04": "tlvs[1].value[280]=1"}
			checkLayout(t, OAI2025, MsgConfigRequest, b, []string{last[name]})
		})
	}
}

// TestPeekSlot: SFN and slot of a body, without decoding it.
func TestPeekSlot(t *testing.T) {
	for _, v := range vectors(t) {
		h, body, err := v.profile.parse(v.plane, v.octets)
		if err != nil || v.plane != P7 {
			continue
		}
		sfn, slot, ok := v.profile.PeekSlot(h.MessageID, body)
		if want := h.MessageID < MsgULNodeSync; ok != want || ok && (sfn != uint16(number(v, "sfn")) || slot != uint16(number(v, "slot"))) {
			t.Errorf("%s: got %d.%d, %v", v.Name, sfn, slot, ok)
		}
	}
	if _, _, ok := OAI2025.PeekSlot(MsgDLTTIRequest, []byte{1, 2, 3}); ok {
		t.Error("a slot in 3 octets")
	}
}

func number(v vector, name string) float64 {
	for k, x := range v.Fields {
		if strings.EqualFold(k, name) {
			return x.(float64)
		}
	}
	return -1
}
