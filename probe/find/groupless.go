package find

import (
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// tasks is where containerd keeps the bundles of containers that run, by its namespaces,
// below its state directory.
const tasks = "io.containerd.runtime.v2.task"

// ownMounts are files that a runtime makes for a container and mounts in it: the first
// group of an expression is the id.
var ownMounts = []struct {
	runtime string
	root    *regexp.Regexp
}{
	{"podman", regexp.MustCompile(`/[a-z]+-containers/([0-9a-f]{64})/userdata/(?:hostname|hosts|resolv\.conf|\.containerenv)$`)},
	{"docker", regexp.MustCompile(`/containers/([0-9a-f]{64})/(?:hostname|hosts|resolv\.conf)$`)},
}

// withoutGroup returns the container of a process whose control groups do not name a
// runtime: one of containerd whose id its client has chosen, as `ctr run` does, or one
// without groups of its own, as of `podman run --cgroups=disabled`.
func (r *runtimes) withoutGroup(pid int, cgroup string) []Container {
	if c, ok := r.task(cgroup); ok {
		return []Container{c}
	}
	// Processes of the host see these files, if at all, in the mounts of others.
	if there, err := inode(proc(pid, "ns/mnt")); err != nil || there == r.mounts {
		return nil
	}
	text, err := os.ReadFile(proc(pid, "mountinfo"))
	if err != nil {
		return nil // ended
	}
	return parseOwnMounts(string(text))
}

// task returns the container of containerd whose group is NAMESPACE/ID, as containerd names
// it if nobody else does, and which runs.
func (r *runtimes) task(cgroup string) (Container, bool) {
	for line := range strings.Lines(cgroup) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		directory, id := path.Split(path.Clean(fields[2]))
		space := path.Base(directory)
		if id == "" || space == "/" || space == ".." {
			continue
		}
		if _, err := os.Stat(path.Join(r.root, "/run/containerd", tasks, space, id, "config.json")); err == nil {
			return Container{Runtime: "containerd", ID: id, Name: printable.Line(id)}, true
		}
	}
	return Container{}, false
}

// parseOwnMounts returns the container that the mounts of a process tell of.
// Source: proc_pid_mountinfo(5).
func parseOwnMounts(mountinfo string) []Container {
	const root = 3
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) <= root {
			continue
		}
		for _, own := range ownMounts {
			if m := own.root.FindStringSubmatch(unescape(fields[root])); m != nil {
				return []Container{{Runtime: own.runtime, ID: m[1]}}
			}
		}
	}
	return nil
}
