package report

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of a histogram in a file: what it unpacks to is bounded before it is.
const (
	maxHistogram        = 256 << 10 // characters
	maxHistogramFigures = 3
	histogramHeader     = 40 // octets of the unpacked header: cookie to conversion ratio
)

// DecodeHistogram takes back what [histogram.Encode] wrote. It takes no histogram that
// is finer than 3 significant figures or goes beyond an hour, so that a small text
// cannot unpack to much. Text that is empty gives nil.
//
// Errors: [ErrInvalid].
func DecodeHistogram(s string) (*hdrhistogram.Histogram, error) {
	if s == "" {
		return nil, nil
	}
	if err := checkHistogram(s); err != nil {
		return nil, err
	}
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("%w: latency_histogram: %w", ErrInvalid, err)
	}
	if h.TotalCount() == 0 {
		return nil, invalid("latency_histogram", 0, "want one value at least")
	}
	return h, nil
}

func validateHistogram(s string) error {
	_, err := DecodeHistogram(s)
	return err
}

// Histogram returns the latencies of the trial, nil if they were not kept.
//
// Errors: [ErrInvalid].
func (t *Trial) Histogram() (*hdrhistogram.Histogram, error) {
	return DecodeHistogram(t.LatencyHistogram)
}

// checkHistogram reads the unpacked header alone.
func checkHistogram(s string) error {
	if len(s) > maxHistogram {
		return invalid("latency_histogram", len(s), fmt.Sprintf("want %d characters at most", maxHistogram))
	}
	figures, highest, err := histogramRange(s)
	if err != nil {
		return fmt.Errorf("%w: latency_histogram: %w", ErrInvalid, err)
	}
	return first(
		between("latency_histogram figures", float64(figures), 1, maxHistogramFigures),
		between("latency_histogram highest", float64(highest), 1, float64(maxLatencyNS)),
	)
}

// histogramRange returns significant figures and highest value from the header.
//
//	packed:   cookie (4) length (4) zlib ...
//	unpacked: cookie (4) length (4) offset (4) figures (4) lowest (8) highest (8) ratio (8) counts ...
func histogramRange(s string) (figures int32, highest int64, err error) {
	packed, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return 0, 0, err
	}
	if len(packed) < 8 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	z, err := zlib.NewReader(bytes.NewReader(packed[8:]))
	if err != nil {
		return 0, 0, err
	}
	defer z.Close()
	var header [histogramHeader]byte
	if _, err := io.ReadFull(z, header[:]); err != nil {
		return 0, 0, err
	}
	return int32(binary.BigEndian.Uint32(header[12:])), int64(binary.BigEndian.Uint64(header[24:])), nil
}

// LatencyOf returns percentiles of a histogram of nanoseconds.
func LatencyOf(h *hdrhistogram.Histogram) N4Latency {
	return N4Latency{
		Min: h.Min(), P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), P9999: h.ValueAtPercentile(99.99), Max: h.Max(),
	}
}
