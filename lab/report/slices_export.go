package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/plumbline-upf/plumbline/internal/atomicfile"
)

// The rows that a [Slices] is exported as: a line of CSV, a row of Parquet. The tag is
// the column's name in both.

// sliceCellColumns say which cell a row is of.
type sliceCellColumns struct {
	System string `parquet:"system"`
	Load   string `parquet:"load"`
	Repeat int64  `parquet:"repeat"`
}

// sliceColumns say which series of a cell.
type sliceColumns struct {
	sliceCellColumns
	UPF       string `parquet:"upf"`
	Slice     string `parquet:"slice"` // empty: of no slice that is known
	Direction string `parquet:"direction"`
}

// sliceDelayRow is a [SliceDelay].
type sliceDelayRow struct {
	sliceColumns
	Started    time.Time `parquet:"started,timestamp(nanosecond)"`
	DurationNS int64     `parquet:"duration_ns"`
	In         int64     `parquet:"in"`
	Matched    int64     `parquet:"matched"`
	Lost       int64     `parquet:"lost"`
	InFlight   int64     `parquet:"in_flight"`
	Ambiguous  int64     `parquet:"ambiguous"`
	Evicted    int64     `parquet:"evicted"`
	Octets     int64     `parquet:"octets"`
	Min        int64     `parquet:"delay_min_ns"`
	P50        int64     `parquet:"delay_p50_ns"`
	P90        int64     `parquet:"delay_p90_ns"`
	P99        int64     `parquet:"delay_p99_ns"`
	P999       int64     `parquet:"delay_p999_ns"`
	P9999      int64     `parquet:"delay_p9999_ns"`
	Max        int64     `parquet:"delay_max_ns"`
	Mean       float64   `parquet:"delay_mean_ns"`
}

// sliceHistogramRow is a bucket of a [SliceDelay].
type sliceHistogramRow struct {
	sliceColumns
	FromNS int64 `parquet:"from_ns"`
	ToNS   int64 `parquet:"to_ns"` // included
	Count  int64 `parquet:"packets"`
}

// sliceN4Row is a [SliceN4].
type sliceN4Row struct {
	sliceCellColumns
	UPF      string  `parquet:"upf"`
	Seen     string  `parquet:"seen"`
	Message  string  `parquet:"message"`
	Answered int64   `parquet:"answered"`
	Refused  int64   `parquet:"refused"`
	Lost     int64   `parquet:"lost"`
	Repeated int64   `parquet:"repeated"`
	P50      int64   `parquet:"p50_ns"`
	P90      int64   `parquet:"p90_ns"`
	P99      int64   `parquet:"p99_ns"`
	Max      int64   `parquet:"max_ns"`
	Mean     float64 `parquet:"mean_ns"`
}

// sliceProgramRow is a figure of a program.
type sliceProgramRow struct {
	sliceCellColumns
	Slice   string  `parquet:"slice"`
	Program string  `parquet:"program"`
	Figure  string  `parquet:"figure"`
	Unit    string  `parquet:"unit"`
	Value   float64 `parquet:"value"`
}

// SliceSample is one packet of the data set. Columns that the study has bear its
// names.
type SliceSample struct {
	System    string  `parquet:"system,dict"`
	Load      string  `parquet:"load,dict"`
	Repeat    int64   `parquet:"repeat"`
	UPF       string  `parquet:"upf,dict"`
	Slice     string  `parquet:"slice,dict"`
	Direction string  `parquet:"direction,dict"`
	In        int64   `parquet:"ts_rx_ns"` // CLOCK_MONOTONIC
	Out       int64   `parquet:"ts_tx_ns"`
	DelayUS   float64 `parquet:"delay_us"`
	Octets    int64   `parquet:"pkt_len"` // of the user packet
	TEID      int64   `parquet:"teid"`    // uplink: it came with; downlink: it left with
	QFI       int64   `parquet:"qfi"`
	CPU       int64   `parquet:"cpu"` // of the exit
}

// SlicesCSV writes s to a directory as CSV (RFC 4180), with a line of column names:
// delays.csv, histograms.csv, n4.csv and programs.csv, of these what there is.
//
// Errors: those of the file system.
func SlicesCSV(directory string, s *Slices) error { return exportSlices(directory, ".csv", s) }

// SlicesParquet is [SlicesCSV] in Parquet, packed with Zstandard.
func SlicesParquet(directory string, s *Slices) error { return exportSlices(directory, ".parquet", s) }

func exportSlices(directory, extension string, s *Slices) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	name := func(table string) string { return filepath.Join(directory, table+extension) }
	return errors.Join(
		exportRows(name("delays"), s.delayRows()),
		exportTable(name("histograms"), s.histogramRows),
		exportRows(name("n4"), s.n4Rows()),
		exportRows(name("programs"), s.programRows()),
	)
}

func (c *SlicesCell) columns() sliceCellColumns {
	return sliceCellColumns{c.System, c.Load, int64(c.Repeat)}
}

func (s *Slices) delayRows() []sliceDelayRow {
	var rows []sliceDelayRow
	for i := range s.Cells {
		c := &s.Cells[i]
		for j := range c.Delays {
			d := &c.Delays[j]
			rows = append(rows, sliceDelayRow{
				sliceColumns: sliceColumns{c.columns(), d.UPF, d.Slice, string(d.Direction)}, Started: c.Started.UTC(), DurationNS: c.DurationNS,
				In: int64(d.In), Matched: int64(d.Matched), Lost: int64(d.Lost), InFlight: int64(d.InFlight), Ambiguous: int64(d.Ambiguous),
				Evicted: int64(d.Evicted), Octets: int64(d.Octets), Min: d.DelayNS.Min, P50: d.DelayNS.P50, P90: d.DelayNS.P90, P99: d.DelayNS.P99,
				P999: d.DelayNS.P999, P9999: d.DelayNS.P9999, Max: d.DelayNS.Max, Mean: d.MeanNS,
			})
		}
	}
	return rows
}

func (s *Slices) histogramRows(write func([]sliceHistogramRow) error) error {
	for i := range s.Cells {
		c := &s.Cells[i]
		for j := range c.Delays {
			d := &c.Delays[j]
			h, err := DecodeHistogram(d.Histogram)
			if err != nil {
				return err
			}
			if h == nil {
				continue
			}
			if err := write(bucketRows(h, sliceColumns{c.columns(), d.UPF, d.Slice, string(d.Direction)})); err != nil {
				return err
			}
		}
	}
	return nil
}

func bucketRows(h *hdrhistogram.Histogram, of sliceColumns) []sliceHistogramRow {
	var rows []sliceHistogramRow
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			rows = append(rows, sliceHistogramRow{of, b.From, b.To, b.Count})
		}
	}
	return rows
}

func (s *Slices) n4Rows() []sliceN4Row {
	var rows []sliceN4Row
	for i := range s.Cells {
		c := &s.Cells[i]
		for j := range c.N4 {
			n := &c.N4[j]
			rows = append(rows, sliceN4Row{
				sliceCellColumns: c.columns(), UPF: n.UPF, Seen: n.Seen, Message: n.Message, Answered: int64(n.Count), Refused: int64(n.Refused),
				Lost: int64(n.Lost), Repeated: int64(n.Repeats), P50: n.DelayNS.P50, P90: n.DelayNS.P90, P99: n.DelayNS.P99, Max: n.DelayNS.Max, Mean: n.MeanNS,
			})
		}
	}
	return rows
}

func (s *Slices) programRows() []sliceProgramRow {
	var rows []sliceProgramRow
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, p := range c.Programs {
			for _, f := range p.Figures {
				rows = append(rows, sliceProgramRow{c.columns(), p.Slice, p.Program, f.Name, f.Unit, f.Value})
			}
		}
	}
	return rows
}

// SliceSamples is the data set: samples.csv and samples.parquet, as packets come.
type SliceSamples struct {
	files  []*atomicfile.File
	tables []table[SliceSample]
	rows   []SliceSample
}

// sampleBatch is how many rows are written at once.
const sampleBatch = 4096

// NewSliceSamples makes samples with an extension, ".csv" or ".parquet", in each of
// the directories, which must be there. End it with Close or Discard.
func NewSliceSamples(directories map[string]string) (*SliceSamples, error) {
	s := &SliceSamples{}
	for extension, directory := range directories {
		f, err := atomicfile.Create(filepath.Join(directory, "samples"+extension))
		if err != nil {
			return nil, errors.Join(err, s.Discard())
		}
		s.files, s.tables = append(s.files, f), append(s.tables, newTable[SliceSample](f, extension))
	}
	return s, nil
}

// Add adds a packet.
func (s *SliceSamples) Add(one SliceSample) error {
	s.rows = append(s.rows, one)
	if len(s.rows) < sampleBatch {
		return nil
	}
	return s.flush()
}

func (s *SliceSamples) flush() error {
	var errs []error
	for _, t := range s.tables {
		errs = append(errs, t.Write(s.rows))
	}
	s.rows = s.rows[:0]
	return errors.Join(errs...)
}

// Close writes what is left and gives the files their names.
func (s *SliceSamples) Close() error {
	errs := []error{s.flush()}
	for i, t := range s.tables {
		f := s.files[i]
		err := t.Close()
		if err == nil {
			err = f.Keep()
		} else {
			err = errors.Join(err, f.Discard())
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", f.Name(), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Discard removes the files.
func (s *SliceSamples) Discard() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Discard())
	}
	return errors.Join(errs...)
}
