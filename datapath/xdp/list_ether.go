package xdp

import (
	"encoding/binary"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// lastMAC is the highest MAC address.
const lastMAC = 1<<48 - 1

// addFrames adds the entries of a rule of an Ethernet PDU session: one for each
// Ethernet Packet Filter and each pair of MAC addresses. SDF filters stand in
// front of them all.
func (b *listBuilder) addFrames(r *stages.Rule) {
	whole := upfEtherEntry{Qfis: r.QFIs, Source: [2]uint64{0, lastMAC}, Destination: [2]uint64{0, lastMAC}, Pdr: uint32(len(b.pdrs))}
	b.addPDR(r)
	if len(r.Ethernet.Filters) == 0 {
		b.addFrame(whole)
	}
	for i := range r.Ethernet.Filters {
		f := &r.Ethernet.Filters[i]
		e := whole.filter(f.Packet())
		e.Sdf = uint16(len(b.ues))
		b.addSDF(f.SDF())
		e.Sdfs = uint16(len(b.ues)) - e.Sdf
		macs := f.Packet().GetMacs()
		if len(macs) == 0 {
			b.addFrame(e)
		}
		for _, m := range macs {
			b.addFrame(e.addresses(m))
		}
	}
}

// addFrame adds an entry, which stands in the same table as those of IP packets.
func (b *listBuilder) addFrame(e upfEtherEntry) {
	if len(b.entries) <= listMax {
		b.entries = append(b.entries, *(*upfEntry)(unsafe.Pointer(&e)))
	}
}

// addSDF adds SDF filters of an Ethernet Packet Filter.
func (b *listBuilder) addSDF(filters []stages.Filter) {
	for i := range filters {
		f := &filters[i]
		for _, remote := range anyPorts(f.RemotePorts) {
			for _, local := range anyPorts(f.LocalPorts) {
				if len(b.ues) <= listMax {
					b.ues = append(b.ues, upfEntry{}.filter(f, remote, local))
				}
			}
		}
	}
}

// filter returns e with an Ethernet Packet Filter, but for its MAC addresses.
func (e upfEtherEntry) filter(f *api.EthernetFilter) upfEtherEntry {
	e.Ethertype = uint16(f.GetEthertype())
	if f.CTag != nil {
		e.Flags |= etherCTag
		e.C_tci, e.C_mask = tagBits(f.CTag)
	}
	if f.STag != nil {
		e.Flags |= etherSTag
		e.S_tci, e.S_mask = tagBits(f.STag)
	}
	return e
}

// tagBits returns the bits of a TCI that are compared, and which.
func tagBits(t *api.VLANTag) (tci, mask uint16) {
	if t.Vid != nil {
		tci, mask = tci|uint16(t.GetVid()), mask|0xfff
	}
	if t.Pcp != nil {
		tci, mask = tci|uint16(t.GetPcp())<<13, mask|7<<13
	}
	if t.Dei != nil {
		tci, mask = tci|uint16(t.GetDei())<<12, mask|1<<12
	}
	return tci, mask
}

// addresses returns e with a pair of MAC addresses or of ranges of them.
func (e upfEtherEntry) addresses(m *api.MACs) upfEtherEntry {
	e.Source = macRange(m.GetSource(), m.GetSourceUpper())
	e.Destination = macRange(m.GetDestination(), m.GetDestinationUpper())
	return e
}

func macRange(first, last []byte) [2]uint64 {
	switch {
	case len(first) == 0:
		return [2]uint64{0, lastMAC}
	case len(last) == 0:
		last = first
	}
	return [2]uint64{macNumber(first), macNumber(last)}
}

// macNumber is a MAC address as the programs compare it.
func macNumber(m []byte) uint64 {
	var b [8]byte
	copy(b[2:], m)
	return binary.BigEndian.Uint64(b[:])
}
