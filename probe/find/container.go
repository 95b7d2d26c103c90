package find

import (
	"os"
	"regexp"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// Container is one in which a process runs.
type Container struct {
	Runtime string // "docker", "podman", "containerd", "cri-o", "lxc" (also Incus and LXD)
	ID      string // of 64 hexadecimal digits; of LXC the name; of containerd what its client has chosen
	Name    string // as its user knows it; empty: not known

	// In Kubernetes.
	PodUID       string
	PodNamespace string
	Pod          string // name; empty: not known, or in no pod
}

// String names the container for users.
func (c *Container) String() string {
	switch {
	case c.Pod != "" && c.Name != "":
		return c.PodNamespace + "/" + c.Pod + "/" + c.Name
	case c.Pod != "":
		return c.PodNamespace + "/" + c.Pod
	case c.Name != "":
		return c.Name
	}
	return c.ID[:min(len(c.ID), shortID)]
}

const (
	shortID = 12 // digits of an id that runtimes show
	leastID = 4  // digits that name a container
)

// is reports whether a user means the container by its name or id. Incus has the project
// before the name, but for the default one: project_name.
func (c *Container) is(name string) bool {
	if _, rest, ok := strings.Cut(c.Name, "_"); ok && c.Runtime == "lxc" && name == rest {
		return true
	}
	return name == c.Name || name == c.ID
}

// begins reports whether a user means the container by the first digits of its id.
func (c *Container) begins(digits string) bool {
	return len(digits) >= leastID && strings.HasPrefix(c.ID, digits) && bareID.MatchString(c.ID)
}

// isPod reports whether the container is of the pod "namespace/name" or "name".
func (c *Container) isPod(pod string) bool {
	if c.PodUID == "" && c.Pod == "" {
		return false
	}
	return pod == c.Pod || pod == c.PodNamespace+"/"+c.Pod || pod == c.PodUID
}

// forms are how runtimes name the control group of a container: the first group of an
// expression is the id. systemd's scopes come before bare names.
var forms = []struct {
	runtime string
	name    *regexp.Regexp
}{
	{"docker", regexp.MustCompile(`^docker-([0-9a-f]{64})\.scope$`)},
	{"podman", regexp.MustCompile(`^libpod-(?:conmon-|payload-)?([0-9a-f]{64})(?:\.scope)?$`)},
	{"containerd", regexp.MustCompile(`^(?:cri-containerd|nerdctl)-([0-9a-f]{64})\.scope$`)},
	{"cri-o", regexp.MustCompile(`^crio-(?:conmon-)?([0-9a-f]{64})(?:\.scope)?$`)},
	{"lxc", regexp.MustCompile(`^lxc\.payload\.(.+)$`)},
}

var (
	bareID  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	podUnit = regexp.MustCompile(`^(?:(?:[a-z0-9]+-)*kubepods-(?:burstable-|besteffort-)?)?pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$`)
)

// parseCgroup returns the containers that /proc/pid/cgroup tells of, outermost first.
// Hierarchies of version 1 need not agree: the one that tells most is taken.
// Source: cgroups(7).
func parseCgroup(text string) []Container {
	var best []Container
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if found := parseCgroupPath(fields[2]); len(found) > len(best) {
			best = found
		}
	}
	return best
}

func parseCgroupPath(path string) []Container {
	var found []Container
	var pod, before string
	// Runtimes whose kubelet gives them slices, but which make the groups themselves, write
	// slice:runtime:id.
	path = strings.ReplaceAll(path, ".slice:cri-containerd:", ".slice/")
	path = strings.ReplaceAll(path, ".slice:crio:", ".slice/crio-")
	for part := range strings.SplitSeq(path, "/") {
		if m := podUnit.FindStringSubmatch(part); m != nil {
			pod = strings.ReplaceAll(m[1], "_", "-")
		} else if c, ok := parseGroup(part, before, pod != ""); ok && !strings.Contains(part, "conmon-") {
			c.PodUID = pod
			found = append(found, c)
		}
		before = part
	}
	return found
}

// parseGroup reads one control group; before is the one that it is in. A bare id is that
// of Docker below "docker", of LXC's old form below "lxc"; elsewhere it is of containerd.
func parseGroup(part, before string, pod bool) (Container, bool) {
	for _, f := range forms {
		if m := f.name.FindStringSubmatch(part); m != nil {
			c := Container{Runtime: f.runtime, ID: m[1]}
			if f.runtime == "lxc" {
				c.Name = printable.Line(m[1])
			}
			return c, true
		}
	}
	switch {
	case before == "lxc" && part != "":
		return Container{Runtime: "lxc", ID: part, Name: printable.Line(part)}, true
	case !bareID.MatchString(part), before == "libpod_parent": // that is a pod of Podman's
		return Container{}, false
	case before == "docker":
		return Container{Runtime: "docker", ID: part}, true
	case pod, before != "":
		return Container{Runtime: "containerd", ID: part}, true
	}
	return Container{}, false
}

// containersOf returns the containers of a process, with the names that the runtimes
// have given them.
func (r *runtimes) containersOf(pid int) []Container {
	text, err := os.ReadFile(proc(pid, "cgroup"))
	if err != nil {
		return nil // ended
	}
	list := parseCgroup(string(text))
	if len(list) == 0 {
		list = r.withoutGroup(pid, string(text))
	}
	for i := range list {
		r.name(&list[i])
	}
	return list
}

// innermost is the container in which a target runs; nil: none.
func (t *Target) innermost() *Container {
	if len(t.Containers) == 0 {
		return nil
	}
	return &t.Containers[len(t.Containers)-1]
}
