package doctor

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// loading is what this kernel makes of the programs of an object.
type loading struct {
	object  verifier.Object
	loaded  int
	refused error // nil: all that the feature needs is loaded
}

// tryObjects loads what the features need, several objects at once: the verifier takes
// long, and each CPU can do its work.
func tryObjects(objects []verifier.Object) []loading {
	all := make([]loading, 0, len(objects))
	for _, o := range objects {
		if o.Feature != "" {
			all = append(all, loading{object: o})
		}
	}
	var done sync.WaitGroup
	for i := range all {
		done.Go(all[i].try)
	}
	done.Wait()
	return all
}

func (l *loading) try() {
	programs, err := l.object.TryNeeded()
	if err != nil {
		l.refused = err
		return
	}
	for _, p := range programs {
		if p.Refused == "" {
			l.loaded++
		} else if l.refused == nil {
			l.refused = fmt.Errorf("%s: %s", p.Name, p.Refused)
		}
	}
}

// programChecks are the rows of what was loaded. None is required by itself: which
// datapaths run says whether the UPF does.
func programChecks(tried []loading) []Check {
	var checks []Check
	for _, l := range tried {
		c := Check{Area: AreaPrograms, Name: l.object.Name, NeededFor: l.object.Feature}
		found := fmt.Sprintf("loaded, %d", l.loaded)
		checks = append(checks, c.tried(l.refused, found, Warn, "plumb doctor --programs --logs DIR keeps what the verifier said"))
	}
	return checks
}

// refusals are the errors of those that were refused, by name.
func refusals(tried []loading) map[string]error {
	refused := map[string]error{}
	for _, l := range tried {
		if l.refused != nil {
			refused[l.object.Name] = l.refused
		}
	}
	return refused
}

// ownNames are the names of the programs of datapaths, of which the kernel keeps 15 octets.
func ownNames(objects []verifier.Object) (names []string) {
	for _, o := range objects {
		if family, _, _ := strings.Cut(o.Name, "-"); !slices.Contains([]string{"xdp", "tc", "afxdp"}, family) {
			continue // those of the laboratory, say, are no UPF's
		}
		spec, err := o.Load()
		if err != nil {
			continue // tryObjects says so
		}
		for name := range spec.Programs {
			names = append(names, name[:min(len(name), unix.BPF_OBJ_NAME_LEN-1)])
		}
	}
	return names
}
