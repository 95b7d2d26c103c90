package p4rt

import (
	"errors"
	"fmt"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// dataType is the type of a register or of a digest message: a number, or a struct, tuple or header of others.
type dataType struct {
	kind    dataKind
	width   int // of a number; bool: 1
	signed  bool
	members []*dataType
}

type dataKind uint8

const (
	bitData dataKind = iota
	boolData
	enumData // a serializable one: a number
	structData
	tupleData
	headerData
)

// Bounds of a type: how many types it may be made of, and how deep.
const maxTypes, maxDepth = 4096, 16

// newDataType resolves a type of P4Info.
func newDataType(spec *info.P4DataTypeSpec, types *info.P4TypeInfo) (*dataType, error) {
	r := resolver{types, maxTypes}
	return r.resolve(spec, 0)
}

type resolver struct {
	types *info.P4TypeInfo
	left  int
}

func (r *resolver) resolve(spec *info.P4DataTypeSpec, depth int) (*dataType, error) {
	if r.left--; r.left < 0 || depth > maxDepth {
		return nil, errors.New("its type is too large, or has itself in it")
	}
	types := r.types
	switch x := spec.GetTypeSpec().(type) {
	case *info.P4DataTypeSpec_Bitstring:
		return bitType(x.Bitstring)
	case *info.P4DataTypeSpec_Bool:
		return &dataType{kind: boolData, width: 1}, nil
	case *info.P4DataTypeSpec_SerializableEnum:
		e := types.GetSerializableEnums()[x.SerializableEnum.GetName()]
		if e == nil {
			return nil, fmt.Errorf("type %s is not in P4Info", x.SerializableEnum.GetName())
		}
		return &dataType{kind: enumData, width: int(e.GetUnderlyingType().GetBitwidth())}, nil
	case *info.P4DataTypeSpec_NewType:
		n := types.GetNewTypes()[x.NewType.GetName()]
		if n.GetOriginalType() == nil {
			return nil, fmt.Errorf("type %s, or what stands for it, is not in P4Info, or is translated: %w", x.NewType.GetName(), bmv2.ErrUnsupported)
		}
		return r.resolve(n.GetOriginalType(), depth+1)
	case *info.P4DataTypeSpec_Tuple:
		return r.members(tupleData, x.Tuple.GetMembers(), depth)
	case *info.P4DataTypeSpec_Struct:
		s := types.GetStructs()[x.Struct.GetName()]
		if s == nil {
			return nil, fmt.Errorf("type %s is not in P4Info", x.Struct.GetName())
		}
		var members []*info.P4DataTypeSpec
		for _, m := range s.GetMembers() {
			members = append(members, m.GetTypeSpec())
		}
		return r.members(structData, members, depth)
	case *info.P4DataTypeSpec_Header:
		h := types.GetHeaders()[x.Header.GetName()]
		if h == nil {
			return nil, fmt.Errorf("type %s is not in P4Info", x.Header.GetName())
		}
		made := &dataType{kind: headerData}
		for _, m := range h.GetMembers() {
			t, err := bitType(m.GetTypeSpec())
			if err != nil {
				return nil, err
			}
			made.members = append(made.members, t)
		}
		return made, nil
	}
	return nil, fmt.Errorf("type %T: %w", spec.GetTypeSpec(), bmv2.ErrUnsupported)
}

func (r *resolver) members(kind dataKind, specs []*info.P4DataTypeSpec, depth int) (*dataType, error) {
	made := &dataType{kind: kind}
	for _, spec := range specs {
		m, err := r.resolve(spec, depth+1)
		if err != nil {
			return nil, err
		}
		made.members = append(made.members, m)
	}
	return made, nil
}

func bitType(s *info.P4BitstringLikeTypeSpec) (*dataType, error) {
	switch x := s.GetTypeSpec().(type) {
	case *info.P4BitstringLikeTypeSpec_Bit:
		return &dataType{width: int(x.Bit.GetBitwidth())}, nil
	case *info.P4BitstringLikeTypeSpec_Int:
		return &dataType{width: int(x.Int.GetBitwidth()), signed: true}, nil
	}
	return nil, fmt.Errorf("type %T: %w", s.GetTypeSpec(), bmv2.ErrUnsupported)
}

// leaves appends the widths of all numbers, in order.
func (t *dataType) leaves(widths []int) []int {
	if t.kind <= enumData {
		return append(widths, t.width)
	}
	for _, m := range t.members {
		widths = m.leaves(widths)
	}
	return widths
}

// take makes data of the octets of all numbers, each in whole octets, and returns what is left of them. It needs as many
// as [dataType.octets] says.
func (t *dataType) take(b []byte) (*p4.P4Data, []byte) {
	switch t.kind {
	case structData, tupleData:
		s := &p4.P4StructLike{Members: make([]*p4.P4Data, len(t.members))}
		for i, m := range t.members {
			s.Members[i], b = m.take(b)
		}
		if t.kind == structData {
			return &p4.P4Data{Data: &p4.P4Data_Struct{Struct: s}}, b
		}
		return &p4.P4Data{Data: &p4.P4Data_Tuple{Tuple: s}}, b
	case headerData:
		h := &p4.P4Header{IsValid: true, Bitstrings: make([][]byte, len(t.members))}
		for i, m := range t.members {
			n := m.octets()
			h.Bitstrings[i], b = m.canonical(b[:n]), b[n:]
		}
		return &p4.P4Data{Data: &p4.P4Data_Header{Header: h}}, b
	}
	n := t.octets()
	return t.number(b[:n]), b[n:]
}

// whole converts a register's value, which is one number, to data, at any position in the type.
func (t *dataType) whole(b []byte) *p4.P4Data {
	full := make([]byte, t.octets())
	b = shortest(b)
	if len(b) <= len(full) {
		copy(full[len(full)-len(b):], b)
	}
	d, _ := t.take(full)
	return d
}

// octets is how many octets take uses.
func (t *dataType) octets() int {
	n := 0
	for _, width := range t.leaves(nil) {
		n += (width + 7) / 8
	}
	return n
}

// number makes data of one number.
func (t *dataType) number(b []byte) *p4.P4Data {
	b = t.canonical(b)
	switch t.kind {
	case boolData:
		return &p4.P4Data{Data: &p4.P4Data_Bool{Bool: !isZero(b)}}
	case enumData:
		return &p4.P4Data{Data: &p4.P4Data_EnumValue{EnumValue: b}}
	}
	return &p4.P4Data{Data: &p4.P4Data_Bitstring{Bitstring: b}}
}

// canonical copies a number in the shortest form of its type.
func (t *dataType) canonical(b []byte) []byte {
	b = shortest(b)
	if !t.signed || bitLen(b) < t.width {
		b = append([]byte(nil), b...)
		if t.signed && b[0]&0x80 != 0 { // positive: the sign is the bit in front
			b = append([]byte{0}, b...)
		}
		return b
	}
	b = append([]byte(nil), b...) // negative: as many ones in front as there is room for
	if r := t.width % 8; r != 0 {
		b[0] |= 0xff << r
	}
	for len(b) > 1 && b[0] == 0xff && b[1]&0x80 != 0 {
		b = b[1:]
	}
	return b
}

// value returns the number in data, unsigned, in the executor's representation.
func (t *dataType) value(d *p4.P4Data) ([]byte, *failure) {
	var b []byte
	switch x := d.GetData().(type) {
	case *p4.P4Data_Bool:
		if t.kind != boolData {
			return nil, invalid("data is a bool, which is not the type in P4Info")
		}
		if x.Bool {
			return []byte{1}, nil
		}
		return []byte{0}, nil
	case *p4.P4Data_EnumValue:
		if t.kind != enumData {
			return nil, invalid("data is an enum, which is not the type in P4Info")
		}
		b = x.EnumValue
	case *p4.P4Data_Bitstring:
		if t.kind != bitData {
			return nil, invalid("data is a number, which is not the type in P4Info")
		}
		b = x.Bitstring
	default:
		return nil, invalid("data of type %T is not the type in P4Info", d.GetData())
	}
	if t.signed {
		return t.signedValue(b)
	}
	v, ok := number(b, t.width)
	if !ok {
		return nil, invalid("data %x: want a number of at most %d bits", clip(b), t.width)
	}
	return v, nil
}

// signedValue makes of a number in two's complement one of as many bits as the type has.
func (t *dataType) signedValue(b []byte) ([]byte, *failure) {
	if len(b) == 0 {
		return nil, invalid("data: no octets")
	}
	fill := byte(0)
	if b[0]&0x80 != 0 {
		fill = 0xff
	}
	n := (t.width + 7) / 8
	v := make([]byte, n)
	for i := range v {
		v[i] = fill
		if at := len(b) - n + i; at >= 0 {
			v[i] = b[at]
		}
	}
	// What was cut off, and the bits above the width, have to be copies of the sign.
	top := 8*n - t.width
	ok := len(b) <= n || fullOf(b[:len(b)-n], fill)
	sign := v[0] << top & 0x80
	ok = ok && (sign != 0) == (fill != 0) && v[0]>>(8-top) == fill>>(8-top)
	if !ok {
		return nil, invalid("data %x: want a signed number of %d bits", clip(b), t.width)
	}
	v[0] = v[0] << top >> top
	return shortest(v), nil
}

func fullOf(b []byte, fill byte) bool {
	for _, x := range b {
		if x != fill {
			return false
		}
	}
	return true
}

// clip limits the length of an octet string in an error.
func clip(b []byte) []byte { return b[:min(len(b), 32)] }
