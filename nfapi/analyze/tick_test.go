package analyze

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestOutOfOrder: SLOT.indications that come after later ones are not missing, and the findings
// do not say so.
func TestOutOfOrder(t *testing.T) {
	r := newRecording(t)
	const slots = 300
	r.ticks(slots, 40, 60, 61, 62, 100, 101)
	late := func(i, at int) {
		sfn, s := r.slot(i)
		r.send(toVNF, r.tick(at)+40*us, 0, &nfapi.SlotIndication{SFN: sfn, Slot: s})
	}
	late(40, 41)
	late(61, 63)
	late(60, 64)
	late(101, 102)
	late(101, 102) // and again
	late(62, 299)
	c := r.analysis(Options{SlotAhead: 4}).Cells[0]
	c.Ticks.Interval = nil
	if want := (Ticks{Count: slots, Missing: 1, Repeated: 1, Backwards: 5}); c.Ticks != want {
		t.Errorf("got %+v, want %+v", c.Ticks, want)
	}
	missing := 0
	for _, f := range c.Findings {
		if strings.Contains(f.Text, "missing") {
			missing++
			if f.Text != "1 SLOT.indications are missing before" {
				t.Errorf("got %q", f.Text)
			}
		}
	}
	if missing != 1 {
		t.Errorf("got %d findings of missing ones, want 1", missing)
	}
}

// TestCutOff: what a capture with a snap length has the header of is not lost, not missing and
// not decoded; what it has no header of may be any.
func TestCutOff(t *testing.T) {
	r := newRecording(t)
	const slots = 100
	r.ticks(slots, 50)
	for i := range slots - 10 {
		r.downlink(i, 100*us, 0)
	}
	whole := r.analysis(Options{SlotAhead: 4}).Cells[0]
	a, err := Read(bytes.NewReader(snapped(r.file(), 66)), Options{SlotAhead: 4})
	if err != nil || a.Seen() != nil {
		t.Fatal(err, a.Seen())
	}
	c := a.Cells[0]
	if a.CutOffMessages != 180 || a.CutOffPackets != 180 || c.CutOff != 180 || a.Undecoded != 0 || len(a.Notes) != 2 {
		t.Errorf("got %+v", a)
	}
	if c.Ticks.Count != slots-1 || c.Ticks.Missing != 1 || c.ToPNF != whole.ToPNF || c.ToVNF != whole.ToVNF || c.Broken != (Broken{}) || len(c.Requests) != 0 {
		t.Errorf("got %+v", c)
	}
	var text bytes.Buffer
	if err := a.Print(&text); err != nil || !strings.Contains(text.String(), "180 packets are cut off") || !strings.Contains(text.String(), "cut off: 180 messages") {
		t.Errorf("got %s, %v", &text, err)
	}
	for octets, want := range map[int]string{62: "no whole SLOT.indication: 279 packets are cut off", 50: "no whole SLOT.indication: 279 packets are cut off"} {
		a, err := Read(bytes.NewReader(snapped(r.file(), octets)), Options{})
		if err != nil || a.Seen() == nil || !strings.Contains(a.Seen().Error(), want) {
			t.Errorf("%d octets: got %v, %v, want %q", octets, err, a.Seen(), want)
		}
	}
}

// TestCutOffSegments: a message of which the capture has the headers of all three segments is not
// lost either.
func TestCutOffSegments(t *testing.T) {
	r := newRecording(t)
	r.segment = 700
	const slots = 100
	r.ticks(slots)
	for i := range slots - 10 {
		sfn, s := r.slot(i)
		r.send(toPNF, r.tick(i)+130*us, 20*us, &nfapi.TXDataRequest{SFN: sfn, Slot: s, PDUs: []nfapi.TXDataPDU{{
			PDUIndex: 7, TLVs: []nfapi.TXDataTLV{{Length: 1800, Payload: make([]byte, 1800)}},
		}}})
	}
	whole := r.analysis(Options{SlotAhead: 4})
	a, err := Read(bytes.NewReader(snapped(r.file(), 128)), Options{SlotAhead: 4})
	if err != nil || a.Seen() != nil {
		t.Fatal(err, a.Seen())
	}
	c := a.Cells[0]
	if a.CutOffPackets != 3*90 || c.Ticks.Missing != 0 || c.Ticks.Count != slots || c.ToPNF != whole.Cells[0].ToPNF || a.Undecoded != 0 || c.Broken != (Broken{}) {
		t.Errorf("got %+v, %+v, want to the PNF %+v", a, c, whole.Cells[0].ToPNF)
	}
}

// TestSeen: without a whole SLOT.indication nothing can be said, whatever else there is.
func TestSeen(t *testing.T) {
	ticks, requests := newRecording(t), newRecording(t)
	ticks.ticks(10, 50)
	for i := range 10 {
		requests.downlink(i, 100*us, 0)
	}
	for name, test := range map[string]struct {
		file []byte
		want string // empty: there is something to say
	}{
		"nothing":            {newRecording(t).file(), "no messages of P7"},
		"requests only":      {requests.file(), "no whole SLOT.indication"},
		"ticks only":         {ticks.file(), ""},
		"requests, cut off":  {snapped(requests.file(), 66), "no whole SLOT.indication: 20 packets are cut off"},
		"ticks and one more": {append(ticks.file(), snapped(requests.file(), 50)[24:]...), ""},
	} {
		a, err := Read(bytes.NewReader(test.file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Seen(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// snapped cuts the packets of a pcap file.
func snapped(file []byte, octets int) []byte {
	out := bytes.Clone(file[:24])
	for b := file[24:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		record := bytes.Clone(b[:16+min(n, octets)])
		binary.LittleEndian.PutUint32(record[8:], uint32(min(n, octets)))
		out, b = append(out, record...), b[16+n:]
	}
	return out
}
