package session

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// flagNames names the bits of v, joined by +.
func flagNames(v uint32, names []string) string {
	var list []string
	for i := range 32 {
		switch {
		case v>>i&1 == 0:
		case i < len(names):
			list = append(list, names[i])
		default:
			list = append(list, "bit"+strconv.Itoa(i))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, "+")
}

// String names the methods as TS 29.244 does.
func (m MeasurementMethod) String() string {
	return flagNames(uint32(m), []string{"DURAT", "VOLUM", "EVENT"})
}

// String names the triggers as TS 29.244 does.
func (t ReportingTriggers) String() string {
	return flagNames(uint32(t), []string{
		"PERIO", "VOLTH", "TIMTH", "QUHTI", "START", "STOPT", "DROTH", "LIUSA", "VOLQU", "TIMQU", "ENVCL",
		"MACAR", "EVETH", "EVEQU", "IPMJL", "QUVTI", "REEMR", "UPINT",
	})
}

// String names the flags as TS 29.244 does.
func (i MeasurementInformation) String() string {
	return flagNames(uint32(i), []string{"MBQE", "INAM", "RADI", "ISTM", "MNOP", "SSPOC", "ASPOC", "CIAM"})
}

// String names the type as TS 29.244 does; "": none given.
func (t PDNType) String() string {
	names := [...]string{"", "IPv4", "IPv6", "IPv4v6", "Non-IP", "Ethernet"}
	if int(t) < len(names) {
		return names[t]
	}
	return "a PDN type that there is not here"
}

// String names what is taken off; "": nothing.
func (u Unwrap) String() string {
	names := [...]string{"", "UDP/IP", "IP", "S-TAG", "S-TAG and C-TAG"}
	if int(u) < len(names) {
		return names[u]
	}
	return "an Outer Header Removal that there is not here"
}

// String names the outermost part as TS 29.244 does.
func (e Encapsulation) String() string {
	names := [...]string{"GTP-U/UDP/IP", "UDP/IP", "IP", "VLAN tags"}
	if int(e) < len(names) {
		return names[e]
	}
	return "an Outer Header Creation that there is not here"
}

// String is the filter as an IPFilterRule, with what that cannot say behind it.
// Source: RFC 6733, 4.3.1; TS 29.212 V18, 5.4.2.
func (f *SDFFilter) String() string {
	var b strings.Builder
	b.WriteString("permit out ")
	if f.Protocol.Present {
		fmt.Fprint(&b, f.Protocol.Value)
	} else {
		b.WriteString("ip")
	}
	b.WriteString(" from ")
	writeSide(&b, f.Remote, f.RemotePorts, "any")
	b.WriteString(" to ")
	writeSide(&b, f.Local, f.LocalPorts, "assigned")
	if f.TOSMask != 0 {
		fmt.Fprintf(&b, " tos %#02x/%#02x", f.TOS, f.TOSMask)
	}
	if f.SPI.Present {
		fmt.Fprintf(&b, " spi %#x", f.SPI.Value)
	}
	if f.FlowLabel.Present {
		fmt.Fprintf(&b, " flow label %#x", f.FlowLabel.Value)
	}
	if f.Host != "" {
		b.WriteString(" host " + f.Host + f.Path)
	}
	return b.String()
}

// writeSide writes address and ports of one end.
func writeSide(b *strings.Builder, p netip.Prefix, ports []PortRange, anyone string) {
	switch {
	case !p.IsValid():
		b.WriteString(anyone)
	case p.IsSingleIP():
		b.WriteString(p.Addr().String())
	default:
		b.WriteString(p.String())
	}
	for i, r := range ports {
		b.WriteByte(" ,"[min(i, 1)])
		b.WriteString(strconv.Itoa(int(r.First)))
		if r.Last != r.First {
			b.WriteString("-" + strconv.Itoa(int(r.Last)))
		}
	}
}
