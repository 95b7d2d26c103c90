// Package histogram is what HdrHistograms need beyond their library, for laboratory and
// probe alike.
package histogram

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Encode writes a histogram in the encoding of HdrHistogram's interval logs: V2,
// compressed, base64. Whatever reads HdrHistogram logs reads it. It is empty if h is, or
// nil.
//
// Source: HdrHistogram_JHdrHistogram, AbstractHistogram.encodeIntoCompressedByteBuffer.
func Encode(h *hdrhistogram.Histogram) (string, error) {
	if h == nil || h.TotalCount() == 0 {
		return "", nil
	}
	b, err := h.EncodeV2()
	if err != nil {
		return "", fmt.Errorf("histogram: encode %d values: %w", h.TotalCount(), err)
	}
	return string(b), nil
}

// Since returns what now has more than before, of which it is a later state; it is empty
// if that is nothing. before may be nil; the result may be now itself.
func Since(now, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if before == nil || before.TotalCount() == 0 {
		return now
	}
	difference := now.Export()
	for i, n := range before.Export().Counts {
		difference.Counts[i] -= n
	}
	return hdrhistogram.Import(difference)
}
