// Package inet has the numbers of the headers around packets that many packages read and
// write: lengths in octets, EtherTypes and protocol numbers.
//
// Source: IEEE Std 802-2014 and IEEE 802.1Q-2022, table 9-1 (EtherTypes); RFC 791, RFC 8200,
// RFC 768, RFC 9293, RFC 792, RFC 826; TS 29.281 V18.1.0, 5.1.
package inet

// Lengths of headers, without options and extension headers.
const (
	LenEthernet = 14 // without tags
	LenTag      = 4  // of a VLAN
	LenIPv4     = 20
	LenIPv6     = 40
	LenUDP      = 8
	LenTCP      = 20
	LenICMP     = 8
	LenGTPU     = 8 // without sequence number, N-PDU number and next extension header type
)

// EtherTypes.
const (
	EtherIPv4 = 0x0800
	EtherARP  = 0x0806
	EtherIPv6 = 0x86dd
	EtherCTag = 0x8100 // VLAN tags: of customers,
	EtherSTag = 0x88a8 // and of service providers
)

// Protocols in IP packets.
const (
	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
	ProtoSCTP   = 132
)
