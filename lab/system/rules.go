package system

import (
	"fmt"
	"strings"

	"plumbline/lab/n4load"
)

// Rules is what sessions have beside a PDR, a FAR and a QFI for each direction. The
// zero value is nothing.
type Rules struct {
	PDRs    int    // of each direction; all but the last matched have an SDF filter, which no frame matches; 0: 1
	MBRKbps uint64 // of the QER, both directions; 0: none
	URR     bool   // volume, with a threshold
	IPv6    bool   // UEs have an IPv6 prefix as well
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
	return strings.Join(words, ", ")
}
