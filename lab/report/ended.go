package report

import (
	"strings"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// End notes why a result is not complete, and reports whether there is anything in it. It is
// checked.
func (r *N4Result) End(why error) bool {
	r.Ended = ended(why)
	return len(r.Phases) > 0 && r.Validate() == nil
}

// ended is an error in one line.
func ended(why error) string {
	return strings.Join(strings.Fields(printable.Log(why.Error())), " ")
}
