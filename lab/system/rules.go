package system

import (
	"fmt"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// Rules is what sessions have beside a PDR, a FAR and a QFI for each direction. The
// zero value is nothing.
type Rules struct {
	PDRs    int    // of each direction; all but the last matched have an SDF filter, which no frame matches; 0: 1
	MBRKbps uint64 // of the QER, both directions; 0: none
	URR     bool   // volume, with a threshold
	IPv6    bool   // UEs have an IPv6 prefix as well
	// Slices is into how many parts the sessions are divided, as even as can be and in
	// their order. Those of part i, from 0, have QFI + i. 0: 1.
	Slices int
	QFIs   [MaxSlices]uint8 // of the parts, in place of that; 0: that
}

// MaxPDRs is how many PDRs of each direction a session may have.
const MaxPDRs = n4load.MaxPDRs / 2

// String says it in words; empty: nothing.
func (r Rules) String() string {
	var words []string
	if r.PDRs > 1 {
		words = append(words, fmt.Sprintf("%d PDRs each way, the last one matches", r.PDRs))
	}
	if r.MBRKbps > 0 {
		words = append(words, fmt.Sprintf("MBR %d kbit/s", r.MBRKbps))
	}
	if r.URR {
		words = append(words, "URR")
	}
	if r.IPv6 {
		words = append(words, "IPv4 and IPv6")
	}
	switch {
	case r.QFIs != [MaxSlices]uint8{}:
		text := fmt.Sprintf("%d slices, QFI", max(r.Slices, 1))
		for i := range max(r.Slices, 1) {
			text += fmt.Sprintf(" %d", r.qfi(i))
		}
		words = append(words, text)
	case r.Slices > 1:
		words = append(words, fmt.Sprintf("%d slices, each with its own QFI", r.Slices))
	}
	return strings.Join(words, ", ")
}

// MaxSlices is how many QFIs there are from [QFI] on.
const MaxSlices = 64 - QFI

func (r Rules) validate(sessions int) error {
	if r.Slices < 0 || r.Slices > min(sessions, MaxSlices) {
		return fmt.Errorf("%d slices of %d sessions: want one session in each, and %d at most", r.Slices, sessions, MaxSlices)
	}
	return nil
}

// qfi is that of the sessions of part i.
func (r *Rules) qfi(i int) uint8 {
	if r.QFIs[i] != 0 {
		return r.QFIs[i]
	}
	return QFI + uint8(i)
}

// Slice returns which sessions of n are in slice i.
func (r Rules) Slice(i, n int) (first, end int) {
	slices := max(r.Slices, 1)
	return i * n / slices, (i + 1) * n / slices
}
