package p4rt

import (
	"fmt"
)

func (b *builder) addCounters() error {
	for _, c := range b.info.GetCounters() {
		name, err := b.name("counter", c.GetPreamble())
		if err != nil {
			return err
		}
		at, ok := b.program.Counter(name)
		if !ok {
			return missing("counter", name)
		}
		size := b.program.Counters()[at].Size
		if c.GetSize() != int64(size) {
			return differs("counter", name, "size", c.GetSize(), size)
		}
		b.counters = append(b.counters, b.array(&array{id: c.GetPreamble().GetId(), name: name, kind: counterArray, index: at, size: size}))
	}
	return nil
}

func (b *builder) addMeters() error {
	for _, m := range b.info.GetMeters() {
		name, err := b.name("meter", m.GetPreamble())
		if err != nil {
			return err
		}
		at, ok := b.program.Meter(name)
		if !ok {
			return missing("meter", name)
		}
		in := b.program.Meters()[at]
		if m.GetSize() != int64(in.Size) {
			return differs("meter", name, "size", m.GetSize(), in.Size)
		}
		if err := sameUnit(name, m.GetSpec(), in); err != nil {
			return err
		}
		a := &array{id: m.GetPreamble().GetId(), name: name, kind: meterArray, index: at, size: in.Size, meter: m.GetSpec()}
		b.meters = append(b.meters, b.array(a))
	}
	return nil
}

func (b *builder) addRegisters() error {
	for _, r := range b.info.GetRegisters() {
		name, err := b.name("register", r.GetPreamble())
		if err != nil {
			return err
		}
		at, ok := b.program.Register(name)
		if !ok {
			return missing("register", name)
		}
		in := b.program.Registers()[at]
		data, err := newDataType(r.GetTypeSpec(), b.info.GetTypeInfo())
		if err != nil {
			return fmt.Errorf("register %s: %w", name, err)
		}
		leaves := data.leaves(nil)
		switch {
		case int64(r.GetSize()) != int64(in.Size):
			return differs("register", name, "size", r.GetSize(), in.Size)
		case len(leaves) != 1:
			return differs("register", name, "number of fields", len(leaves), 1)
		case leaves[0] != in.Width:
			return differs("register", name, "width", leaves[0], in.Width)
		}
		a := &array{id: r.GetPreamble().GetId(), name: name, kind: registerArray, index: at, size: in.Size, data: data}
		b.registers = append(b.registers, b.array(a))
	}
	return nil
}

func (b *builder) array(a *array) *array {
	b.arrayByID[a.id] = a
	return a
}

func (b *builder) addDigests() error {
	b.digests = make([]*digest, len(b.program.Digests()))
	for _, d := range b.info.GetDigests() {
		name, err := b.name("digest", d.GetPreamble())
		if err != nil {
			return err
		}
		at, ok := b.program.Digest(name)
		if !ok {
			return missing("digest", name)
		}
		data, err := newDataType(d.GetTypeSpec(), b.info.GetTypeInfo())
		if err != nil {
			return fmt.Errorf("digest %s: %w", name, err)
		}
		leaves, in := data.leaves(nil), b.program.Digests()[at].Fields
		if len(leaves) != len(in) {
			return differs("digest", name, "number of fields", len(leaves), len(in))
		}
		for i, width := range leaves {
			if width != in[i].Width {
				return differs("digest", name+", field "+in[i].Name, "width", width, in[i].Width)
			}
		}
		made := &digest{id: d.GetPreamble().GetId(), name: name, data: data}
		b.digests[at], b.digestID[made.id] = made, made
	}
	return nil
}

// Names that say which header is meant. Source: P4Runtime Specification v1.4.1, 6.4.6.
const namePacketIn, namePacketOut = "packet_in", "packet_out"

func (b *builder) addPackets() error {
	for _, m := range b.info.GetControllerPacketMetadata() {
		name, err := b.name("packet metadata", m.GetPreamble())
		if err != nil {
			return err
		}
		header, err := newPacketHeader(m)
		if err != nil {
			return fmt.Errorf("P4Info: packet metadata %s: %w", name, err)
		}
		at := &b.packetIn
		switch name {
		case namePacketIn:
		case namePacketOut:
			at = &b.packetOut
		default:
			return fmt.Errorf("P4Info: packet metadata %s: want %s or %s", name, namePacketIn, namePacketOut)
		}
		if *at != nil {
			return fmt.Errorf("P4Info: packet metadata %s: it is there twice", name)
		}
		*at = header
	}
	return nil
}
