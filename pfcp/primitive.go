package pfcp

import "encoding/binary"

// Codecs of IEs that are one number. The lengths are in the table ies.

func u8[V ~uint8]() codec[V] {
	return codec[V]{
		func(v *V, b []byte) error { *v = V(b[0]); return nil },
		func(b []byte, v *V) []byte { return append(b, byte(*v)) },
	}
}

func u16[V ~uint16]() codec[V] {
	return codec[V]{
		func(v *V, b []byte) error { *v = V(binary.BigEndian.Uint16(b)); return nil },
		func(b []byte, v *V) []byte { return binary.BigEndian.AppendUint16(b, uint16(*v)) },
	}
}

func u32[V ~uint32]() codec[V] {
	return codec[V]{
		func(v *V, b []byte) error { *v = V(binary.BigEndian.Uint32(b)); return nil },
		func(b []byte, v *V) []byte { return binary.BigEndian.AppendUint32(b, uint32(*v)) },
	}
}

// low is a number in the low bits of one octet whose other bits are spare.
func low[V ~uint8](mask V) codec[V] {
	return codec[V]{
		func(v *V, b []byte) error { *v = V(b[0]) & mask; return nil },
		func(b []byte, v *V) []byte { return append(b, byte(*v&mask)) },
	}
}

// view is an octet string that is kept undecoded.
var view = codec[[]byte]{
	func(v *[]byte, b []byte) error { *v = b; return nil },
	func(b []byte, v *[]byte) []byte { return append(b, *v...) },
}
