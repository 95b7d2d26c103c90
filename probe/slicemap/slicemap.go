// Package slicemap maps packets to slices: by the session data seen on N4, or by a file.
//
//	slices:
//	  - name: embb                 # by S-NSSAI and DNN, as N4 tells them
//	    sst: 1
//	    sd: "010203"
//	    dnn: internet
//	  - name: voice                # by QFI, as N4 tells it
//	    qfis: [5]
//	  - name: meters               # by what is in the packets; needs no N4
//	    upf: upf3
//	    teids: [0x3000-0x3fff, 77]
//	    ues: [10.45.0.0/16, "2001:db8:60::/48"]
//
// An entry says of sessions (sst, sd, dnn, qfis: all that is given has to hold) or
// of packets (teids, ues: one of them has to hold) what they have in common, and may
// be for one UPF alone. What the file says of packets comes before what N4 says of
// their session, and of several entries the first that holds counts. What none holds
// for has the slice that N4 names, or none. Where an entry has qfis and no sst or dnn,
// uplink packets without other information are classified by their QFI.
package slicemap

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/probe"
)

// NoSD is the Slice Differentiator of an S-NSSAI without one.
// Source: TS 23.003 V18, 28.4.2.
const NoSD = 0xffffff

// Session is what N4 tells of the session that a key belongs to.
type Session struct {
	SST  uint8 // with HasSNSSAI
	SD   uint32
	DNN  string // empty: unknown
	QFIs uint64 // bit i: QFI i

	HasSNSSAI bool
}

// Map is a file of slices. The nil Map is that of no file.
type Map struct{ entries []entry }

// entry is one slice of a file.
type entry struct {
	slice probe.Slice
	upf   string // empty: any

	// Of sessions:
	sst   *uint8
	sd    *uint32
	dnn   string
	qfis  uint64
	teids []teidRange
	ues   []netip.Prefix
}

// teidRange is TEIDs from first to last.
type teidRange struct{ first, last uint32 }

// Static is a key that a file says the slice of.
type Static struct {
	UPF   string // empty: every one
	Key   probe.Key
	Slice probe.Slice
}

// Slices returns the slices of the file, in its order, each name once.
func (m *Map) Slices() []probe.Slice {
	if m == nil {
		return nil
	}
	var list []probe.Slice
	for _, e := range m.entries {
		if !slices.ContainsFunc(list, func(s probe.Slice) bool { return s.Name == e.slice.Name }) {
			list = append(list, e.slice)
		}
	}
	return list
}

// Static returns what the file says of packets, in the order in which keys are to be
// learnt: of a key that is in two entries the first one's slice comes last.
func (m *Map) Static() []Static {
	if m == nil {
		return nil
	}
	var list []Static
	for _, e := range slices.Backward(m.entries) {
		for qfi := uint8(0); e.sst == nil && e.dnn == "" && qfi <= maxQFI; qfi++ {
			if e.qfis>>qfi&1 != 0 {
				list = append(list, Static{UPF: e.upf, Key: probe.Key{QFI: qfi}, Slice: e.slice})
			}
		}
		for _, ue := range e.ues {
			list = append(list, Static{UPF: e.upf, Key: probe.Key{UE: ue}, Slice: e.slice})
		}
		for _, r := range e.teids {
			for teid := uint64(r.first); teid <= uint64(r.last); teid++ {
				list = append(list, Static{UPF: e.upf, Key: probe.Key{TEID: uint32(teid)}, Slice: e.slice})
			}
		}
	}
	return list
}

// Has reports whether the file says of packets of the key, a TEID or UE addresses, which
// slice they belong to, so that nothing need be learnt of it.
func (m *Map) Has(upf string, k probe.Key) bool {
	return m != nil && slices.ContainsFunc(m.entries, func(e entry) bool { return e.at(upf) && e.has(k) })
}

// Slice returns the slice of a session: that of the first entry which holds for it,
// else one named after S-NSSAI and DNN, such as "1-010203/internet". Of a session that
// N4 says neither of it is the slice "".
func (m *Map) Slice(upf string, s Session) probe.Slice {
	if m != nil {
		for _, e := range m.entries {
			if e.at(upf) && e.holds(s) {
				return e.slice
			}
		}
	}
	return named(s)
}

// named is the slice of a session that no entry holds for.
func named(s Session) probe.Slice {
	slice := probe.Slice{Name: s.DNN, SD: NoSD, DNN: s.DNN}
	if !s.HasSNSSAI {
		return slice
	}
	slice.SST, slice.SD = s.SST, s.SD
	slice.Name = fmt.Sprint(s.SST)
	if s.SD != NoSD {
		slice.Name += fmt.Sprintf("-%06x", s.SD)
	}
	if s.DNN != "" {
		slice.Name += "/" + s.DNN
	}
	return slice
}

func (e *entry) at(upf string) bool { return e.upf == "" || e.upf == upf }

// has reports whether packets with the key are of the entry.
func (e *entry) has(k probe.Key) bool {
	if k.TEID != 0 {
		return slices.ContainsFunc(e.teids, func(r teidRange) bool { return r.first <= k.TEID && k.TEID <= r.last })
	}
	return k.UE.IsValid() && slices.ContainsFunc(e.ues, func(p netip.Prefix) bool {
		return p.Bits() <= k.UE.Bits() && p.Contains(k.UE.Addr())
	})
}

// holds reports whether the session is of the entry.
func (e *entry) holds(s Session) bool {
	switch {
	case !e.ofSessions():
		return false
	case e.sst != nil && (!s.HasSNSSAI || s.SST != *e.sst):
		return false
	case e.sd != nil && s.SD != *e.sd:
		return false
	case e.dnn != "" && s.DNN != e.dnn:
		return false
	}
	return e.qfis == 0 || e.qfis&s.QFIs != 0
}

func (e *entry) ofSessions() bool { return e.sst != nil || e.dnn != "" || e.qfis != 0 }
