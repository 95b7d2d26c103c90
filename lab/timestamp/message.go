package timestamp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// message is what the control messages of a frame say.
type message struct {
	software, hardware int64 // ns; 0: not there
	mark               uint32
}

// ns is the stamp of a source, 0 if there is none.
func (m *message) ns(s Source) int64 {
	if s == Hardware {
		return m.hardware
	}
	return m.software
}

const (
	controlHeader = unix.SizeofCmsghdr
	timespec      = 16 // octets, of 64-bit machines
)

// parse reads control messages as far as they are whole. Source: cmsg(3).
func parse(b []byte) (m message) {
	ne := binary.NativeEndian
	for len(b) >= controlHeader {
		length := ne.Uint64(b)
		if length < controlHeader || length > uint64(len(b)) {
			return m
		}
		level, kind, data := int32(ne.Uint32(b[8:])), int32(ne.Uint32(b[12:])), b[controlHeader:length]
		switch {
		case level != unix.SOL_SOCKET:
		case kind == unix.SCM_TIMESTAMPING && len(data) >= 3*timespec: // software, a reserved one, hardware
			m.software, m.hardware = nanoseconds(data), nanoseconds(data[2*timespec:])
		case kind == unix.SO_MARK && len(data) >= 4:
			m.mark = ne.Uint32(data)
		}
		b = b[min(uint64(len(b)), (length+7)&^7):]
	}
	return m
}

// nanoseconds of a struct timespec; 0 if it is not one.
func nanoseconds(b []byte) int64 {
	seconds, ns := int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
	if seconds < 0 || seconds > 1<<33 || ns < 0 || ns >= 1e9 {
		return 0
	}
	return seconds*1e9 + ns
}

// appendControl adds a control message of one word.
func appendControl(b []byte, level, kind int32, value uint32) []byte {
	ne := binary.NativeEndian
	b = ne.AppendUint64(b, controlHeader+4)
	b = ne.AppendUint32(b, uint32(level))
	b = ne.AppendUint32(b, uint32(kind))
	b = ne.AppendUint32(b, value)
	return append(b, 0, 0, 0, 0)
}
