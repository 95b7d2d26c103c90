// Package analyze analyzes a P7 capture of any VNF and PNF: when requests come, which are late,
// which messages are missing, how often transport blocks are retransmitted, and how long a UE waits
// between its SR and its block.
//
//	packets ─ capture ─┬─ learn:  numerology, slot ahead, least delay of each cell
//	                   └─ cells:  slot ring ─► Analysis
//
// The clock is that of the SLOT.indications. A PNF sends SLOT.indication(n) when
// slot n - ahead begins: so a request for slot n is late if it comes after
// SLOT.indication(n + ahead), and its lead is how long it comes before. The slot
// ahead is on the wire only if the PNF sets time stamps; for OpenAirInterface's,
// which does not, the caller must supply it.
//
// Memory is bounded: [maxCells] cells, [ringSlots] slots and [maxUEs] UEs of each, and
// [maxFindings] findings.
package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/capture"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// Schema names the form of an [Analysis] as JSON.
const Schema = "plumbline.nfapi-analysis/1"

// Options say what is known beforehand.
type Options struct {
	Profile *nfapi.Profile // nil: by the generation of each header
	P5Ports []uint16
	// SlotAhead is how many slots before its air slot a PNF sends SLOT.indication;
	// negative: by its time stamps. At most [MaxSlotAhead].
	SlotAhead int
	// Window is how many slots ahead of its slot a request may come; 0: 30.
	Window int
	// K1 is the least number of slots from a PDSCH to its HARQ feedback, at most [MaxK1];
	// 0: the one that fits best.
	K1 int
}

// Analysis is what a capture says.
type Analysis struct {
	Schema         string    `json:"schema"`
	Started        time.Time `json:"started"`
	Ended          time.Time `json:"ended"`
	Packets        int       `json:"packets"`
	Messages       int       `json:"messages"`
	Undecoded      int       `json:"undecoded"`
	WrongChecksums int       `json:"wrong_checksums"`
	LeftOut        int       `json:"left_out"`         // messages of more cells than are followed
	CutShort       bool      `json:"cut_short"`        // the file ends within a packet
	CutOffPackets  int       `json:"cut_off_packets"`  // by a snap length
	CutOffMessages int       `json:"cut_off_messages"` // of which the header is there
	Unseen         int       `json:"unseen_datagrams"` // of P7, of which not even that is
	Notes          []string  `json:"notes"`            // what else of the capture could not be looked at
	P5             []P5      `json:"p5"`
	Cells          []*Cell   `json:"cells"`
}

// P5 is a type of message of the configuration plane, and how often it came.
type P5 struct {
	Message string `json:"message"`
	Error   string `json:"error,omitempty"` // of ERROR.indication: about what, and the code
	Count   int    `json:"count"`
}

// Duration is from the first message to the last.
func (a *Analysis) Duration() time.Duration { return a.Ended.Sub(a.Started) }

// Cell is one PHY of a PNF.
type Cell struct {
	VNF        string `json:"vnf"`
	PNF        string `json:"pnf"`
	PHY        uint16 `json:"phy"`
	Profile    string `json:"profile"`
	Numerology uint8  `json:"numerology"`
	SlotAhead  int    `json:"slot_ahead"` // negative: not known, so no lead is
	Window     int    `json:"window"`
	K1         int    `json:"k1"` // that feedback was held against PDSCHs with; 0: there was none

	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Ticks    Ticks     `json:"ticks"`
	Requests []Request `json:"requests"`
	// First and Last are of each slot that has requests: from its SLOT.indication to
	// the first and the last of them.
	First *stopwatch.Distribution `json:"first_request,omitempty"`
	Last  *stopwatch.Distribution `json:"last_request,omitempty"`
	// Ways are messages with time stamps: delays above the least one of their direction,
	// if both clocks go equally fast, and jitter.
	Ways     []Way               `json:"ways"`
	ToPNF    stopwatch.Sequences `json:"to_pnf"`
	ToVNF    stopwatch.Sequences `json:"to_vnf"`
	Broken   Broken              `json:"broken"`
	Downlink Blocks              `json:"downlink"`
	Uplink   Blocks              `json:"uplink"`
	// BitsWithoutPDSCH are the HARQ bits of codebooks that are for no PDSCH.
	BitsWithoutPDSCH uint64 `json:"harq_bits_without_pdsch"`
	// CutOff are its messages of which a capture with a snap length has the header only. If
	// there are any, or Unseen of any cell, Broken and what blocks became are not judged.
	CutOff    int       `json:"cut_off"`
	Unseen    int       `json:"unseen_datagrams"`
	UEs       []*UE     `json:"ues"`
	OtherUEs  int       `json:"other_ues"` // blocks of more UEs than are followed
	Requested Requested `json:"scheduling_requests"`
	Findings  []Finding `json:"findings"` // the first ones
	Further   int       `json:"further_findings"`
}

// Duration is from the first message of the cell to the last.
func (c *Cell) Duration() time.Duration { return c.Ended.Sub(c.Started) }

// Ticks is what SLOT.indications do.
type Ticks struct {
	Count     int                     `json:"count"`
	Missing   int                     `json:"missing"`   // slots that were left out, and did not come later
	Repeated  int                     `json:"repeated"`  // the same slot again
	Backwards int                     `json:"backwards"` // a slot before the last one, out of order
	CutOff    int                     `json:"cut_off"`   // header only, so the slot is not known
	Interval  *stopwatch.Distribution `json:"interval,omitempty"`
}

// Request is a type of request.
type Request struct {
	Message string           `json:"message"`
	Counts  stopwatch.Counts `json:"requests"`
	// Lead is before SLOT.indication(n + ahead), Response after SLOT.indication(n).
	Lead     *stopwatch.Distribution `json:"lead,omitempty"`
	Response *stopwatch.Distribution `json:"response,omitempty"`
	Octets   uint64                  `json:"octets"` // of bodies
}

// Way is messages of a type under way.
type Way struct {
	Message  string                  `json:"message"`
	To       string                  `json:"to"`
	Delay    *stopwatch.Distribution `json:"delay_above_least"`
	JitterNS int64                   `json:"jitter_ns"`
}

// Broken is what should be there and is not.
type Broken struct {
	DLTTIWithoutTXData int `json:"dl_tti_without_tx_data"` // with a PDSCH
	TXDataWithoutDLTTI int `json:"tx_data_without_dl_tti"`
	PDSCHWithoutBlock  int `json:"pdsch_without_block"` // TX_DATA came, and has none of its index
	PUSCHWithoutCRC    int `json:"pusch_without_crc"`
	CRCWithoutPUSCH    int `json:"crc_without_pusch"`
	GoodWithoutRXData  int `json:"good_crc_without_rx_data"`
	PUCCHWithoutUCI    int `json:"pucch_without_uci"`
}

// Blocks is transport blocks of one direction. A redundancy version other than 0 marks a
// retransmission.
type Blocks struct {
	Blocks    uint64 `json:"blocks"`
	Octets    uint64 `json:"octets"` // of those sent for the first time
	Again     uint64 `json:"again"`  // of Blocks, those sent before
	Good      uint64 `json:"good"`   // ACK, or a good CRC
	Bad       uint64 `json:"bad"`    // NACK, or a bad CRC
	Uncertain uint64 `json:"uncertain"`
}

// UE is what concerns one RNTI.
type UE struct {
	RNTI     uint16     `json:"rnti"`
	Downlink Blocks     `json:"downlink"`
	Uplink   Blocks     `json:"uplink"`
	HARQ     [16]Blocks `json:"uplink_harq"` // by process
	Requests int        `json:"scheduling_requests"`
	// BitsWithoutPDSCH are its HARQ bits that are for no PDSCH.
	BitsWithoutPDSCH uint64 `json:"harq_bits_without_pdsch"`

	wait     wait
	outcomes outcomes
}

// Requested is the time from an SR to its grant and data, as seen in the capture.
type Requested struct {
	Count      int                     `json:"count"`
	Repeated   int                     `json:"repeated"` // SRs while one is waiting
	ToGrant    *stopwatch.Distribution `json:"sr_to_grant,omitempty"`
	GrantToCRC *stopwatch.Distribution `json:"grant_to_crc,omitempty"`
	ToCRC      *stopwatch.Distribution `json:"sr_to_crc,omitempty"`
}

// Finding is something that is wrong at a time.
type Finding struct {
	At   time.Time `json:"at"`
	Slot string    `json:"slot"`
	Text string    `json:"text"`
}

// Bounds.
const (
	// MaxSlotAhead is how many slots ahead SLOT.indications may be: a frame at the highest
	// numerology.
	MaxSlotAhead = 80

	maxCells      = 64
	maxUEs        = 1024
	maxFindings   = 100
	maxBlocks     = 256 // of a slot
	ringSlots     = 256
	usualWindow   = 30
	feedbackSlots = 32 // after which feedback to a slot will not come any more
)

// Read analyzes a pcap or pcapng file, which it reads twice.
//
// Errors: those of the file. Messages that cannot be decoded are counted.
func Read(r io.ReadSeeker, o Options) (*Analysis, error) {
	learned, unseen, err := learn(r, o)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if o.Window <= 0 {
		o.Window = usualWindow
	}
	a := &analyzer{options: o, learned: learned, result: &Analysis{Schema: Schema, P5: []P5{}, Cells: []*Cell{}, Unseen: unseen}, cells: map[cellKey]*cell{}, p5: map[P5]int{}}
	stats, err := capture.Read(r, capture.Options{Profile: o.Profile, P5Ports: o.P5Ports}, a.event)
	if a.result.CutShort = cutShort(stats, err); err != nil && !a.result.CutShort {
		return nil, err
	}
	a.result.Packets, a.result.Messages, a.result.Undecoded = stats.Packets, stats.Messages, stats.Failed
	a.result.CutOffPackets, a.result.CutOffMessages, a.result.Notes = stats.Cut, stats.Incomplete, append([]string{}, stats.Notes()...)
	a.finish()
	return a.result, nil
}

// cutShort reports whether a file has packets and ends within one, as that of a capture
// does which is still going on or was killed.
func cutShort(s capture.Stats, err error) bool {
	return s.Packets > 0 && errors.Is(err, io.ErrUnexpectedEOF)
}

// Seen says whether there is anything to say about a cell: its clock are whole
// SLOT.indications, without which nothing of it is looked at. Errors say why there is not.
func (a *Analysis) Seen() error {
	for _, c := range a.Cells {
		if c.Ticks.Count > 0 {
			return nil
		}
	}
	why := "no messages of P7 with a slot in it"
	if len(a.Cells) > 0 || a.CutOffPackets > 0 {
		why = "no whole SLOT.indication"
	}
	if len(a.Notes) > 0 {
		why += ": " + strings.Join(a.Notes, "; ")
	}
	return errors.New(why)
}

// analyzer takes the messages of a capture one after the other.
type analyzer struct {
	options Options
	learned map[cellKey]*learned
	result  *Analysis
	cells   map[cellKey]*cell
	order   []cellKey
	p5      map[P5]int
}

func (a *analyzer) event(e *capture.Event) error {
	if a.result.Started.IsZero() {
		a.result.Started = e.At
	}
	if e.At.After(a.result.Ended) {
		a.result.Ended = e.At
	}
	if e.Plane == nfapi.P5 {
		a.configuration(e)
		return nil
	}
	if e.Checksum == nfapi.ChecksumWrong {
		a.result.WrongChecksums++
	}
	key, d, ok := keyOf(e)
	if !ok {
		a.either(e)
		return nil
	}
	c := a.cells[key]
	if c == nil {
		known := a.learned[key]
		if known == nil || !known.whole {
			if !errors.Is(e.Err, capture.ErrCut) {
				a.result.LeftOut++
			}
			return nil
		}
		c = newCell(key, e, known, &a.options)
		c.result.Unseen = a.result.Unseen
		a.cells[key] = c
		a.order = append(a.order, key)
	}
	c.message(e, d)
	return nil
}

// either is for messages that may go either way: vendor extensions.
func (a *analyzer) either(e *capture.Event) {
	if c := a.cells[cellKey{e.From.Addr(), e.To, e.Header.PhyID}]; c != nil {
		c.message(e, stopwatch.ToPNF)
	} else if c := a.cells[cellKey{e.To.Addr(), e.From, e.Header.PhyID}]; c != nil {
		c.message(e, stopwatch.ToVNF)
	}
}

// configuration counts a message of P5.
func (a *analyzer) configuration(e *capture.Event) {
	const most = 256 // kinds
	one := P5{Message: e.Header.MessageID.String()}
	if m, ok := e.Message.(*nfapi.ErrorIndication); ok {
		one.Error = fmt.Sprintf("%s, code %d", nfapi.MessageID(m.Message), m.ErrorCode)
	}
	if n, ok := a.p5[one]; ok || len(a.p5) < most {
		a.p5[one] = n + 1
	}
}

// finish collects the cells, in the order in which they came.
func (a *analyzer) finish() {
	for _, key := range a.order {
		a.result.Cells = append(a.result.Cells, a.cells[key].finish())
	}
	for one, n := range a.p5 {
		one.Count = n
		a.result.P5 = append(a.result.P5, one)
	}
	slices.SortFunc(a.result.P5, func(x, y P5) int { return cmp.Or(cmp.Compare(x.Message, y.Message), cmp.Compare(x.Error, y.Error)) })
}
