package rawip

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// A socket is bound to an address, and the kernel delivers there what comes by any device.
// GTP-U does not come by that of a data network: whoever is there could send into any
// tunnel, and a UE could, whose own G-PDU a router there sends back. The guard of a socket
// leaves nothing of such a datagram but its UDP header, so that who reads it counts it.

// Guard gives the socket of an endpoint a guard against the devices with these indices; none:
// it takes it away.
//
// Errors: of the kernel.
func Guard(conn syscall.RawConn, devices []int) error {
	program, err := bpf.Assemble(guard(devices))
	if err != nil {
		return fmt.Errorf("guard of the GTP-U port: %w", err)
	}
	filter := make([]unix.SockFilter, len(program))
	for i, ins := range program {
		filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	var set error
	err = conn.Control(func(fd uintptr) {
		if len(devices) == 0 {
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
			if errors.Is(set, unix.ENOENT) {
				set = nil
			}
			return
		}
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))})
	})
	if err := errors.Join(err, set); err != nil {
		return fmt.Errorf("guard of the GTP-U port: %w", os.NewSyscallError("setsockopt", err))
	}
	return nil
}

// Guarded returns the indices of the devices to be guarded against that are there now: those
// of data networks which no endpoint has. Where an endpoint names no device, it may have any.
func Guarded(endpoints []datapath.Endpoint, n6 *datapath.N6, index func(device string) (int, bool)) []int {
	var devices []int
	for i := range n6.Networks {
		name := n6.Networks[i].Device
		if name == "" || slices.ContainsFunc(endpoints, func(e datapath.Endpoint) bool { return e.Device == "" || e.Device == name }) {
			continue
		}
		if i, ok := index(name); ok && !slices.Contains(devices, i) {
			devices = append(devices, i)
		}
	}
	return devices
}

// guard is a classic program: it returns how many octets stay, from the UDP header on.
func guard(devices []int) []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtInterfaceIndex}}
	for _, index := range devices {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(index), SkipTrue: 1},
			bpf.RetConstant{Val: inet.LenUDP})
	}
	return append(program, bpf.RetConstant{Val: 1<<32 - 1})
}
