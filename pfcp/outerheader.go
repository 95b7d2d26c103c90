package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// OuterHeaderRemoval is an Outer Header Removal.
// Source: TS 29.244 V18.6.0, 8.2.64.
type OuterHeaderRemoval struct {
	Description RemovalDescription

	// Extensions is GTP-U Extension Header Deletion: bit 0 the PDU Session
	// Container is deleted. Absent in IEs of 1 octet.
	Extensions Optional[uint8]
}

// RemovalDescription says which headers are removed.
type RemovalDescription uint8

// Outer Header Removal Descriptions.
const (
	RemoveGTPUUDPIPv4 RemovalDescription = 0
	RemoveGTPUUDPIPv6 RemovalDescription = 1
	RemoveUDPIPv4     RemovalDescription = 2
	RemoveUDPIPv6     RemovalDescription = 3
	RemoveIPv4        RemovalDescription = 4
	RemoveIPv6        RemovalDescription = 5
	RemoveGTPUUDPIP   RemovalDescription = 6
	RemoveSTAG        RemovalDescription = 7
	RemoveSTAGCTAG    RemovalDescription = 8
)

var outerHeaderRemoval = codec[OuterHeaderRemoval]{
	func(v *OuterHeaderRemoval, b []byte) error {
		*v = OuterHeaderRemoval{Description: RemovalDescription(b[0])}
		if len(b) > 1 {
			v.Extensions = Some(b[1])
		}
		return nil
	},
	func(b []byte, v *OuterHeaderRemoval) []byte {
		b = append(b, byte(v.Description))
		if v.Extensions.Present {
			b = append(b, v.Extensions.Value)
		}
		return b
	},
}

// CreationDescription says which headers are created; octet 5 of the IE in the
// high byte.
type CreationDescription uint16

// Outer Header Creation Descriptions. Several may be set at once.
const (
	CreateGTPUUDPIPv4 CreationDescription = 0x0100
	CreateGTPUUDPIPv6 CreationDescription = 0x0200
	CreateUDPIPv4     CreationDescription = 0x0400
	CreateUDPIPv6     CreationDescription = 0x0800
	CreateIPv4        CreationDescription = 0x1000
	CreateIPv6        CreationDescription = 0x2000
	CreateCTAG        CreationDescription = 0x4000
	CreateSTAG        CreationDescription = 0x8000
	CreateN19         CreationDescription = 0x0001
	CreateN6          CreationDescription = 0x0002
	CreateLowLayerSSM CreationDescription = 0x0004
	createTEID                            = CreateGTPUUDPIPv4 | CreateGTPUUDPIPv6
	createAddr4                           = CreateGTPUUDPIPv4 | CreateUDPIPv4 | CreateIPv4
	createAddr6                           = CreateGTPUUDPIPv6 | CreateUDPIPv6 | CreateIPv6
	createPort                            = CreateUDPIPv4 | CreateUDPIPv6
)

// OuterHeaderCreation is an Outer Header Creation. Which fields mean something
// follows from Description, and those it names are there. What a Low Layer SSM
// adds is not decoded. Source: TS 29.244 V18.6.0, 8.2.56.
type OuterHeaderCreation struct {
	Description CreationDescription
	TEID        uint32     // with GTP-U
	IPv4        netip.Addr // with any IPv4
	IPv6        netip.Addr // with any IPv6
	Port        uint16     // with UDP without GTP-U
	CTAG, STAG  uint32     // 24 bits, as in the IEs C-TAG and S-TAG
}

var outerHeaderCreation = codec[OuterHeaderCreation]{read: readOuterHeaderCreation, write: writeOuterHeaderCreation}

func readOuterHeaderCreation(v *OuterHeaderCreation, b []byte) error {
	r := reader{b: b}
	*v = OuterHeaderCreation{Description: CreationDescription(r.u16())}
	if v.Description == 0 {
		return fmt.Errorf("no description: %w", ErrIncorrect)
	}
	if v.Description&createTEID != 0 {
		v.TEID = r.u32()
	}
	if v.Description&createAddr4 != 0 {
		v.IPv4 = r.ipv4()
	}
	if v.Description&createAddr6 != 0 {
		v.IPv6 = r.ipv6()
	}
	if v.Description&createPort != 0 {
		v.Port = r.u16()
	}
	if v.Description&CreateCTAG != 0 {
		v.CTAG = r.u24()
	}
	if v.Description&CreateSTAG != 0 {
		v.STAG = r.u24()
	}
	return r.err
}

func writeOuterHeaderCreation(b []byte, v *OuterHeaderCreation) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(v.Description))
	if v.Description&createTEID != 0 {
		b = binary.BigEndian.AppendUint32(b, v.TEID)
	}
	if v.Description&createAddr4 != 0 {
		b = appendIPv4(b, v.IPv4)
	}
	if v.Description&createAddr6 != 0 {
		b = appendIPv6(b, v.IPv6)
	}
	if v.Description&createPort != 0 {
		b = binary.BigEndian.AppendUint16(b, v.Port)
	}
	if v.Description&CreateCTAG != 0 {
		b = appendU24(b, v.CTAG)
	}
	if v.Description&CreateSTAG != 0 {
		b = appendU24(b, v.STAG)
	}
	return b
}
