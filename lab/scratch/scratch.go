// Package scratch makes directories for what programs of the laboratory need for a
// while, and removes those that a process that died has left.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Directory makes a directory for files of this process, named after it and kind, such
// as "sip": /tmp/plumb-sip-812-3141592653. Who asked for it removes it. Those of the same
// kind whose process is dead are removed before: a process that gets SIGKILL leaves them.
func Directory(kind string) (string, error) {
	prefix := "plumb-" + kind + "-"
	if err := sweep(os.TempDir(), prefix); err != nil {
		return "", fmt.Errorf("scratch: %w", err)
	}
	return os.MkdirTemp("", prefix+strconv.Itoa(os.Getpid())+"-")
}

// sweep removes the directories of dead processes. A process id that another program
// has taken since keeps a directory; a later sweep finds it.
func sweep(in, prefix string) error {
	entries, err := os.ReadDir(in)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !stale(e.Name(), prefix) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(in, e.Name())); !errors.Is(err, os.ErrPermission) { // another user's is left to that one
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stale reports whether name is that of a directory whose process is dead: prefix,
// process id, '-', number.
func stale(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	process, number, _ := strings.Cut(rest, "-")
	if _, err := strconv.ParseUint(number, 10, 64); !ok || err != nil {
		return false
	}
	pid, err := strconv.ParseUint(process, 10, 31)
	return err == nil && pid > 0 && errors.Is(unix.Kill(int(pid), 0), unix.ESRCH)
}
