package pfcpsim

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// enums has the names of values, by type. The first name of a value is the one
// that is shown.
var enums = map[reflect.Type]map[string]uint64{
	reflect.TypeFor[pfcp.Interface](): {
		"Access": 0, "Core": 1, "SGi-LAN": 2, "CP-function": 3, "LI Function": 4, "5G VN Internal": 5,
	},
	reflect.TypeFor[pfcp.InterfaceType](): {
		"S1-U": 0, "S5/S8-U": 1, "S11-U": 3, "S12": 4, "N3 3GPP Access": 11, "N9": 15, "SGi": 16, "N6": 17,
		"eNodeB GTP-U DL forwarding": 8, "eNodeB GTP-U UL forwarding": 9, "SGW/UPF GTP-U DL forwarding": 10, "N3 data forwarding": 14,
		"SGW/UPF GTP-U UL forwarding": 28,
	},
	reflect.TypeFor[pfcp.PDNType](): {"IPv4": 1, "IPv6": 2, "IPv4v6": 3, "Non-IP": 4, "Ethernet": 5},
	reflect.TypeFor[pfcp.RATType](): {"EUTRAN": 6, "NR": 10},
	reflect.TypeFor[pfcp.RemovalDescription](): {
		"GTP-U/UDP/IPv4": 0, "GTP-U/UDP/IPv6": 1, "UDP/IPv4": 2, "UDP/IPv6": 3, "IPv4": 4, "IPv6": 5, "GTP-U/UDP/IP": 6,
	},
	reflect.TypeFor[pfcp.RuleType](): {"PDR": 0, "FAR": 1, "QER": 2, "URR": 3, "BAR": 4, "MAR": 5, "SRR": 6},
	reflect.TypeFor[pfcp.CSIDNodeType](): {
		"MME": 0, "SGW-C": 1, "PGW-C/SMF": 2, "ePDG": 3, "TWAN": 4, "PGW-U/SGW-U/UPF": 5,
	},
}

// bits has the names of flags, the lowest bit first; an empty one is spare.
var bits = map[reflect.Type][]string{
	reflect.TypeFor[pfcp.ApplyAction]():                   words("DROP FORW BUFF NOCP DUPL IPMA IPMD DFRT EDRT BDPN DDPN FSSM MBSU"),
	reflect.TypeFor[pfcp.MeasurementMethod]():             words("DURAT VOLUM EVENT"),
	reflect.TypeFor[pfcp.ReportingTriggers]():             words("PERIO VOLTH TIMTH QUHTI START STOPT DROTH LIUSA VOLQU TIMQU ENVCL MACAR EVETH EVEQU IPMJL QUVTI REEMR UPINT"),
	reflect.TypeFor[pfcp.UsageReportTrigger]():            words("PERIO VOLTH TIMTH QUHTI START STOPT DROTH IMMER VOLQU TIMQU LIUSA TERMR MONIT ENVCL MACAR EVETH EVEQU TEBUR IPMJL QUVTI EMRRE UPINT"),
	reflect.TypeFor[pfcp.MeasurementInformation]():        words("MBQE INAM RADI ISTM MNOP SSPOC ASPOC CIAM"),
	reflect.TypeFor[pfcp.UsageInformation]():              words("BEF AFT UAE UBE"),
	reflect.TypeFor[pfcp.SMReqFlags]():                    words("DROBU SNDEM QAURR SUMPC RUMUC DETEID HRSBOM"),
	reflect.TypeFor[pfcp.SEReqFlags]():                    words("RESTI SUMPC HRSBOM EPRI"),
	reflect.TypeFor[pfcp.SRReqFlags]():                    words("PSDBU PPPCP"),
	reflect.TypeFor[pfcp.SRRspFlags]():                    words("DROBU"),
	reflect.TypeFor[pfcp.SDRspFlags]():                    words("PURU"),
	reflect.TypeFor[pfcp.ASReqFlags]():                    words("UUPSI"),
	reflect.TypeFor[pfcp.ASRspFlags]():                    words("PSREI UUPSI"),
	reflect.TypeFor[pfcp.AUReqFlags]():                    words("PARPS"),
	reflect.TypeFor[pfcp.AssociationRelease]():            words("SARR URSS"),
	reflect.TypeFor[pfcp.OCIFlags]():                      words("AOCI"),
	reflect.TypeFor[pfcp.DataStatus]():                    words("DROP BUFF"),
	reflect.TypeFor[pfcp.IPVersion]():                     words("V4 V6"),
	reflect.TypeFor[pfcp.Proxying]():                      words("ARP INS"),
	reflect.TypeFor[pfcp.EthernetPDUSessionInformation](): words("ETHI"),
	reflect.TypeFor[pfcp.EthernetFilterProperties]():      words("BIDE"),
	reflect.TypeFor[pfcp.ReportType]():                    words("DLDR USAR ERIR UPIR TMIR SESR UISR"),
	reflect.TypeFor[pfcp.NodeReportType]():                words("UPFR UPRR CKDR GPQR PURR VSR"),
	reflect.TypeFor[pfcp.CPFunctionFeatures]():            words("LOAD OVRL EPFAR SSET BUNDL MPAS ARDR UIAUR PSUCC RPGUR"),
	reflect.TypeFor[pfcp.UPFunctionFeatures](): words("BUCP DDND DLBD TRST FTUP PFDM HEEU TREU EMPU PDIU UDBC QUOAC TRACE FRRT PFDE EPFAR " +
		"DPDRA ADPDP UEIP SSET MNOP MTE BUNDL GCOM MPAS RTTL VTIME NORP IPTV IP6PL TSN MPTCP " +
		"ATSSS-LL QFQM GPQM MT-EDT CIOT ETHAR DDDS RDS RTTWP QUASF NSPOC L2TP UPBER RESPS IPREP DNSTS " +
		"DRQOS MBSN4 PSUPRM EPPPI RATP UPIDP AFSFC MPQUIC"),
	reflect.TypeFor[pfcp.CreationDescription](): words("N19 N6 SSM - - - - - " +
		"GTP-U/UDP/IPv4 GTP-U/UDP/IPv6 UDP/IPv4 UDP/IPv6 IPv4 IPv6 C-TAG S-TAG"),
}

func words(s string) []string { return strings.Fields(s) }

// setNamed sets a value that has names by one of them, or flags by several.
func setNamed(v reflect.Value, text string) (done bool, err error) {
	t := v.Type()
	if names, ok := enums[t]; ok {
		if n, ok := names[text]; ok {
			v.SetUint(n)
			return true, nil
		}
		return false, nil
	}
	switch p := v.Addr().Interface().(type) {
	case *pfcp.Cause:
		for c := range 256 {
			if pfcp.Cause(c).String() == text {
				*p = pfcp.Cause(c)
				return true, nil
			}
		}
	case *pfcp.IEType:
		if types := typesOf(text); len(types) > 0 {
			*p = types[0]
			return true, nil
		}
	}
	names, ok := bits[t]
	if _, err := strconv.ParseUint(text, 0, 64); !ok || err == nil {
		return false, nil
	}
	return true, setBits(v, names, text)
}

func setBits(v reflect.Value, names []string, text string) error {
	var set uint64
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '|' || r == ',' }) {
		bit := -1
		for i, name := range names {
			if name == word {
				bit = i
			}
		}
		if bit < 0 {
			return fmt.Errorf("flag %s of %s: %w", word, v.Type().Name(), ErrValue)
		}
		set |= 1 << bit
	}
	v.SetUint(set)
	return nil
}

// named returns the name of a value, or the names of flags.
func named(v reflect.Value) (string, bool) {
	if names, ok := enums[v.Type()]; ok {
		for name, n := range names {
			if n == v.Uint() {
				return name, true
			}
		}
		return "", false
	}
	switch value := v.Interface().(type) {
	case pfcp.Cause:
		return value.String(), true
	case pfcp.IEType:
		return value.String(), true
	}
	names, ok := bits[v.Type()]
	if !ok {
		return "", false
	}
	list := []string{}
	for i, rest := 0, v.Uint(); rest != 0; i, rest = i+1, rest>>1 {
		switch {
		case rest&1 == 0:
		case i < len(names):
			list = append(list, names[i])
		default:
			list = append(list, fmt.Sprintf("bit%d", i))
		}
	}
	return strings.Join(list, " "), true
}

// aliases are the names that the specification has for IEs where they stand,
// and those of groups that are written in several ways.
var aliases = map[string]string{
	"CP F-SEID": "F-SEID", "UP F-SEID": "F-SEID", "Local F-TEID": "F-TEID", "Remote F-TEID": "F-TEID", "UE IP address": "UE IP Address",
	"Source Interface Type": "3GPP Interface Type", "Destination Interface Type": "3GPP Interface Type",
	"Linked Traffic Endpoint ID": "Traffic Endpoint ID", "FAR ID for Quota Action": "FAR ID", "Maximum Bitrate": "MBR",
	"Guaranteed Bitrate": "GBR", "PGW-C/SMF FQ-CSID": "FQ-CSID", "SGW-C FQ-CSID": "FQ-CSID", "Group Id": "Group ID",
}

// byName has the types of each name; a group that is written in several ways
// has them under its name without what stands in brackets.
var byName = func() map[string][]pfcp.IEType {
	m := map[string][]pfcp.IEType{}
	for t := range pfcp.IEType(512) {
		name := t.String()
		if strings.HasPrefix(name, "IE ") {
			continue
		}
		m[name] = append(m[name], t)
		if short, _, ok := strings.Cut(name, " ("); ok {
			m[short] = append(m[short], t)
		}
	}
	return m
}()

// typesOf returns the IE types that a name may mean: none, one, or several that
// depend on the message. "IE 999" is type 999.
func typesOf(name string) []pfcp.IEType {
	name = strings.TrimSpace(name)
	if whole, ok := aliases[name]; ok {
		name = whole
	}
	if types, ok := byName[name]; ok {
		return types
	}
	if digits, ok := strings.CutPrefix(name, "IE "); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
			return []pfcp.IEType{pfcp.IEType(n)}
		}
	}
	return nil
}

// typeIn returns the IE type that a name means in a message.
func typeIn(name string, message pfcp.MessageType) (pfcp.IEType, error) {
	types := typesOf(name)
	switch {
	case len(types) == 0:
		return 0, fmt.Errorf("IE %q: %w", name, ErrName)
	case len(types) == 1:
		return types[0], nil
	}
	for _, t := range types {
		if strings.Contains(t.String(), "("+message.String()+")") {
			return t, nil
		}
	}
	return types[0], nil
}
