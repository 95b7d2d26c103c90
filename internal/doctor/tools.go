package doctor

import (
	"errors"
	"io/fs"
	"os/exec"
)

// tools looks for programs in PATH. The UPF needs none of them.
func tools() []Check {
	var checks []Check
	for _, t := range []struct{ command, pkg, neededFor string }{
		{"iperf3", "iperf3", "throughput of unmodified programs over plumb gnb; plumb slices, plumb nfapi demo"},
		{"sipp", "sip-tester", "telephone calls of plumb slices"},
		{"nginx", "nginx", "downloads of plumb slices"},
		{"curl", "curl", "downloads of plumb slices"},
		{"ping", "iputils-ping", "reachability of unmodified programs over plumb gnb; plumb nfapi demo"},
		{"ip", "iproute2", "looking into namespaces by hand"},
		{"bpftool", "bpftool", "looking at loaded programs by hand"},
		{"clang-19", "clang-19", "building the eBPF objects anew (make generate)"},
		{"protoc", "protobuf-compiler", "building datapath/api/*.pb.go anew (make generate)"},
	} {
		path, err := exec.LookPath(t.command)
		if errors.Is(err, exec.ErrNotFound) { // not everybody has those of the administration in PATH
			path, err = exec.LookPath("/usr/sbin/" + t.command)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = errNotInstalled
		}
		checks = append(checks, Check{Area: AreaTool, Name: t.command, NeededFor: t.neededFor}.
			tried(err, path, Warn, "apt-get install "+t.pkg))
	}
	return checks
}

// errNotInstalled: the program is not in PATH, nor in /usr/sbin.
var errNotInstalled = errors.New("not installed, or not in PATH")
