package nfapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSON decodes a whole P5 or P7 message, header included, into its JSON view: every
// field, with the names that OpenAirInterface has, octet strings in hex. A wrong
// checksum is no error but said (header.checksum_state). A segment of a message has
// its octets in the field segment; a message of unknown type in body.
// [Profile.FromJSON] gives the same octets back.
func (p Profile) JSON(plane Plane, b []byte) ([]byte, error) {
	h, body, err := p.parse(plane, b)
	if err != nil {
		return nil, err
	}
	state, want := ChecksumAbsent, uint32(0)
	if plane == P7 {
		state, want = p.Verify(&h, b)
	}
	if plane == P7 && !h.Whole() {
		w := &jsonWriter{}
		w.open('{')
		w.header(plane, &h, state, want)
		w.hex("segment", body)
		w.end()
		return w.b, nil
	}
	m := NewMessage(h.MessageID)
	if err := m.DecodeBody(p, body); err != nil {
		return nil, err
	}
	return p.View(plane, &h, state, want, m), nil
}

// View is the JSON view of a message that has been decoded. checksum is what
// [Profile.Verify] said.
func (p Profile) View(plane Plane, h *Header, checksum ChecksumState, expected uint32, m Message) []byte {
	w := &jsonWriter{}
	w.open('{')
	w.header(plane, h, checksum, expected)
	m.toJSON(w, p)
	w.end()
	return w.b
}

func (w *jsonWriter) header(plane Plane, h *Header, state ChecksumState, want uint32) {
	w.object("header")
	w.text("generation", h.Generation.String())
	w.text("message", h.MessageID.String())
	if h.Generation == GenFAPI {
		w.uint("num_msg", uint64(h.Messages))
		w.uint("opaque", uint64(h.PhyID))
	} else {
		w.uint("phy_id", uint64(h.PhyID))
	}
	w.uint("message_id", uint64(h.MessageID))
	w.uint("message_length", uint64(h.Length))
	switch {
	case h.Generation == GenFAPI:
	case plane == P5:
		w.uint("spare", uint64(h.Spare))
	default:
		w.uint("m_segment_sequence", uint64(h.Segment))
		w.uint("checksum", uint64(h.Checksum))
		w.text("checksum_state", state.String())
		w.uint("checksum_expected", uint64(want))
		w.uint("transmit_timestamp", uint64(h.Timestamp))
	}
	w.end()
}

// FromJSON encodes a JSON view, and is the inverse of [Profile.JSON]. Lengths and
// counts of elements are computed, and what is given of them not looked at; the
// checksum is written as it is given. A field that is missing is 0, one that is not
// known an error.
func (p Profile) FromJSON(plane Plane, text []byte) ([]byte, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	switch err := d.Decode(&fields); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("nfapi: json: there is no message: no text, or blanks")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("nfapi: json: the message ends after %d octets: %w", len(text), err)
	case err != nil:
		return nil, fmt.Errorf("nfapi: json: %w", err)
	case fields == nil:
		return nil, errors.New("nfapi: json: null is no message")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("nfapi: json: more than one value")
	}
	var failed error
	r := &jsonReader{fields: fields, err: &failed}
	h := p.readHeader(r.object("header"), plane)
	if failed != nil {
		return nil, failed
	}
	var m Message
	if _, segment := fields["segment"]; segment && plane == P7 {
		m = &Opaque{ID: h.MessageID, Body: r.hex("segment")}
	} else {
		m = NewMessage(h.MessageID)
		m.fromJSON(r, p)
	}
	if r.done(); failed != nil {
		return nil, failed
	}
	b := make([]byte, MaxMessage)
	n, err := p.encode(plane, &h, m, b)
	if err != nil {
		return nil, err
	}
	if h.Generation == Gen2024 && n > 0xffff {
		return nil, tooLong2024(n)
	}
	return b[:n], nil
}

func (p Profile) readHeader(r *jsonReader, plane Plane) Header {
	h := Header{Generation: p.Generation(), Messages: 1}
	if name := r.text("generation"); name != "" {
		found := false
		for i, n := range generationNames {
			if n == name {
				h.Generation, found = Generation(i), true
			}
		}
		if !found {
			r.fail("generation", "%q: there are %v", name, generationNames)
		}
	}
	if v, ok := r.fields["num_msg"]; ok {
		delete(r.fields, "num_msg")
		h.Messages = uint8(r.number("num_msg", v, 8))
	}
	h.PhyID = uint16(r.uint("phy_id", 16))
	if _, ok := r.fields["opaque"]; ok {
		h.PhyID = uint16(r.uint("opaque", 8))
	}
	h.MessageID = MessageID(r.uint("message_id", 16))
	if plane == P5 {
		h.Spare = uint16(r.uint("spare", 16))
	}
	h.Segment = uint16(r.uint("m_segment_sequence", 16))
	h.Checksum = uint32(r.uint("checksum", 32))
	h.Timestamp = uint32(r.uint("transmit_timestamp", 32))
	for _, told := range []string{"message", "message_length", "checksum_state", "checksum_expected"} {
		r.take(told)
	}
	r.done()
	return h
}

func (m *Opaque) toJSON(w *jsonWriter, _ Profile)   { w.hex("body", m.Body) }
func (m *Opaque) fromJSON(r *jsonReader, _ Profile) { m.Body = r.hex("body") }

func (m *BeamformingTX) toJSON(w *jsonWriter) {
	w.beams("dig_bf_interfaces", m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, 1)
}

func (m *BeamformingRX) toJSON(w *jsonWriter) {
	w.beams("dig_bf_interface", m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, 0)
}

// beams writes the indices PRG by PRG; first is how many come before the beams of
// each.
func (w *jsonWriter) beams(key string, prgs, size uint16, interfaces uint8, list []uint16, first int) {
	w.uint("num_prgs", uint64(prgs))
	w.uint("prg_size", uint64(size))
	w.uint(key, uint64(interfaces))
	w.array("prgs")
	each := first + int(interfaces)
	for i := range len(list) / max(each, 1) { // none if a PRG has nothing: no octet bounds how many
		w.element()
		prg := list[i*each : (i+1)*each]
		if first == 1 {
			w.uint("pm_idx", uint64(prg[0]))
		}
		writeNumbers(w, "beam_idx", prg[first:])
		w.end()
	}
	w.endArray()
}

func (m *BeamformingTX) fromJSON(r *jsonReader) {
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices = r.beams("dig_bf_interfaces", true)
}

func (m *BeamformingRX) fromJSON(r *jsonReader) {
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices = r.beams("dig_bf_interface", false)
}

func (r *jsonReader) beams(key string, pmIdx bool) (prgs, size uint16, interfaces uint8, list []uint16) {
	prgs = uint16(r.uint("num_prgs", 16))
	size = uint16(r.uint("prg_size", 16))
	interfaces = uint8(r.uint(key, 8))
	for i, v := range r.list("prgs") {
		o := r.inner(fmt.Sprintf("prgs[%d]", i), v)
		if pmIdx {
			list = append(list, uint16(o.uint("pm_idx", 16)))
		}
		list = append(list, readSlice[uint16](o, "beam_idx")...)
		o.done()
	}
	r.done()
	return prgs, size, interfaces, list
}

func writeDCIPayload(w *jsonWriter, m *DCI) {
	w.hex("Payload_memory_order", m.Payload[:min((int(m.PayloadSizeBits)+7)/8, DCIPayloadLen)])
	if m.PayloadPadding != 0 {
		w.uint("Payload_padding", uint64(m.PayloadPadding))
	}
}

func readDCIPayload(r *jsonReader, m *DCI) {
	b := r.hex("Payload_memory_order")
	if n := (int(m.PayloadSizeBits) + 7) / 8; len(b) != n || n > DCIPayloadLen {
		r.fail("Payload_memory_order", "got %d octets for %d bits, at most %d are possible", len(b), m.PayloadSizeBits, 8*DCIPayloadLen)
	}
	copy(m.Payload[:], b)
	m.PayloadPadding = uint8(r.uint("Payload_padding", 8))
}

func writeTXValue(w *jsonWriter, m *TXDataTLV) {
	if m.Tag == TXDataOffset {
		w.uint("offset", uint64(m.Offset))
		return
	}
	w.hex("payload", m.Payload)
	if m.Padding != [3]byte{} {
		w.hex("padding", m.Padding[:])
	}
}

func readTXValue(r *jsonReader, m *TXDataTLV) {
	m.Offset = uint32(r.uint("offset", 32))
	m.Payload = r.hex("payload")
	r.octets("padding", m.Padding[:])
}

func writeSRSValue(w *jsonWriter, m *SRSReportTLV) { writeNumbers(w, "value", m.Value) }

func readSRSValue(r *jsonReader, m *SRSReportTLV) { m.Value = readSlice[uint32](r, "value") }
