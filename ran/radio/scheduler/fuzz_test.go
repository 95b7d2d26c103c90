package scheduler_test

import (
	"encoding/binary"
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// octets hands out what a fuzzer made, and zeros behind its end.
type octets struct{ rest []byte }

func (o *octets) u8() uint8 {
	if len(o.rest) == 0 {
		return 0
	}
	v := o.rest[0]
	o.rest = o.rest[1:]
	return v
}

func (o *octets) bytes() []byte {
	n := min(int(o.u8()), len(o.rest))
	b := o.rest[:n]
	o.rest = o.rest[n:]
	return b
}

// indications are some that a stranger could send: near the truth, or far from it.
func (o *octets) indications(n slot.Number) *fapi.Indications {
	i := &fapi.Indications{}
	i.Reset(1, (n+20480+slot.Number(o.u8()%16)-12)%20480)
	rnti := func() uint16 { return 0x4601 + uint16(o.u8()%3) }
	switch o.u8() % 5 {
	case 0:
		i.Have = fapi.RACH
		i.RACH.PDUs = []nfapi.RACHOccasion{{Preambles: []nfapi.Preamble{{Index: o.u8() % 3}}}}
	case 1:
		i.Have = fapi.UCI
		i.UCI.UCIs = []nfapi.UCI{{Type: uint16(o.u8() % 4), Format01: nfapi.UCIFormat01{
			PDUBitmap: o.u8(), RNTI: rnti(), SR: nfapi.SRFormat01{Indication: o.u8()}, HARQ: nfapi.HARQFormat01{Values: o.bytes()},
		}}}
	case 2:
		i.Have = fapi.UCI
		i.UCI.UCIs = []nfapi.UCI{{Type: 2, Format234: nfapi.UCIFormat234{
			PDUBitmap: o.u8(), RNTI: rnti(), SR: nfapi.SRBits{BitLen: uint16(o.u8()), Payload: o.bytes()},
			HARQ: nfapi.HARQBits{CRC: o.u8() % 3, BitLen: uint16(o.u8()), Payload: o.bytes()},
		}}}
	case 3:
		i.Have = fapi.CRC
		i.CRC.CRCs = []nfapi.CRC{{RNTI: rnti(), HARQID: o.u8(), TBCRCStatus: o.u8() % 2}}
	case 4:
		i.Have = fapi.RXData
		i.RXData.PDUs = []nfapi.RXDataPDU{{RNTI: rnti(), HARQID: o.u8() % 17, Payload: o.bytes()}}
	}
	return i
}

// FuzzIndicate: whatever is indicated, what is asked for can be encoded, no process is
// taken for ever, and the core gets whole packets or none.
func FuzzIndicate(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 0, 1})
	f.Add(binary.BigEndian.AppendUint64(nil, 0x0b00010b03000000))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := config("DDDSU", 2)
		c.RLC = "um" // whose memory is smaller
		to := &core{received: make([][]uint32, len(c.UEs))}
		a, err := newAir(c, 4, 1, to)
		if err != nil {
			t.Fatal(err)
		}
		attach(t, a)
		in := &octets{rest: b}
		n := a.rrc.Numerology.Add(a.now, a.ahead)
		schedule(t, a, &n, 40+len(b), func() {
			if len(in.rest) > 0 {
				a.mac.Indicate(in.indications(n))
			}
			a.mac.Downlink(int(n)%2, 1, packet(1, 900))
		})
		a.mac.Stop()
		a.mac.Start()
		schedule(t, a, &n, 1, func() {})
		if got := a.mac.Stats(); got.Downlink.Busy != 0 || got.Uplink.Busy != 0 || got.UEs != 0 || to.held != 0 {
			t.Errorf("after a new start: %+v, %d packets held back", got, to.held)
		}
	})
}

// room is where messages are encoded.
var room [1 << 20]byte

// schedule lets slots pass without a PHY.
func schedule(t *testing.T, a *air, n *slot.Number, slots int, before func()) {
	t.Helper()
	r := &fapi.Requests{}
	for range slots {
		before()
		r.Reset(a.rrc.Numerology, *n)
		a.mac.Schedule(r)
		for _, m := range []nfapi.Message{&r.DLTTI, &r.ULTTI, &r.ULDCI, &r.TXData} {
			if _, err := m.EncodeBody(nfapi.OAI2025, room[:]); err != nil {
				t.Fatalf("slot %d: %v", *n, err)
			}
		}
		if got := a.mac.Stats(); got.Downlink.Busy > 32 || got.Uplink.Busy > 32 {
			t.Fatalf("slot %d: %+v", *n, got)
		}
		*n = a.rrc.Numerology.Add(*n, 1)
	}
}

// TestSilence: UEs that are never heard of again take nothing for ever: what was sent
// is given up, and the processes are free for what comes.
func TestSilence(t *testing.T) {
	c := config("DDDSU", 2)
	c.RLC = "um" // AM would ask for ever whether something came
	a, err := newAir(c, 4, 1, &core{received: make([][]uint32, len(c.UEs))})
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	for i := range 40 {
		a.mac.Downlink(i%2, 1, packet(uint32(i), 1000))
	}
	a.set(faults{message: 1})
	for range 2000 {
		a.tick()
	}
	got := a.mac.Stats()
	if got.Downlink.GivenUp == 0 || got.Downlink.Lost == 0 || got.Downlink.Busy != 0 {
		t.Errorf("after a second of silence: %+v", got)
	}
	if most := got.Downlink.Blocks * 7; got.Downlink.Again > most {
		t.Errorf("%d transmissions again of %d transport blocks, want 7 of each at most", got.Downlink.Again, got.Downlink.Blocks)
	}
}
