package n4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Records are what a [Store] keeps of this package. Each begins with a version;
// numbers are big endian, strings and lists are behind their length in one or
// two octets.
const recordVersion = 1

// associationVersion is that of associations. Those of version 1 end before lost.
const associationVersion = 2

// errRecord is what a record that cannot be read wraps.
var errRecord = errors.New("not a record of this version")

// maxOthers is how many Alternative SMF IP Addresses of an association are used.
const maxOthers = 16

// record is the association as it is kept, with its Alternative SMF IP
// Addresses. Its owner number is the record's id.
func (a *association) record(others []netip.Addr) []byte {
	b := []byte{associationVersion}
	b = appendShort(b, a.node.addr.AsSlice())
	b = appendShort(b, []byte(a.node.fqdn))
	b = appendShort(b, a.addr.AsSlice())
	b = binary.BigEndian.AppendUint64(b, uint64(a.since.UnixNano()))
	b = binary.BigEndian.AppendUint32(b, a.recovery.Load())
	b = binary.BigEndian.AppendUint32(b, a.features.Load())
	b = appendShort(b, []byte(a.smfSet()))
	b = append(b, byte(len(others)))
	for _, o := range others {
		b = appendShort(b, o.AsSlice())
	}
	return binary.BigEndian.AppendUint32(b, uint32(a.lost))
}

// read reads a record of kind KindAssociation into a, which is new.
func (a *association) read(owner uint32, record []byte) error {
	r := recordReader{b: record}
	v := r.u8()
	if v != recordVersion && v != associationVersion {
		return fmt.Errorf("association %d of version %d: %w", owner, v, errRecord)
	}
	a.owner = owner
	a.node = nodeKey{addr: r.addr(), fqdn: string(r.short())}
	a.addr = r.addr()
	a.since = time.Unix(0, int64(r.u64())).UTC()
	a.recovery.Store(r.u32())
	a.features.Store(r.u32())
	a.setSMFSet(string(r.short()))
	n := int(r.u8())
	for range min(n, maxOthers) {
		a.others = append(a.others, r.addr())
	}
	if v == associationVersion {
		a.lost = pfcp.TimeStamp(r.u32())
	}
	switch {
	case r.bad || len(r.b) > 0 || n > maxOthers:
		return fmt.Errorf("association %d of %d octets: %w", owner, len(record), errRecord)
	case a.node.addr.IsValid() == (a.node.fqdn != ""), !a.addr.IsValid(), owner == 0:
		return fmt.Errorf("association %d of node %q at %v: %w", owner, a.node, a.addr, errRecord)
	}
	return nil
}

// recoveryRecord is the Recovery Time Stamp as it is kept.
func recoveryRecord(t pfcp.TimeStamp) []byte {
	return binary.BigEndian.AppendUint32([]byte{recordVersion}, uint32(t))
}

func readRecovery(record []byte) (pfcp.TimeStamp, error) {
	r := recordReader{b: record}
	if v, t := r.u8(), r.u32(); v == recordVersion && !r.bad && len(r.b) == 0 {
		return pfcp.TimeStamp(t), nil
	}
	return 0, fmt.Errorf("Recovery Time Stamp %x: %w", record, errRecord)
}

// appendShort appends up to 255 octets behind their number.
func appendShort(b, v []byte) []byte {
	v = v[:min(len(v), 255)]
	return append(append(b, byte(len(v))), v...)
}

// recordReader takes fields off a record. Once a field is beyond the end, bad is
// set and the rest reads as zero.
type recordReader struct {
	b   []byte
	bad bool
}

func (r *recordReader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *recordReader) u8() uint8     { return r.take(1)[0] }
func (r *recordReader) u16() uint16   { return binary.BigEndian.Uint16(r.take(2)) }
func (r *recordReader) u32() uint32   { return binary.BigEndian.Uint32(r.take(4)) }
func (r *recordReader) u64() uint64   { return binary.BigEndian.Uint64(r.take(8)) }
func (r *recordReader) short() []byte { return r.take(int(r.u8())) }

// addr reads an address behind its length; none if that is 0.
func (r *recordReader) addr() netip.Addr {
	v := r.short()
	a, ok := netip.AddrFromSlice(v)
	r.bad = r.bad || !ok && len(v) > 0
	return a
}
