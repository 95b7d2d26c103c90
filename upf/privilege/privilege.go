// Package privilege says which capabilities a UPF needs, and gives up the rest.
//
// It imports nothing that brings cgo in, so that its tests run as the released
// program does.
//
// Source: capabilities(7).
package privilege

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/caps"
)

// capability is one that the XDP datapath cannot do without.
type capability struct {
	bit  int
	name string
	why  string
	// keep: it is needed as long as the UPF runs, not only to start.
	keep bool
}

// needed lists the capabilities of a UPF.
var needed = []capability{
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "attach XDP programs, resolve next hops", true},
	{unix.CAP_BPF, "CAP_BPF", "load programs, write their tables", true},
	{unix.CAP_PERFMON, "CAP_PERFMON", "load programs that the verifier has to trust with pointers", false},
	{unix.CAP_NET_RAW, "CAP_NET_RAW", "send the packets that the slow path finishes", false},
}

// Missing returns those of the needed capabilities that this process lacks,
// each with what it is for.
func Missing() ([]string, error) {
	have, err := caps.Effective()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, c := range needed {
		if !have.Has(c.bit) {
			missing = append(missing, fmt.Sprintf("%s (to %s)", c.name, c.why))
		}
	}
	return missing, nil
}

// Lacks returns the names of those of the capabilities that the calling thread has not
// in effect, as CAP_SYS_ADMIN of {"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN}.
func Lacks(capabilities map[string]int) ([]string, error) {
	have, err := caps.Effective()
	if err != nil {
		return nil, err
	}
	var missing []string
	for name, bit := range capabilities {
		if !have.Has(bit) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// Confine gives up for good, in every thread, the privileges that a running UPF
// does not need: all capabilities but CAP_NET_ADMIN and CAP_BPF, and the right to
// gain any by executing a program. If it may move to another datapath it keeps the
// right to those that are needed to start one, for [With], but has them not. It is
// for a process that is nothing but a UPF, once that is up. A call of [With] that is
// under way comes to its end first.
//
// Errors: [syscall.ENOTSUP] if the program was built with cgo, whose threads Go
// cannot reach; then the service manager has to do it.
func Confine(moves bool) error {
	withheld.Lock()
	defer withheld.Unlock()
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no_new_privs: %w", errno)
	}
	have, err := caps.Effective()
	if err != nil {
		return err
	}
	keep, permitted := masks(uint64(have))
	if !moves {
		permitted = keep
	}
	if err := set(keep, permitted); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	withheld.keep, withheld.permitted = keep, permitted
	return nil
}

// withheld is what Confine has left.
var withheld struct {
	sync.Mutex
	keep, permitted uint64 // both 0: everything
}

// With calls f with the capabilities that are needed to start a datapath, as far as
// Confine has left a right to them. No other call is under way meanwhile.
func With(f func() error) (err error) {
	withheld.Lock()
	defer withheld.Unlock()
	if withheld.permitted == withheld.keep {
		return f()
	}
	if err := set(withheld.permitted, withheld.permitted); err != nil {
		return fmt.Errorf("raise capabilities: %w", err)
	}
	defer func() { err = errors.Join(err, set(withheld.keep, withheld.permitted)) }()
	return f()
}

// masks returns which of the capabilities that a process has a running UPF needs,
// and which of them a start needs.
func masks(have uint64) (keep, start uint64) {
	for _, c := range needed {
		start |= have & (1 << c.bit)
		if c.keep {
			keep |= have & (1 << c.bit)
		}
	}
	return keep, start
}

// set sets the capabilities of every thread.
func set(effective, permitted uint64) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{}
	for i := range data {
		data[i].Permitted = uint32(permitted >> (32 * i))
		data[i].Effective = uint32(effective >> (32 * i))
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
