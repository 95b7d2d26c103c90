// Package dci writes and reads the downlink control information of a UE: formats 1_1,
// which assigns a PDSCH, and 0_1, which grants a PUSCH.
//
// The fields of a format and their widths follow from the configuration of the cell, which both
// ends have: one bandwidth part as wide as the carrier, resource allocation of type 1, no second
// codeword, no cross-carrier scheduling, no CBG, a HARQ codebook of type 1 (semi-static), PUSCH by
// a non-coherent codebook. The PUCCH resource indicator selects among the UE's own PUCCH resources.
//
// The bits are a number, its highest bit the first of the fields: [nfapi.DCI] has that
// number with its lowest octet first.
//
// Source: TS 38.212 V18, 7.3.1.1.2 (format 0_1) and 7.3.1.2.2 (format 1_1).
package dci

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// Errors of reading; match them with [errors.Is].
var (
	ErrSize   = errors.New("another size")
	ErrFormat = errors.New("another format")
	ErrValue  = errors.New("no such value")
)

// Downlink is a DCI of format 1_1: an assignment of a PDSCH.
type Downlink struct {
	HARQ     uint8 // process, 0 to 15
	NDI      uint8 // 0 or 1
	RV       uint8 // 0 to 3
	MCS      uint8 // 0 to 31
	PRBStart int
	PRBs     int
	Symbols  grid.Symbols // those of the slot that it is in
	K1       int          // slots to the feedback, one of [grid.Grid.K1s]
	PUCCH    uint8        // resource of the feedback, 0 to 7
	TPC      uint8        // power of the PUCCH, 0 to 3; 1 is 0 dB
}

// Uplink is a DCI of format 0_1: a grant of a PUSCH, in the symbols that its slot has.
type Uplink struct {
	HARQ     uint8
	NDI      uint8
	RV       uint8
	MCS      uint8
	PRBStart int
	PRBs     int
	K2       int   // slots to the PUSCH
	DAI      uint8 // 1: the PUSCH is to carry the slot's feedback
	TPC      uint8 // power of the PUSCH, 0 to 3; 1 is 0 dB
}

// Formats are the formats of a cell.
type Formats struct {
	grid  *grid.Grid
	riv   int            // bits of the frequency domain resource assignment
	pdsch []grid.Symbols // what the time domain resource assignment chooses from
	tdra  int            // its bits
	k1    int            // bits of the feedback timing
	codes precoding
}

// precoding is what a PUSCH's precoding and antenna ports look like for a number of
// layers, with as many antenna ports as there are (4 for 3 layers).
type precoding struct {
	bits, index int // precoding information and number of layers
	uplink      int // antenna ports of a PUSCH, 3 bits
	downlink    int // antenna ports of a PDSCH, 4 bits
}

// precodings are those for 1 to 4 layers: two CDM groups without data, the first
// ports. Source: TS 38.212 V18, tables 7.3.1.1.2-2 to -5 (codebookSubset nonCoherent),
// 7.3.1.1.2-8 to -11 and 7.3.1.2.2-1.
var precodings = [4]precoding{
	{bits: 0, index: 0, uplink: 2, downlink: 3},
	{bits: 2, index: 2, uplink: 1, downlink: 7},
	{bits: 4, index: 10, uplink: 0, downlink: 9},
	{bits: 4, index: 11, uplink: 0, downlink: 10},
}

const k2Bits = 4

// New makes the formats of a grid.
func New(g *grid.Grid) *Formats {
	f := &Formats{grid: g, riv: bits.Len(uint(g.PRBs*(g.PRBs+1)/2 - 1)), codes: precodings[g.Layers-1], pdsch: g.PDSCHs()}
	f.tdra = bits.Len(uint(len(f.pdsch) - 1))
	f.k1 = bits.Len(uint(len(g.K1s) - 1))
	return f
}

// PutDownlink writes the assignment into d: payload and size, nothing else.
//
// Errors: [ErrValue] for what the format cannot say; d is as it was.
func (f *Formats) PutDownlink(d *nfapi.DCI, m *Downlink) error {
	tdra, k1 := slices.Index(f.pdsch, m.Symbols), slices.Index(f.grid.K1s, m.K1)
	if tdra < 0 || k1 < 0 {
		return fmt.Errorf("dci: symbols %d to %d with k1 %d: %w", m.Symbols.Start, m.Symbols.Start+m.Symbols.Length-1, m.K1, ErrValue)
	}
	if err := f.checkPRBs(m.PRBStart, m.PRBs); err != nil {
		return err
	}
	var w writer
	w.put(1, 1) // identifier: downlink
	w.put(f.RIV(m.PRBStart, m.PRBs), f.riv)
	w.put(tdra, f.tdra)
	w.put(int(m.MCS), 5)
	w.put(int(m.NDI), 1)
	w.put(int(m.RV), 2)
	w.put(int(m.HARQ), 4)
	w.put(int(m.TPC), 2)
	w.put(int(m.PUCCH), 3)
	w.put(k1, f.k1)
	w.put(f.codes.downlink, 4)
	w.put(0, 2) // no SRS request
	w.put(0, 1) // DMRS sequence
	return w.end(d)
}

// Downlink reads an assignment.
//
// Errors: [ErrSize], [ErrFormat] if it is a grant, [ErrValue] for a field with a value that is not
// valid in this cell.
func (f *Formats) Downlink(d *nfapi.DCI) (Downlink, error) {
	r, err := f.begin(d, 1, f.DownlinkBits())
	if err != nil {
		return Downlink{}, err
	}
	var m Downlink
	m.PRBStart, m.PRBs = f.fromRIV(&r)
	if tdra := r.get(f.tdra); tdra < len(f.pdsch) {
		m.Symbols = f.pdsch[tdra]
	} else {
		r.bad = true
	}
	m.MCS, m.NDI, m.RV, m.HARQ = uint8(r.get(5)), uint8(r.get(1)), uint8(r.get(2)), uint8(r.get(4))
	m.TPC, m.PUCCH = uint8(r.get(2)), uint8(r.get(3))
	if k1 := r.get(f.k1); k1 < len(f.grid.K1s) {
		m.K1 = f.grid.K1s[k1]
	} else {
		r.bad = true
	}
	r.expect(f.codes.downlink, 4)
	r.expect(0, 3)
	return m, r.end("1_1")
}

// PutUplink writes the grant into d: payload and size, nothing else.
//
// Errors: [ErrValue] for what the format cannot say; d is as it was.
func (f *Formats) PutUplink(d *nfapi.DCI, m *Uplink) error {
	k2 := m.K2 - f.grid.MinK2
	if k2 < 0 || k2 >= grid.K2s {
		return fmt.Errorf("dci: k2 of %d slots, there are %d to %d: %w", m.K2, f.grid.MinK2, f.grid.MinK2+grid.K2s-1, ErrValue)
	}
	if err := f.checkPRBs(m.PRBStart, m.PRBs); err != nil {
		return err
	}
	var w writer
	w.put(0, 1) // identifier: uplink
	w.put(f.RIV(m.PRBStart, m.PRBs), f.riv)
	w.put(k2, k2Bits)
	w.put(int(m.MCS), 5)
	w.put(int(m.NDI), 1)
	w.put(int(m.RV), 2)
	w.put(int(m.HARQ), 4)
	w.put(int(m.DAI), 1)
	w.put(int(m.TPC), 2)
	w.put(f.codes.index, f.codes.bits)
	w.put(f.codes.uplink, 3)
	w.put(0, 2) // no SRS request
	w.put(0, 1) // DMRS sequence
	w.put(1, 1) // UL-SCH indicator: it carries data
	return w.end(d)
}

// Uplink reads a grant. Its errors are those of [Formats.Downlink].
func (f *Formats) Uplink(d *nfapi.DCI) (Uplink, error) {
	r, err := f.begin(d, 0, f.UplinkBits())
	if err != nil {
		return Uplink{}, err
	}
	var m Uplink
	m.PRBStart, m.PRBs = f.fromRIV(&r)
	m.K2 = f.grid.MinK2 + r.get(k2Bits)
	m.MCS, m.NDI, m.RV, m.HARQ = uint8(r.get(5)), uint8(r.get(1)), uint8(r.get(2)), uint8(r.get(4))
	m.DAI, m.TPC = uint8(r.get(1)), uint8(r.get(2))
	r.expect(f.codes.index, f.codes.bits)
	r.expect(f.codes.uplink, 3)
	r.expect(1, 4)
	return m, r.end("0_1")
}

// DownlinkBits is how long a DCI of format 1_1 is.
func (f *Formats) DownlinkBits() int {
	return 1 + f.riv + f.tdra + 5 + 1 + 2 + 4 + 2 + 3 + f.k1 + 4 + 2 + 1
}

// UplinkBits is how long a DCI of format 0_1 is.
func (f *Formats) UplinkBits() int {
	return 1 + f.riv + k2Bits + 5 + 1 + 2 + 4 + 1 + 2 + f.codes.bits + 3 + 2 + 1 + 1
}

func (f *Formats) begin(d *nfapi.DCI, identifier, size int) (reader, error) {
	if int(d.PayloadSizeBits) != size {
		return reader{}, fmt.Errorf("dci: %d bits, it has %d: %w", d.PayloadSizeBits, size, ErrSize)
	}
	r := reader{value: binary.LittleEndian.Uint64(d.Payload[:]), left: size}
	if got := r.get(1); got != identifier {
		return r, fmt.Errorf("dci: identifier %d: %w", got, ErrFormat)
	}
	return r, nil
}
