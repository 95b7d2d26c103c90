package analyze

import (
	"bytes"
	"cmp"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// recording is a capture that is being made, of a cell whose clock is exact: slot n has
// its SLOT.indication when slot n - ahead begins.
type recording struct {
	t        testing.TB
	mu       slot.Numerology
	ahead    int
	first    int // number of the first slot
	stamped  bool
	packets  []packet
	sequence [2]uint8
	lose     uint8 // before the next packet
	segment  int   // octets of a datagram, at most; 0: any
}

type packet struct {
	direction int
	at, delay time.Duration // at: since the first SLOT.indication was due
	message   nfapi.Message
	change    []func([]byte) // when it has been sealed
	lost      uint8          // messages before it, which are not in the capture
}

const (
	toPNF = iota
	toVNF
)

var begin = time.Unix(1_790_000_000, 0)

// slot is SFN and slot of the i-th one.
func (r *recording) slot(i int) (sfn, n uint16) {
	return r.mu.Split(slot.Number((r.first + i) % r.mu.PerCycle()))
}

// tick is when the SLOT.indication of the i-th slot is due.
func (r *recording) tick(i int) time.Duration { return time.Duration(i) * r.mu.Duration() }

// send puts a message on the wire at a time; delay is how long it is under way by its
// time stamp.
func (r *recording) send(direction int, at, delay time.Duration, m nfapi.Message, change ...func([]byte)) {
	r.packets = append(r.packets, packet{direction, at, delay, m, change, r.lose})
	r.lose = 0
}

// octets is a message as it goes over the wire: packets, one for each segment.
func (r *recording) octets(p *packet) (packets [][]byte) {
	r.t.Helper()
	b := make([]byte, 4096)
	r.sequence[p.direction] += p.lost
	h := nfapi.Header{PhyID: 1, Segment: uint16(r.sequence[p.direction])}
	r.sequence[p.direction]++
	n, err := nfapi.OAI2025.EncodeP7(&h, p.message, b)
	if err != nil {
		r.t.Fatal(err)
	}
	timestamp := uint32(0)
	if r.stamped {
		now := time.Duration(r.mu.Micros(slot.Number(r.first)))*time.Microsecond - time.Duration(r.ahead)*r.mu.Duration() + p.at - p.delay
		timestamp = uint32((now + slot.Cycle).Microseconds() % slot.Cycle.Microseconds())
	}
	size := cmp.Or(r.segment, len(b))
	err = nfapi.OAI2025.Segments(&h, b[:n], size, uint8(h.Segment), make([]byte, 2*len(b)), func(b []byte) error {
		nfapi.OAI2025.Seal(nfapi.Gen2025, b, timestamp)
		for _, f := range p.change {
			f(b)
		}
		packets = append(packets, r.frame(p.direction, b))
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return packets
}

func (r *recording) frame(direction int, b []byte) []byte {
	r.t.Helper()
	vnf, pnf := net.IP{10, 0, 0, 1}, net.IP{10, 0, 0, 2}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: vnf, DstIP: pnf}
	udp := &layers.UDP{SrcPort: 50011, DstPort: 50010}
	if direction == toVNF {
		ip.SrcIP, ip.DstIP, udp.SrcPort, udp.DstPort = pnf, vnf, 50010, 50011
	}
	_ = udp.SetNetworkLayerForChecksum(ip)
	eth := &layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4}
	buffer := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, eth, ip, udp, gopacket.Payload(b)); err != nil {
		r.t.Fatal(err)
	}
	return buffer.Bytes()
}

// file is what was recorded, in the order of time.
func (r *recording) file() []byte {
	slices.SortStableFunc(r.packets, func(a, b packet) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		r.t.Fatal(err)
	}
	r.sequence = [2]uint8{}
	for i := range r.packets {
		p := &r.packets[i]
		for _, b := range r.octets(p) {
			if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: begin.Add(p.at), CaptureLength: len(b), Length: len(b)}, b); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	return out.Bytes()
}

func (r *recording) analysis(o Options) *Analysis {
	r.t.Helper()
	a, err := Read(bytes.NewReader(r.file()), o)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

const (
	us   = time.Microsecond
	rnti = 0x4601
)

// ticks sends SLOT.indications, but for some.
func (r *recording) ticks(n int, without ...int) {
	for i := range n {
		if !slices.Contains(without, i) {
			sfn, s := r.slot(i)
			r.send(toVNF, r.tick(i)+30*us, 30*us, &nfapi.SlotIndication{SFN: sfn, Slot: s})
		}
	}
}

// downlink sends the request for a block of 100 octets, and the block, some time after
// the SLOT.indication.
func (r *recording) downlink(i int, after time.Duration, rv uint8) {
	sfn, s := r.slot(i)
	dl := &nfapi.DLTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.DLTTIPDU{{Type: typePDSCH, PDSCH: nfapi.PDSCHPDU{
		RNTI: rnti, PDUIndex: 7, NrOfCodewords: 1, RVIndex: [2]uint8{rv}, TBSize: [2]uint32{100}, SubcarrierSpacing: uint8(r.mu),
	}}}}
	r.send(toPNF, r.tick(i)+30*us+after, 20*us, dl)
	r.block(i, after)
}

func (r *recording) block(i int, after time.Duration) {
	sfn, s := r.slot(i)
	r.send(toPNF, r.tick(i)+35*us+after, 20*us, &nfapi.TXDataRequest{SFN: sfn, Slot: s, PDUs: []nfapi.TXDataPDU{{
		PDUIndex: 7, TLVs: []nfapi.TXDataTLV{{Length: 100, Payload: make([]byte, 100)}},
	}}})
}

func (r *recording) pusch(i int, after time.Duration, harq, rv uint8) {
	sfn, s := r.slot(i)
	r.send(toPNF, r.tick(i)+30*us+after, 20*us, &nfapi.ULTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.ULTTIPDU{
		{Type: typePUSCH, PUSCH: nfapi.PUSCHPDU{RNTI: rnti, PDUBitmap: 1, Data: nfapi.PUSCHData{HARQProcessID: harq, RVIndex: rv, TBSize: 50}}},
	}})
}

// ended is when what a UE sent in the i-th slot is reported: when the next one begins on
// the air.
func (r *recording) ended(i int) time.Duration { return r.tick(i+r.ahead+1) + 25*us }

func (r *recording) crc(i int, harq, status uint8) {
	sfn, s := r.slot(i)
	r.send(toVNF, r.ended(i), 30*us, &nfapi.CRCIndication{SFN: sfn, Slot: s, CRCs: []nfapi.CRC{{RNTI: rnti, HARQID: harq, TBCRCStatus: status}}})
}

func (r *recording) rxData(i int, harq uint8) {
	sfn, s := r.slot(i)
	r.send(toVNF, r.ended(i)+us, 30*us, &nfapi.RXDataIndication{SFN: sfn, Slot: s, PDUs: []nfapi.RXDataPDU{{RNTI: rnti, HARQID: harq, PDULength: 50, Payload: make([]byte, 50)}}})
}

func (r *recording) pucch(i int) {
	sfn, s := r.slot(i)
	r.send(toPNF, r.tick(i)+130*us, 20*us, &nfapi.ULTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.ULTTIPDU{
		{Type: typePUCCH, PUCCH: nfapi.PUCCHPDU{RNTI: rnti, SRFlag: 1, BitLenHARQ: 1}},
	}})
}

// uci reports a PUCCH with an SR or not, and HARQ bits.
func (r *recording) uci(i int, sr uint8, values ...byte) {
	sfn, s := r.slot(i)
	bitmap := uint8(1)
	if len(values) > 0 {
		bitmap |= 2
	}
	r.send(toVNF, r.ended(i), 30*us, &nfapi.UCIIndication{SFN: sfn, Slot: s, UCIs: []nfapi.UCI{{Type: 1, Format01: nfapi.UCIFormat01{
		PDUBitmap: bitmap, RNTI: rnti, SR: nfapi.SRFormat01{Indication: sr}, HARQ: nfapi.HARQFormat01{Values: values},
	}}}})
}

// feedback is a PUCCH for so many HARQ bits, and its UCI.
func (r *recording) feedback(i int, values ...byte) {
	sfn, s := r.slot(i)
	r.send(toPNF, r.tick(i)+130*us, 20*us, &nfapi.ULTTIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.ULTTIPDU{
		{Type: typePUCCH, PUCCH: nfapi.PUCCHPDU{RNTI: rnti, BitLenHARQ: uint16(len(values))}},
	}})
	r.uci(i, 0, values...)
}

func (r *recording) grant(i int) {
	sfn, s := r.slot(i)
	r.send(toPNF, r.tick(i)+140*us, 20*us, &nfapi.ULDCIRequest{SFN: sfn, Slot: s, PDUs: []nfapi.ULDCIPDU{{PDCCH: nfapi.PDCCHPDU{DCIs: []nfapi.DCI{{RNTI: rnti, PayloadSizeBits: 8}}}}}})
}

func newRecording(t testing.TB) *recording {
	return &recording{t: t, mu: 1, ahead: 4, first: 20470, stamped: true}
}
