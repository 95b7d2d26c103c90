package vector

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// emit makes the packet that leaves, in the buffer in which it came.
func (w *Worker) emit(k *work) {
	r, p, u := k.rule, k.packet, k.user()
	p.Flow = k.flow(u)
	if !r.has(tunnel) {
		k.hop(u)
		p.Start, p.End = int(k.at), int(k.at+k.size)
		p.Outer, p.Way, p.Frame = nil, int(r.way), false
		w.add(p)
		return
	}
	if k.header == 0 {
		k.hop(u)
	}
	p.Outer, p.Source, p.Port = r.outer, 0xc000|uint16(p.Flow>>18), gtpu.Port
	p.DSCP = r.outerDSCP(k, u)
	if k.header == 0 && r.has(plain) {
		w.makeRoom(k, lenOptional+4)
		p.Start, p.End = r.putHeader(p.Buf, int(k.at), int(k.size)), int(k.at+k.size)
	} else {
		w.putHeader(k)
	}
	if r.has(own) {
		w.again(p)
		return
	}
	w.add(p)
}

// hop takes one off TTL or Hop Limit. A wrong header checksum stays wrong.
// Source: RFC 1624, equation 3.
func (k *work) hop(u []byte) {
	if k.v6 {
		u[7]--
		return
	}
	u[8]--
	check := uint32(binary.BigEndian.Uint16(u[10:]))
	if check >= 0xfeff { // as one's complement sums go round
		check = check + 1
	}
	binary.BigEndian.PutUint16(u[10:], uint16(check+0x100))
}

func (r *rule) outerDSCP(k *work, u []byte) byte {
	if r.has(hasDSCP) {
		return r.dscp
	}
	dscp := u[1] >> 2
	if k.v6 {
		dscp = byte(binary.BigEndian.Uint16(u)>>6) & 0x3f
	}
	if r.has(plain) {
		return dscp
	}
	return r.model[0].OuterDSCP(dscp)
}

// putHeader puts a GTP-U header in front of the user packet at octet at, and returns
// where it begins.
//
// Source: TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2.
func (r *rule) putHeader(buf []byte, at, size int) int {
	if !r.has(hasQFI) {
		b := buf[at-inet.LenGTPU : at]
		binary.BigEndian.PutUint32(b, flagsG<<24|gtpu.GPDU<<16|uint32(size))
		binary.BigEndian.PutUint32(b[4:], r.teid)
		return at - inet.LenGTPU
	}
	b := buf[at-lenOptional-4 : at]
	kind := uint32(gtpu.PDUTypeUplink)
	if r.has(toAccess) {
		kind = gtpu.PDUTypeDownlink
	}
	binary.BigEndian.PutUint32(b, (flagsG|flagE)<<24|gtpu.GPDU<<16|uint32(size+8))
	binary.BigEndian.PutUint32(b[4:], r.teid)
	binary.BigEndian.PutUint32(b[8:], gtpu.ExtPDUSessionContainer)
	binary.BigEndian.PutUint32(b[12:], 1<<24|kind<<20|uint32(r.qfi)<<8)
	return at - lenOptional - 4
}

// putHeader is the same of a packet that has rare marks, or came with a header of which
// something goes on.
func (w *Worker) putHeader(k *work) {
	p := k.packet
	came := gtpu.Header(nil)
	if k.header != 0 {
		came = gtpu.Header(p.Buf[p.Start:k.at])
	}
	h := k.rule.model[0].AppendHeader(w.header[:0], came, int(k.size))
	w.makeRoom(k, len(h))
	p.Start, p.End = int(k.at)-len(h), int(k.at+k.size)
	copy(p.Buf[p.Start:], h)
}
