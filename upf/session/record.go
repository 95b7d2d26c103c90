package session

import (
	"encoding/binary"
	"fmt"
)

//go:generate go run ./internal/genfields

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
// Which number a field is says its tag. A new field gets the number behind the last
// one of its list; one that means something else needs another version.
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
	s.write(w)
}

// readRecord makes s what the record says, in the memory that s has. It shares
// none with the record. Errors: errRecord.
func readRecord(s *Session, seid uint64, record []byte, r *reader) error {
	if len(record) < recordHeader || record[0] != recordVersion {
		return fmt.Errorf("%d octets, beginning %.1x: %w", len(record), record, errRecord)
	}
	*r = reader{b: record[recordHeader:], names: r.names[:0], texts: r.texts}
	s.SEID, s.Owner, s.CP.SEID = seid, recordOwner(record), recordCP(record)
	s.read(r)
	if r.bad || len(r.b) > 0 || s.traits() != recordTraits(record) {
		return fmt.Errorf("SEID %#x, %d octets: %w", seid, len(record), errRecord)
	}
	return nil
}

// maxRecordRules is how many rules of a kind a record may have. It is more than
// can be configured, and keeps a record that somebody else has made from taking
// memory without measure.
const maxRecordRules = 1 << 12

// reset makes s empty, and keeps its memory.
func (s *Session) reset() {
	*s = Session{
		CSIDs: s.CSIDs[:0], PDRs: s.PDRs[:0], FARs: s.FARs[:0], QERs: s.QERs[:0], URRs: s.URRs[:0],
		BARs: s.BARs[:0], Endpoints: s.Endpoints[:0], Reports: s.Reports[:0],
	}
}
