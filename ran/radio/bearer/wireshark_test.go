package bearer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/plumbline-upf/plumbline/ran/radio/mac"
	"github.com/plumbline-upf/plumbline/ran/radio/rlc"
)

// TestWiresharkData: what UM and AM make of packets, Wireshark's dissectors take apart:
// transport blocks to RLC PDUs, those put together here by the numbers and offsets that
// Wireshark reads, and PDCP PDUs to the packets.
func TestWiresharkData(t *testing.T) {
	for _, mode := range []string{"um", "am"} {
		for _, uplink := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/uplink %v", mode, uplink), func(t *testing.T) { testWiresharkData(t, mode, uplink) })
		}
	}
}

func testWiresharkData(t *testing.T, mode string, uplink bool) {
	random := rand.New(rand.NewPCG(5, 6))
	b, err := New(Config{Mode: mode, Numerology: 1, UE: uplink}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want, blocks, pdus, sdus [][]byte
	for range 60 {
		packet := make([]byte, 1+random.IntN(1500))
		for i := range packet {
			packet[i] = byte(random.Uint32())
		}
		want = append(want, packet)
		if !b.Send(9, packet) {
			t.Fatal("the queue is full")
		}
	}
	for b.Buffered() > 0 {
		tb := make([]byte, 1+random.IntN(4000))
		b.Fill(tb)
		blocks = append(blocks, macFrame(uplink, tb))
	}
	direction := "dlsch"
	if uplink {
		direction = "ulsch"
	}
	kind, bits := byte(rlcUM), byte(12)
	if mode == "am" {
		kind, bits = rlcAM, 18
	}
	for i, d := range dissect(t, blocks) {
		if malformed(d) {
			t.Errorf("block %d: %v", i, d)
		}
		for _, field := range d["mac-nr."+direction+".sdu"] {
			pdus = append(pdus, rlcFrame(kind, bits, uplink, unhex(t, field)))
		}
	}
	var sdu []byte
	for i, d := range dissect(t, pdus) {
		layer := "rlc-nr." + mode
		si, data := d.number(t, layer+".si"), d.octets(t, layer+".data")
		offset, starts := 0, si == 0 || si == 1
		if !starts {
			offset = d.number(t, layer+".so")
		}
		number := len(sdus)
		if si == 0 && mode == "um" {
			number = -1 // it has none
		}
		switch {
		case malformed(d) || offset != len(sdu):
			t.Fatalf("PDU %d: offset %d, want %d: %v", i, offset, len(sdu), d)
		case mode == "am" && d.number(t, layer+".sn") != number:
			t.Fatalf("PDU %d: %v, want sequence number %d", i, d, number)
		}
		sdu = append(sdu, data...)
		if si == 0 || si == 2 {
			sdus, sdu = append(sdus, pdcpFrame(sdu)), nil
		}
	}
	if len(sdus) != len(want) || sdu != nil {
		t.Fatalf("got %d SDUs, want %d", len(sdus), len(want))
	}
	for i, d := range dissect(t, sdus) {
		got := sdus[i][len(pdcpFrame(nil)):]
		if sn := d.number(t, "pdcp-nr.seq-num"); malformed(d) || sn != i || !bytes.Equal(got[4:], want[i]) || got[3]&0x3f != 9 || got[3]&0x80 != 0 != uplink {
			t.Errorf("packet %d: %v, %d octets, want %d", i, d, len(got)-4, len(want[i]))
		}
	}
}

// TestWiresharkBSR: each level of both reports, and what it means, is as Wireshark's
// tables have it.
func TestWiresharkBSR(t *testing.T) {
	var frames [][]byte
	var want []int
	for _, put := range []func([]byte, uint8, int) int{mac.PutShortBSR, mac.PutLongBSR} {
		for octets := 0; ; {
			b := make([]byte, 4)
			b = b[:put(b, mac.Group, octets+1)]
			reader := mac.NewReader(b, true)
			pdu, _, err := reader.Next()
			report, ok := mac.ParseBSR(pdu)
			if err != nil || !ok || report.Groups != 1<<mac.Group {
				t.Fatalf("%x: %+v, %v", b, report, err)
			}
			if octets == report.Octets[mac.Group] {
				break
			}
			octets = report.Octets[mac.Group]
			frames, want = append(frames, macFrame(true, b)), append(want, octets)
		}
	}
	levels := regexp.MustCompile(`Buffer Size for LCG1: (?:(\d+) < BS <= (\d+)|BS > (\d+)) \((\d+)\)`).FindAllStringSubmatch(verbose(t, frames), -1)
	if len(levels) != len(want) || len(want) != 31+254 {
		t.Fatalf("Wireshark finds %d reports in %d, want %d", len(levels), len(want), 31+254)
	}
	for i, level := range levels {
		upper, _ := strconv.Atoi(level[2])
		if level[3] != "" { // no upper end: we say twice the lower one
			lower, _ := strconv.Atoi(level[3])
			upper = 2 * lower
		}
		if upper != want[i] {
			t.Errorf("level %s: got %d octets, Wireshark has %q", level[4], want[i], level[0])
		}
	}
}

// TestWiresharkStatus: a status report says which SDUs and which octets are missing.
func TestWiresharkStatus(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	queue := rlc.NewQueue(1<<20, 1<<20, 2048)
	config := rlc.AMConfig{Reassembly: 10, PollRetransmit: 50, StatusProhibit: 5}
	sender, err := rlc.NewAM(config, queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := rlc.NewAM(config, rlc.NewQueue(100, 100, 8), func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	const sdus, length = 1000, 200
	missing := make([][]bool, sdus) // by SDU and octet
	for range sdus {
		queue.Put(length, func([]byte, uint64) {})
	}
	lost := 0
	for n, offset := 0, 0; n < sdus; {
		room := 20 + random.IntN(2*length)
		pdu := make([]byte, sender.Next(room))
		sender.Write(pdu)
		header := 3
		if offset > 0 {
			header += 2
		}
		if lost > 0 {
			lost--
		} else if random.IntN(20) == 0 {
			lost = random.IntN(400)
		}
		keep := lost == 0 || n == sdus-1
		for range len(pdu) - header {
			missing[n] = append(missing[n], !keep)
		}
		if keep {
			if err := receiver.Receive(pdu); err != nil {
				t.Fatal(err)
			}
		}
		if offset += len(pdu) - header; offset == length {
			n, offset = n+1, 0
		}
	}
	receiver.Tick(config.Reassembly) // what was missing when the timer started
	receiver.Tick(config.Reassembly) // the rest
	status := make([]byte, receiver.Next(1<<16))
	receiver.Write(status)
	frames := [][]byte{rlcFrame(rlcAM, 18, true, status)}
	d := dissect(t, frames)[0]
	if ack := d.number(t, "rlc-nr.am.ack-sn"); malformed(d) || ack != sdus {
		t.Errorf("it is up to sequence number %d, want %d: %v", ack, sdus, d)
	}
	for _, k := range regexp.MustCompile(nackPattern).FindAllStringSubmatch(verbose(t, frames), -1) {
		n, run, from, to := atoi(k[1], 0), atoi(k[2], 1), atoi(k[3], 0), atoi(k[4], length-1)
		for i := n; i < n+run; i++ {
			for octet := from; octet <= min(to, length-1); octet++ {
				missing[i][octet] = !missing[i][octet]
			}
		}
	}
	for n, octets := range missing {
		if i := slices.Index(octets, true); i >= 0 {
			t.Errorf("SDU %d: octet %d is missing and not said to be, or the other way round", n, i)
		}
	}
}

const nackPattern = `= NACK Sequence Number: (\d+)(?:\n\s+\[.*|\n\s+[01. ]+ = (?:Ext|Res).*)*(?:\n\s+NACK range: (\d+).*)?(?:\n\s+SO start: (\d+)\n\s+SO end: (\d+))?`

func atoi(s string, otherwise int) int {
	if s == "" {
		return otherwise
	}
	n, _ := strconv.Atoi(s)
	return n
}
