package report

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/export"
)

// ProbeHgrm writes the delays of p to a directory for the tools of HdrHistogram: a
// percentile distribution (.hgrm, in µs) for each series. The directory is made if it
// is missing. Delays that are withheld are not written.
//
// Errors: those of the file system.
func ProbeHgrm(directory string, p *Probe) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for i := range p.Series {
		s := &p.Series[i]
		h, err := DecodeHistogram(s.Histogram)
		if err != nil {
			return err
		}
		if h == nil || s.Withheld != "" {
			continue
		}
		key := export.Key{UPF: s.UPF, Slice: s.Slice}
		if s.Direction == probe.Downlink.String() {
			key.Direction = probe.Downlink
		}
		// The number tells series apart whose names do not differ in a file's name.
		if err := writeHgrm(filepath.Join(directory, fmt.Sprintf("%03d-%s.hgrm", i, key.FileName())), h); err != nil {
			return err
		}
	}
	return nil
}
