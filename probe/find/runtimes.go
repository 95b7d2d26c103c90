package find

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

// runtimes knows the containers of the machine by what their runtimes keep in files, and
// asks the runtimes' programs for what is not there.
type runtimes struct {
	root   string // before the paths; see [hostRoot]
	mounts uint64 // inode of the machine's mount namespace; 0: not known
	known  map[string]Container
	ask    func(name string, args ...string) ([]byte, error)
}

func newRuntimes(ctx context.Context, root string) *runtimes {
	mounts, err := inode("/proc/1/ns/mnt")
	if err != nil {
		mounts = 0
	}
	return &runtimes{root: root, mounts: mounts, known: map[string]Container{}, ask: func(name string, args ...string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		return exec.CommandContext(ctx, name, args...).Output()
	}}
}

const (
	askTime    = 2 * time.Second // for a runtime's program
	stateLimit = 4 << 20         // octets of a file that is read: a container's state is some ten thousand
)

// name fills in what the runtime knows of a container.
func (r *runtimes) name(c *Container) {
	if c.Runtime == "lxc" {
		return // the control group has the name
	}
	if known, ok := r.known[c.ID]; ok {
		known.PodUID = c.PodUID
		*c = known
		return
	}
	for _, try := range []func(*Container){r.fromDocker, r.fromPodman, r.fromBundle, r.fromLogs, r.fromProgram} {
		if c.Name != "" && (c.PodUID == "" || c.Pod != "") {
			break
		}
		try(c)
	}
	c.Name, c.Pod, c.PodNamespace = printable.Line(c.Name), printable.Line(c.Pod), printable.Line(c.PodNamespace)
	if len(r.known) >= mostNames {
		clear(r.known)
	}
	r.known[c.ID] = *c
}

// read decodes a state file; a file that is not there, or another thing, says nothing.
func (r *runtimes) read(path string, into any) bool {
	f, err := os.Open(r.root + path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > stateLimit {
		return false
	}
	return json.NewDecoder(f).Decode(into) == nil
}

// Labels by which Kubernetes' containers say whose they are: the kubelet gives them.
// Source: kubernetes pkg/kubelet/types/labels.go.
const (
	labelPod       = "io.kubernetes.pod.name"
	labelNamespace = "io.kubernetes.pod.namespace"
	labelContainer = "io.kubernetes.container.name"
)

// label takes what labels or annotations say, by any of the names that runtimes use.
func (c *Container) label(labels map[string]string) {
	for _, l := range []struct {
		at    *string
		names []string
	}{
		{&c.Pod, []string{labelPod, "io.kubernetes.cri.sandbox-name"}},
		{&c.PodNamespace, []string{labelNamespace, "io.kubernetes.cri.sandbox-namespace"}},
		{&c.Name, []string{labelContainer, "io.kubernetes.cri.container-name", "nerdctl/name"}},
	} {
		for _, name := range l.names {
			if *l.at == "" {
				*l.at = labels[name]
			}
		}
	}
}

// fromDocker reads Docker's own state.
func (r *runtimes) fromDocker(c *Container) {
	var state struct {
		Name   string
		Config struct{ Labels map[string]string }
	}
	if c.Runtime != "docker" || !r.read(filepath.Join("/var/lib/docker/containers", c.ID, "config.v2.json"), &state) {
		return
	}
	c.label(state.Config.Labels)
	if c.Name == "" {
		c.Name = strings.TrimPrefix(state.Name, "/")
	}
}

// fromPodman reads the list of the storage library, which Podman and CRI-O share: one for
// each storage driver ("overlay", "vfs").
func (r *runtimes) fromPodman(c *Container) {
	if c.Runtime != "podman" {
		return
	}
	const list = "storage/*-containers/*containers.json" // those of --rm are volatile-containers.json
	for _, path := range r.glob("/var/lib/containers/"+list, "/run/containers/"+list) {
		var containers []struct {
			ID    string   `json:"id"`
			Names []string `json:"names"`
		}
		if !r.read(path, &containers) {
			continue
		}
		for _, one := range containers {
			if one.ID == c.ID && len(one.Names) > 0 {
				c.Name = one.Names[0]
				return
			}
		}
	}
}

// fromBundle reads the annotations of the OCI bundle, of containerd and CRI-O.
func (r *runtimes) fromBundle(c *Container) {
	if !bareID.MatchString(c.ID) {
		return // a name that containerd's client has chosen
	}
	for _, path := range r.glob(
		"/run/containerd/"+tasks+"/*/"+c.ID+"/config.json",
		"/run/k3s/containerd/"+tasks+"/*/"+c.ID+"/config.json",
		"/run/containers/storage/overlay-containers/"+c.ID+"/userdata/config.json",
		"/var/lib/containers/storage/overlay-containers/"+c.ID+"/userdata/config.json",
	) {
		var bundle struct{ Annotations map[string]string }
		if r.read(path, &bundle) {
			c.label(bundle.Annotations)
		}
	}
}

// glob returns the files, without the root.
func (r *runtimes) glob(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(r.root + pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			all = append(all, strings.TrimPrefix(path, r.root))
		}
	}
	return all
}

// fromLogs finds the pod's name by its UID: the kubelet has a directory of logs for each
// pod, called after both, whatever the runtime.
func (r *runtimes) fromLogs(c *Container) {
	if c.PodUID == "" || c.Pod != "" {
		return
	}
	paths := r.glob("/var/log/pods/*_" + c.PodUID)
	if len(paths) == 0 {
		return
	}
	if parts := strings.Split(filepath.Base(paths[0]), "_"); len(parts) == 3 {
		c.PodNamespace, c.Pod = parts[0], parts[1]
	}
}

// fromProgram asks the runtime's own program, if it is installed.
func (r *runtimes) fromProgram(c *Container) {
	switch c.Runtime {
	case "docker", "podman":
		out, err := r.ask(c.Runtime, "inspect", "--format", "{{.Name}}", c.ID)
		if err == nil && c.Name == "" {
			c.Name = strings.TrimPrefix(strings.TrimSpace(string(out)), "/")
		}
	case "containerd", "cri-o":
		out, err := r.ask("crictl", "inspect", "--output", "json", c.ID)
		var answer struct {
			Status struct{ Labels map[string]string }
		}
		if err == nil && json.Unmarshal(out, &answer) == nil {
			c.label(answer.Status.Labels)
		}
	}
}
