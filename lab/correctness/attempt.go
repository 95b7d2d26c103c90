package correctness

import (
	"errors"
	"strings"

	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// attempted takes what came of a measurement. That the UP function refuses what is
// asked of it, or does not do it, is noted as such; anything else is an error.
func (b *bed) attempted(p Part, what string, err error) error {
	if errors.Is(err, topology.ErrLink) || errors.Is(err, meter.ErrDetached) {
		return err
	}
	d := b.system.DUT()
	for _, is := range []error{errRefused, errSilent, errWrong, errLost} {
		if errors.Is(err, is) && (d == nil || d.Err() == nil) { // one that has ended answers nothing
			b.unmeasured(p, what, err.Error())
			return nil
		}
	}
	return err
}

// unmeasured notes why there is no figure.
func (b *bed) unmeasured(p Part, what, why string) {
	b.result.Unmeasured = append(b.result.Unmeasured, report.Unmeasured{
		Part: string(p), What: what, Why: strings.TrimPrefix(why, "correctness: "),
	})
}
