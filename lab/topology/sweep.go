package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// ours matches a name that New, AddUE or Add gives: run, process id, role.
var ours = regexp.MustCompile(`^(.+)-([0-9]+)-([a-z]+[0-9]*)$`)

// Sweep removes the namespaces of run whose process is dead, and returns their
// names. A process id that another program has taken since keeps a namespace;
// a later sweep finds it.
func Sweep(run string) ([]string, error) {
	entries, err := os.ReadDir(namedDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // no namespace was ever named here
	}
	if err != nil {
		return nil, fmt.Errorf("topology: sweep: %w", err)
	}
	var swept []string
	for _, e := range entries {
		name := e.Name()
		if !stale(name, run) {
			continue
		}
		err := netns.DeleteNamed(name)
		if errors.Is(err, unix.EINVAL) { // not mounted: its process died between that and removing the file, or making it
			err = os.Remove(filepath.Join(namedDir, name))
		}
		if errors.Is(err, unix.EBUSY) { // hidden below a later mount: out of reach, and out of the way
			continue
		}
		if err != nil {
			return swept, fmt.Errorf("topology: sweep %s: %w", name, err)
		}
		swept = append(swept, name)
	}
	return swept, nil
}

// stale reports whether name is a namespace of run whose process is dead.
func stale(name, run string) bool {
	m := ours.FindStringSubmatch(name)
	if m == nil || m[1] != run {
		return false
	}
	pid, err := strconv.Atoi(m[2])
	if err != nil {
		return false
	}
	return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
