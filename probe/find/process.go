package find

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// process is what can be read of one process that has files of interest.
type process struct {
	pid     int
	born    uint64 // start time in clock ticks
	command string
	space   uint64 // inode of its network namespace

	sockets  []socket        // of GTP-U, PFCP and AF_PACKET
	tuns     []string        // names of TUN and TAP devices
	programs map[uint32]bool // BPF programs that it holds
	xsks     bool            // has AF_XDP sockets that receive
	bypass   string          // a device that it drives itself: the file
}

// interesting reports whether the process may be a UPF.
func (p *process) interesting() bool {
	return len(p.sockets) > 0 || len(p.tuns) > 0 || p.bypass != ""
}

// processIDs lists those of /proc.
func processIDs() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func proc(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// ended reports whether err is that of reading of what has ended meanwhile.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, errGone)
}

// readProcess looks at the files of a process. sockets are those that mean something,
// by inode.
//
// Errors: those of reading; see [ended].
func readProcess(pid int, sockets map[uint64]socket) (*process, error) {
	p := &process{pid: pid}
	var err error
	if p.space, err = inode(proc(pid, "ns/net")); err != nil {
		return nil, err
	}
	if err := p.readFiles(sockets); err != nil {
		return nil, err
	}
	if !p.interesting() {
		return p, nil
	}
	of, err := procfs.NewProc(pid)
	if err != nil {
		return nil, err
	}
	p.command, p.born, err = identity(of)
	return p, err
}

// inode returns that of a file, behind links.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Ino, nil
}

// tunFile is what TUN and TAP devices are made of, and read and written by.
const tunFile = "/dev/net/tun"

// readFiles notes what the files of the process are.
func (p *process) readFiles(sockets map[uint64]socket) error {
	directory := proc(p.pid, "fd")
	files, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	seen := map[uint64]bool{}
	var held []string // files of BPF
	for _, f := range files {
		target, err := os.Readlink(filepath.Join(directory, f.Name()))
		if err != nil {
			continue // closed since
		}
		switch {
		case strings.HasPrefix(target, "socket:["):
			n := socketInode(target)
			if s, ok := sockets[n]; ok && !seen[n] {
				seen[n] = true
				p.sockets = append(p.sockets, s)
			}
		case target == tunFile:
			if name := tunName(p.info(f.Name())); name != "" {
				p.tuns = insert(p.tuns, name)
			}
		case strings.HasPrefix(target, "anon_inode:bpf"):
			held = append(held, f.Name())
		case drivesDevice(target):
			p.bypass = target
		}
	}
	p.readPrograms(held)
	return nil
}

// readPrograms notes the programs behind files of BPF, and whether frames come to sockets
// of AF_XDP. A process without other signs of a UPF is asked as well: one that XDP serves
// need not have a socket.
func (p *process) readPrograms(files []string) {
	xskMap := false
	for _, name := range files {
		info := p.info(name)
		if id := programID(info); id != 0 {
			if p.programs == nil {
				p.programs = map[uint32]bool{}
			}
			p.programs[id] = true
		}
		xskMap = xskMap || isXSKMap(info)
	}
	p.xsks = xskMap && p.mapsSockets()
}

// mapsSockets reports whether the process has rings of a socket in its memory. A socket
// of AF_XDP without is in a map for another reason than to receive.
func (p *process) mapsSockets() bool {
	text, err := os.ReadFile(proc(p.pid, "maps"))
	return err == nil && strings.Contains(string(text), " socket:[")
}

// info returns what the kernel says of a file: nothing if it has been closed.
func (p *process) info(fd string) string {
	text, err := os.ReadFile(filepath.Join(proc(p.pid, "fdinfo"), fd))
	if err != nil {
		return ""
	}
	return string(text)
}

// insert adds a name that is not there yet.
func insert(names []string, name string) []string {
	for _, n := range names {
		if n == name {
			return names
		}
	}
	return append(names, name)
}

// tunName returns the name of the device behind a [tunFile]; empty: none yet.
// Source: Linux drivers/net/tun.c, tun_chr_show_fdinfo.
func tunName(fdinfo string) string {
	name, _ := value(fdinfo, "iff:")
	return name
}

// programID returns the id of the program behind a file of a BPF program or link; 0:
// none. Source: Linux kernel/bpf/syscall.c, bpf_prog_show_fdinfo, bpf_link_show_fdinfo.
func programID(fdinfo string) uint32 {
	text, _ := value(fdinfo, "prog_id:")
	id, _ := strconv.ParseUint(text, 10, 32)
	return uint32(id)
}

// isXSKMap reports whether a file is a map of AF_XDP sockets.
// Source: Linux kernel/bpf/syscall.c, bpf_map_show_fdinfo.
func isXSKMap(fdinfo string) bool {
	text, _ := value(fdinfo, "map_type:")
	kind, err := strconv.ParseUint(text, 10, 32)
	return err == nil && ebpf.MapType(kind) == ebpf.XSKMap
}

// value returns what follows a name at the beginning of a line.
func value(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// drivesDevice reports whether a file gives its process a device that the kernel lets
// alone then: of VFIO or UIO.
func drivesDevice(target string) bool {
	rest, ok := strings.CutPrefix(target, "/dev/vfio/")
	return ok && rest != "vfio" || strings.HasPrefix(target, "/dev/uio")
}

// identity returns the name of a process, fit for a terminal, and when it began, in ticks
// since boot. Both together are no other process's.
func identity(p procfs.Proc) (command string, born uint64, err error) {
	stat, err := p.Stat()
	return printable.Line(stat.Comm), stat.Starttime, err
}
