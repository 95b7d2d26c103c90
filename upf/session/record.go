package session

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A session at rest is a record: what the manager keeps of it, and what a store
// keeps for a restart.
//
//	octet 0       version
//	octets 1-4    owner, little endian
//	octets 5-12   SEID of the CP function, little endian
//	octet 13      traits, so that some questions need no decoding
//	then          the session and its rules, each as a list of numbers of which
//	              those that are 0 take no room (writer.fields)
//
// A session has exactly one record, and a record that is not the one of any
// session is refused. The SEID is not in it: it is stored under that.
const (
	recordVersion = 1
	recordHeader  = 14
)

// trait is a bit of a record's octet 13.
type trait uint8

const (
	traitCSIDs        trait = 1 << iota // it belongs to connection sets
	traitApplications                   // a PDI names an application
	traitDeleted                        // only its last reports are left
	traitURRs                           // it has URRs
	traitInactivity                     // it has a User Plane Inactivity Timer
	traitReports                        // reports wait for their acknowledgement
)

func (s *Session) traits() (t trait) {
	if len(s.CSIDs) > 0 {
		t |= traitCSIDs
	}
	for i := range s.PDRs {
		if s.PDRs[i].PDI.ApplicationID != "" {
			t |= traitApplications
		}
	}
	if s.Deleted != 0 {
		t |= traitDeleted
	}
	if len(s.URRs) > 0 {
		t |= traitURRs
	}
	if s.InactivityTimer != 0 {
		t |= traitInactivity
	}
	if len(s.Reports) > 0 {
		t |= traitReports
	}
	return t
}

// recordOwner returns the owner of a record.
func recordOwner(b []byte) uint32 { return binary.LittleEndian.Uint32(b[1:]) }

// recordCP returns the CP function's SEID of a record.
func recordCP(b []byte) uint64 { return binary.LittleEndian.Uint64(b[5:]) }

// recordTraits returns the traits of a record.
func recordTraits(b []byte) trait { return trait(b[13]) }

// appendRecord appends the record of s to w.b.
func appendRecord(w *writer, s *Session) {
	w.names = w.names[:0]
	w.b = append(w.b, recordVersion)
	w.b = binary.LittleEndian.AppendUint32(w.b, s.Owner)
	w.b = binary.LittleEndian.AppendUint64(w.b, s.CP.SEID)
	w.b = append(w.b, byte(s.traits()))
	high, low := ipv6Numbers(s.CP.IPv6)
	w.fields([]uint64{
		ipv4Number(s.CP.IPv4), high, low, uint64(s.PDNType), snssaiNumber(s.SNSSAI), uint64(s.Slice),
		uint64(s.InactivityTimer), s.Inactivity.Seen, uint64(s.Inactivity.ActiveAt), pack(s.Inactivity.Told),
		uint64(len(s.CSIDs)), uint64(len(s.PDRs)), uint64(len(s.FARs)), uint64(len(s.QERs)), uint64(len(s.URRs)),
		uint64(len(s.BARs)), uint64(len(s.Endpoints)), uint64(len(s.Reports)), uint64(s.Deleted), pack(s.DNN != ""),
	})
	if s.DNN != "" {
		w.name(s.DNN)
	}
	for i := range s.CSIDs {
		w.csid(&s.CSIDs[i])
	}
	for i := range s.PDRs {
		w.pdr(&s.PDRs[i])
	}
	for i := range s.FARs {
		w.far(&s.FARs[i])
	}
	for i := range s.QERs {
		w.qer(&s.QERs[i])
	}
	for i := range s.URRs {
		w.urr(&s.URRs[i])
	}
	for i := range s.BARs {
		w.bar(&s.BARs[i])
	}
	for i := range s.Endpoints {
		w.endpoint(&s.Endpoints[i])
	}
	for i := range s.Reports {
		w.report(&s.Reports[i])
	}
}

// readRecord makes s what the record says, in the memory that s has. It shares
// none with the record. Errors: errRecord.
func readRecord(s *Session, seid uint64, record []byte, r *reader) error {
	if len(record) < recordHeader || record[0] != recordVersion {
		return fmt.Errorf("%d octets, beginning %.1x: %w", len(record), record, errRecord)
	}
	*r = reader{b: record[recordHeader:], names: r.names[:0], texts: r.texts}
	s.reset()
	s.SEID, s.Owner, s.CP.SEID = seid, recordOwner(record), recordCP(record)
	var v [20]uint64
	r.fields(v[:])
	s.CP.IPv4, s.CP.IPv6 = numberIPv4(r, v[0]), numbersIPv6(v[1], v[2])
	s.PDNType, s.SNSSAI = PDNType(narrow[uint8](r, v[3])), numberSNSSAI(r, v[4])
	s.Slice, s.InactivityTimer = narrow[uint32](r, v[5]), narrow[uint32](r, v[6])
	s.Inactivity = Inactivity{Seen: v[7], ActiveAt: int64(v[8])}
	unpack(r, v[9], &s.Inactivity.Told)
	s.Deleted = int64(v[18])
	var hasDNN bool
	if unpack(r, v[19], &hasDNN); hasDNN {
		s.DNN = r.name()
		r.bad = r.bad || s.DNN == ""
	}
	r.rules(s, v[10:18])
	if r.bad || len(r.b) > 0 || s.traits() != recordTraits(record) {
		return fmt.Errorf("SEID %#x, %d octets: %w", seid, len(record), errRecord)
	}
	return nil
}

// maxRecordRules is how many rules of a kind a record may have. It is more than
// can be configured, and keeps a record that somebody else has made from taking
// memory without measure.
const maxRecordRules = 1 << 12

// rules reads so many of each kind.
func (r *reader) rules(s *Session, n []uint64) {
	if slices.Max(n) > maxRecordRules {
		r.fail()
		return
	}
	for ; n[0] > 0 && !r.bad; n[0]-- {
		r.csid(next(&s.CSIDs))
	}
	for ; n[1] > 0 && !r.bad; n[1]-- {
		r.pdr(next(&s.PDRs))
	}
	for ; n[2] > 0 && !r.bad; n[2]-- {
		r.far(next(&s.FARs))
	}
	for ; n[3] > 0 && !r.bad; n[3]-- {
		r.qer(next(&s.QERs))
	}
	for ; n[4] > 0 && !r.bad; n[4]-- {
		r.urr(next(&s.URRs))
	}
	for ; n[5] > 0 && !r.bad; n[5]-- {
		r.bar(next(&s.BARs))
	}
	for ; n[6] > 0 && !r.bad; n[6]-- {
		r.endpoint(next(&s.Endpoints))
	}
	for ; n[7] > 0 && !r.bad; n[7]-- {
		r.report(next(&s.Reports))
	}
}

// reset makes s empty, and keeps its memory.
func (s *Session) reset() {
	*s = Session{
		CSIDs: s.CSIDs[:0], PDRs: s.PDRs[:0], FARs: s.FARs[:0], QERs: s.QERs[:0], URRs: s.URRs[:0],
		BARs: s.BARs[:0], Endpoints: s.Endpoints[:0], Reports: s.Reports[:0],
	}
}

// snssaiNumber is 0 for none.
func snssaiNumber(o Optional[SNSSAI]) uint64 {
	if !o.Present {
		return 0
	}
	return 1<<32 | uint64(o.Value.SST)<<24 | uint64(o.Value.SD&NoSD)
}

func numberSNSSAI(r *reader, v uint64) Optional[SNSSAI] {
	if v == 0 {
		return Optional[SNSSAI]{}
	}
	if v>>32 != 1 {
		r.fail()
	}
	return Some(SNSSAI{SST: uint8(v >> 24), SD: uint32(v) & NoSD})
}
