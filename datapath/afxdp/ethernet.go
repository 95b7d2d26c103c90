package afxdp

import (
	"encoding/binary"
	"net"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// macWord is a MAC address as a number, the first octet in the lowest bits; 0: not
// known.
func macWord(mac [6]byte) uint64 {
	var b [8]byte
	copy(b[:], mac[:])
	return binary.LittleEndian.Uint64(b[:])
}

// putEthernet writes the header of a frame in three words.
func putEthernet(b []byte, to, from uint64, etherType uint16) {
	_ = b[inet.LenEthernet-1]
	binary.LittleEndian.PutUint64(b, to|from<<48)
	binary.LittleEndian.PutUint32(b[8:], uint32(from>>16))
	binary.BigEndian.PutUint16(b[12:], etherType)
}

// macText writes a MAC address as people do; "" if it is not known.
func macText(word uint64) string {
	if word == 0 {
		return ""
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	return net.HardwareAddr(b[:6]).String()
}
