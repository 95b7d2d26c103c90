package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/plumbline-upf/plumbline/probe"
)

// SampleWriter writes packets one by one. It is for one goroutine.
type SampleWriter interface {
	Write(s *probe.Sample) error
	Close() error // writes what is left, and does not close what is written to
}

// Clock turns CLOCK_MONOTONIC into time of day: what both were at one moment.
type Clock struct {
	At          time.Time
	MonotonicNs uint64
}

// Time returns the time of day of a moment of CLOCK_MONOTONIC, as far as nobody set
// the clock since.
func (c Clock) Time(monotonicNs uint64) time.Time {
	return c.At.Add(time.Duration(int64(monotonicNs - c.MonotonicNs)))
}

// SampleRow is a packet in CSV and Parquet files. The order of the fields is that of
// the columns.
type SampleRow struct {
	Time      time.Time `parquet:"time,timestamp(nanosecond)"` // it came in
	UPF       string    `parquet:"upf,dict"`
	Slice     string    `parquet:"slice,dict"` // empty: of no known slice
	Direction string    `parquet:"direction,dict"`
	InNS      int64     `parquet:"in_ns,delta"` // CLOCK_MONOTONIC
	OutNS     int64     `parquet:"out_ns,delta"`
	DelayNS   int64     `parquet:"delay_ns"`
	Octets    int32     `parquet:"octets"` // of the user packet
	TEID      int64     `parquet:"teid"`   // 0: none
	QFI       int32     `parquet:"qfi"`
	CPU       int32     `parquet:"cpu"` // of the exit
}

func (c Clock) row(s *probe.Sample) SampleRow {
	return SampleRow{
		Time: c.Time(s.InNs).UTC(), UPF: s.UPF, Slice: s.Slice, Direction: s.Direction.String(),
		InNS: int64(s.InNs), OutNS: int64(s.OutNs), DelayNS: int64(s.OutNs - s.InNs), Octets: int32(s.Octets),
		TEID: int64(s.TEID), QFI: int32(s.QFI), CPU: int32(s.CPU),
	}
}

// rowGroup is the rows that are kept in memory before they are packed and written.
const rowGroup = 1 << 16

type parquetSamples struct {
	clock Clock
	w     *parquet.GenericWriter[SampleRow]
	rows  []SampleRow
	group int // rows in the group under way
}

// NewParquetSamples writes Parquet, packed with Zstandard, with a column for each
// field of [SampleRow]. Metadata are kept in the file beside the schema's name.
func NewParquetSamples(w io.Writer, clock Clock) SampleWriter {
	options := []parquet.WriterOption{parquet.Compression(&zstd.Codec{}), parquet.KeyValueMetadata("schema", Schema)}
	return &parquetSamples{clock: clock, w: parquet.NewGenericWriter[SampleRow](w, options...)}
}

// Write implements [SampleWriter].
func (p *parquetSamples) Write(s *probe.Sample) error {
	const together = 256
	p.rows = append(p.rows, p.clock.row(s))
	if len(p.rows) < together {
		return nil
	}
	return p.flush()
}

func (p *parquetSamples) flush() error {
	if _, err := p.w.Write(p.rows); err != nil {
		return err
	}
	p.group += len(p.rows)
	p.rows = p.rows[:0]
	if p.group < rowGroup {
		return nil
	}
	p.group = 0
	return p.w.Flush()
}

// Close implements [SampleWriter].
func (p *parquetSamples) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.w.Close()
}

// csvSamples writes lines.
type csvSamples struct {
	buffer *bufio.Writer
	w      *csv.Writer
	line   func(*probe.Sample) []string
}

func newCSV(w io.Writer, line func(*probe.Sample) []string, names ...string) *csvSamples {
	buffer := bufio.NewWriterSize(w, 1<<16)
	c := &csvSamples{buffer, csv.NewWriter(buffer), line}
	// Errors of a csv.Writer stay until Close asks for them.
	_ = c.w.Write(names)
	return c
}

// NewCSVSamples writes CSV (RFC 4180) with the columns of [SampleRow].
func NewCSVSamples(w io.Writer, clock Clock) SampleWriter {
	line := func(s *probe.Sample) []string {
		r := clock.row(s)
		return []string{
			r.Time.Format(time.RFC3339Nano), csvText(r.UPF), csvText(r.Slice), r.Direction, number(r.InNS), number(r.OutNS),
			number(r.DelayNS), number(r.Octets), number(r.TEID), number(r.QFI), number(r.CPU),
		}
	}
	return newCSV(w, line, "time", "upf", "slice", "direction", "in_ns", "out_ns", "delay_ns", "octets", "teid", "qfi", "cpu")
}

// NewPublishedCSV writes the columns of published slice measurements, which were paired
// from traces: ts_rx_ns, ts_tx_ns (CLOCK_MONOTONIC), delay_us, pkt_len (octets of the
// user packet), netif_rx (the device where the packet came in, as device says) and slice.
// They have no column for the direction, so there are packets of one direction alone.
func NewPublishedCSV(w io.Writer, direction probe.Direction, device func(*probe.Sample) string) SampleWriter {
	line := func(s *probe.Sample) []string {
		if s.Direction != direction {
			return nil
		}
		return []string{
			number(s.InNs), number(s.OutNs), fmt.Sprintf("%d.%03d", (s.OutNs-s.InNs)/1e3, (s.OutNs-s.InNs)%1e3),
			number(s.Octets), csvText(device(s)), csvText(SliceName(s.Slice)),
		}
	}
	return newCSV(w, line, "ts_rx_ns", "ts_tx_ns", "delay_us", "pkt_len", "netif_rx", "slice")
}

// Write implements [SampleWriter].
func (c *csvSamples) Write(s *probe.Sample) error {
	line := c.line(s)
	if line == nil {
		return nil
	}
	return c.w.Write(line)
}

// Close implements [SampleWriter].
func (c *csvSamples) Close() error {
	c.w.Flush()
	if err := c.w.Error(); err != nil {
		return err
	}
	return c.buffer.Flush()
}

func number[T int32 | int64 | uint32 | uint64](n T) string {
	if n < 0 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatUint(uint64(n), 10)
}

// csvText puts an apostrophe before what a spreadsheet would take for a formula: names
// of slices come from the network.
func csvText(s string) string {
	if s != "" && (s[0] == '=' || s[0] == '+' || s[0] == '-' || s[0] == '@') && s != SliceName("") {
		return "'" + s
	}
	return s
}
