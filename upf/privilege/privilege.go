// Package privilege says which capabilities a UPF needs, and gives up the rest.
//
// It imports nothing that brings cgo in, so that its tests run as the released
// program does.
//
// Source: capabilities(7).
package privilege

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
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
	have, err := effective()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, c := range needed {
		if have&(1<<c.bit) == 0 {
			missing = append(missing, fmt.Sprintf("%s (to %s)", c.name, c.why))
		}
	}
	return missing, nil
}

// effective reads CapEff of this process. Source: proc(5).
func effective() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("capabilities: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "\nCapEff:\t")
	hex, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("capabilities: CapEff %q of /proc/self/status: %w", hex, err)
	}
	return mask, nil
}

// Confine gives up for good, in every thread, the privileges that a running UPF
// does not need: all capabilities but CAP_NET_ADMIN and CAP_BPF, and the right to
// gain any by executing a program. It is for a process that is nothing
// but a UPF, once that is up.
//
// Errors: [syscall.ENOTSUP] if the program was built with cgo, whose threads Go
// cannot reach; then the service manager has to do it.
func Confine() error {
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("no_new_privs: %w", errno)
	}
	have, err := effective()
	if err != nil {
		return err
	}
	var keep uint64
	for _, c := range needed {
		if c.keep {
			keep |= have & (1 << c.bit)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{}
	for i := range data {
		data[i].Permitted = uint32(keep >> (32 * i))
		data[i].Effective = data[i].Permitted
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}
