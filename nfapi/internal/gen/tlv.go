package main

import (
	"fmt"
	"strconv"
	"strings"
)

// tlvType is one TLV of P5.
type tlvType struct {
	Scope, Name, Kind, Doc string
	Tag                    uint64
}

func parseTLVs(text string) ([]tlvType, error) {
	var list []tlvType
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields, doc, _ := strings.Cut(line, "|")
		words := strings.Fields(fields)
		if len(words) != 4 {
			return nil, fmt.Errorf("tlv.layout:%d: got %q", i+1, line)
		}
		tag, err := strconv.ParseUint(words[1], 16, 16)
		if err != nil {
			return nil, fmt.Errorf("tlv.layout:%d: %w", i+1, err)
		}
		list = append(list, tlvType{words[0], words[2], words[3], strings.TrimSpace(doc), tag})
	}
	return list, nil
}

// kinds are the constants of package nfapi for the types of TLVs.
var kinds = map[string]string{
	"u8": "kindU8", "u16": "kindU16", "u32": "kindU32", "s32": "kindS32", "u8s": "kindU8s", "u16s": "kindU16s",
	"ipv4": "kindIPv4", "ipv6": "kindIPv6", "octets": "kindOctets",
	"struct:PNFParamGeneral": "kindPNFParamGeneral", "struct:PNFPHY": "kindPNFPHY", "struct:PNFPHYRF": "kindPNFPHYRF",
}

// tlvTable generates the constants and the table of TLVs.
func tlvTable(list []tlvType) string {
	var b strings.Builder
	b.WriteString("// Tags of P5. Source: SCF 222 and 225, as OpenAirInterface develop 2025-09 has them.\nconst (\n")
	for _, t := range list {
		doc := ""
		if t.Doc != "" {
			doc = " // " + t.Doc
		}
		fmt.Fprintf(&b, "\t%s uint16 = %#04x%s\n", constantOf(t), t.Tag, doc)
	}
	b.WriteString(")\n\n")
	for _, scope := range []string{"pnf", "phy"} {
		fmt.Fprintf(&b, "// tlvOf%s returns what is known of a tag.\nfunc tlvOf%s(tag uint16) (name string, kind tlvKind) {\n\tswitch tag {\n", strings.ToUpper(scope), strings.ToUpper(scope))
		for _, t := range list {
			if t.Scope == scope {
				fmt.Fprintf(&b, "\tcase %s:\n\t\treturn %q, %s\n", constantOf(t), t.Name, kinds[t.Kind])
			}
		}
		b.WriteString("\t}\n\treturn \"\", kindOctets\n}\n\n")
	}
	return b.String()
}

// constantOf turns dl_grid_size into TagDLGridSize.
func constantOf(t tlvType) string {
	name := "Tag"
	for _, w := range strings.Split(t.Name, "_") {
		switch u := strings.ToUpper(w); u {
		case "DL", "UL", "PNF", "VNF", "PHY", "RF", "SSB", "PBCH", "TLVS", "CCE", "PDCCH", "PUCCH", "PDSCH", "PUSCH", "PRACH", "DMRS", "PTRS", "CBG", "MIMO", "MU",
			"UCI", "ULSCH", "FD", "TBS", "RSSI", "TDD", "MIB", "SCS", "ID", "VRB", "PRB", "DFTS", "OFDM", "TTI", "DCI", "TX", "RX", "SS", "P7":
			name += u
		default:
			name += strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return name
}
