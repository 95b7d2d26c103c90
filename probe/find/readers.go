package find

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/probe"
)

// Readers finds the files that a process reads packets from: its GTP-U sockets and its
// TUN and TAP devices. One that has none, as where packets never come to user space
// (XDP, TC, kernel GTP) or come by rings (AF_XDP, DPDK), has no parts to tell.
func Readers(pid int) ([]probe.Reader, error) {
	readers, err := readersOf(pid)
	if err != nil {
		return nil, fmt.Errorf("find: readers of process %d: %w", pid, err)
	}
	return readers, nil
}

func readersOf(pid int) ([]probe.Reader, error) {
	sockets, err := readSockets(proc(pid, "net"), 0)
	if err != nil {
		return nil, err
	}
	directory := proc(pid, "fd")
	files, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	var readers []probe.Reader
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			return nil, err
		}
		target, err := os.Readlink(filepath.Join(directory, f.Name()))
		if errors.Is(err, fs.ErrNotExist) { // closed meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		if s, ok := sockets[socketInode(target)]; ok && s.kind == gtpuSocket {
			readers = append(readers, probe.Reader{PID: pid, FD: fd, Direction: probe.Uplink})
		}
		if target == tunFile || strings.HasPrefix(target, "/dev/tap") {
			readers = append(readers, probe.Reader{PID: pid, FD: fd, Direction: probe.Downlink})
		}
	}
	return readers, nil
}
