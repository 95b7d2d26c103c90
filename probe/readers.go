package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gtpuPort is the UDP port of GTP-U.
// Source: TS 29.281 V18.1.0, 4.4.2.
const gtpuPort = 2152

// Readers finds the files that a process reads packets from: its GTP-U sockets and its
// TUN and TAP devices. One that has none, as where packets never come to user space
// (XDP, TC, kernel GTP) or come by rings (AF_XDP, DPDK), has no parts to tell.
func Readers(pid int) ([]Reader, error) {
	root := filepath.Join("/proc", strconv.Itoa(pid))
	sockets, err := gtpuSockets(root)
	if err != nil {
		return nil, fmt.Errorf("probe: readers of process %d: %w", pid, err)
	}
	files, err := os.ReadDir(filepath.Join(root, "fd"))
	if err != nil {
		return nil, fmt.Errorf("probe: readers of process %d: %w", pid, err)
	}
	var readers []Reader
	for _, f := range files {
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			continue
		}
		target, err := os.Readlink(filepath.Join(root, "fd", f.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // closed meanwhile
		case err != nil:
			return nil, fmt.Errorf("probe: readers of process %d: %w", pid, err)
		case sockets[target]:
			readers = append(readers, Reader{PID: pid, FD: fd, Direction: Uplink})
		case target == "/dev/net/tun" || strings.HasPrefix(target, "/dev/tap"):
			readers = append(readers, Reader{PID: pid, FD: fd, Direction: Downlink})
		}
	}
	return readers, nil
}

// gtpuSockets are the UDP sockets of a process's network namespace that are bound to
// the port of GTP-U, as links in /proc/PID/fd show them.
func gtpuSockets(root string) (map[string]bool, error) {
	sockets := map[string]bool{}
	for _, name := range []string{"udp", "udp6"} {
		f, err := os.Open(filepath.Join(root, "net", name))
		if errors.Is(err, fs.ErrNotExist) && name == "udp6" { // a kernel without IPv6
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if inode, port := parseSocket(lines.Text()); port == gtpuPort {
				sockets["socket:["+inode+"]"] = true
			}
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return sockets, nil
}

// parseSocket takes inode and local port from a line of /proc/net/udp; port 0 of any
// other line.
func parseSocket(line string) (inode string, port uint64) {
	fields := strings.Fields(line)
	if len(fields) < 10 {
		return "", 0
	}
	_, hex, _ := strings.Cut(fields[1], ":")
	port, err := strconv.ParseUint(hex, 16, 16)
	if err != nil {
		return "", 0
	}
	return fields[9], port
}
