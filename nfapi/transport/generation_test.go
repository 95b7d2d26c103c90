package transport

import (
	"bytes"
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestGeneration: who is spoken to in the headers of 2024 answers in them, whatever its
// profile says, and what is longer than their length field goes in segments.
func TestGeneration(t *testing.T) {
	old, current := opened(t, P7Config{Profile: nfapi.OAI2024}), opened(t, P7Config{Profile: nfapi.OAI2025})
	atOld, atCurrent := received(t, old), received(t, current)
	for range 2 {
		if err := errors.Join(old.Send(current.LocalAddr(), 1, &nfapi.SlotIndication{SFN: 5, Slot: 6}, 0), old.Flush()); err != nil {
			t.Fatal(err)
		}
		if m := next(t, atCurrent); m.profile != nfapi.OAI2024 || len(m.body) != 4 {
			t.Errorf("got %+v", m)
		}
		m := &nfapi.TXDataRequest{}
		for i := range 2 {
			m.PDUs = append(m.PDUs, nfapi.TXDataPDU{PDUIndex: uint16(i), TLVs: []nfapi.TXDataTLV{{Length: 50_000, Payload: make([]byte, 50_000)}}})
		}
		if err := errors.Join(current.Send(old.LocalAddr(), 1, m, 0), current.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := next(t, atOld); !bytes.Equal(got.body, bodyOf(t, nfapi.OAI2024, m)) {
			t.Errorf("got %d octets, want a TX_DATA.request of 2024 of more than 65535", len(got.body))
		}
	}
}

// TestGenerationStays: two ends that each have heard the other in its own generation, as
// when their first messages cross, do not follow each other for ever; and what P5 has told
// counts until the peer is heard.
func TestGenerationStays(t *testing.T) {
	f := newFeed(t, P7Config{Profile: nfapi.OAI2025})
	header := func(g nfapi.Generation) []byte {
		b := make([]byte, 64)
		h := nfapi.Header{Generation: g, PhyID: 1}
		n, err := nfapi.OAI2025.EncodeP7(&h, &nfapi.SlotIndication{}, b)
		if err != nil {
			t.Fatal(err)
		}
		return b[:n]
	}
	speaks := func(want nfapi.Generation) {
		t.Helper()
		if got := f.target(peerOne, 1).generation; got != want {
			t.Errorf("answers are of generation %v, want %v", got, want)
		}
	}
	f.Expect(peerOne, nfapi.OAI2024)
	speaks(nfapi.Gen2024)
	f.give(peerOne, header(nfapi.Gen2025))
	speaks(nfapi.Gen2025)
	f.give(peerOne, header(nfapi.Gen2024))
	speaks(nfapi.Gen2025)
	if len(f.got) != 2 {
		t.Errorf("got %d messages, want 2: headers of both are understood", len(f.got))
	}
	f.Admit(peerOne) // it may have been started anew
	f.takeAdmitted()
	f.give(peerOne, header(nfapi.Gen2024))
	speaks(nfapi.Gen2024)

	a := newFeed(t, P7Config{Profile: nfapi.Aerial})
	a.give(peerOne, header(nfapi.Gen2025))
	if s := a.Stats(); len(a.got) != 0 || s.Malformed != 1 {
		t.Errorf("got %d messages of OpenAirInterface for Aerial, %d malformed", len(a.got), s.Malformed)
	}
}
