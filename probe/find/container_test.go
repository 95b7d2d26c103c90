package find

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	id1 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	id2 = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	uid = "1f0c1e9a-5b52-4a0e-9a53-9d1c2f9b7e11"
)

// TestParseCgroup has the control groups that runtimes make, by systemd and by
// themselves, in versions 1 and 2.
func TestParseCgroup(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Container
	}{
		{"host", "0::/system.slice/open5gs-upfd.service\n", nil},
		{"root", "0::/\n", nil},
		{"docker, systemd", "0::/system.slice/docker-" + id1 + ".scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, version 1", "12:pids:/docker/" + id1 + "\n1:name=systemd:/docker/" + id1 + "\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, relative", "0::/../docker-" + id1 + ".scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"podman", "0::/machine.slice/libpod-" + id1 + ".scope/container\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, rootless", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id1 + ".scope\n", []Container{{Runtime: "podman", ID: id1}}},
		{"conmon of podman", "0::/machine.slice/libpod-conmon-" + id1 + ".scope\n", nil},
		{"nerdctl", "0::/system.slice/nerdctl-" + id1 + ".scope\n", []Container{{Runtime: "containerd", ID: id1}}},
		{"containerd", "0::/default/" + id1 + "\n", []Container{{Runtime: "containerd", ID: id1}}},
		{
			"Kubernetes, systemd",
			"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/cri-containerd-" + id1 + ".scope\n",
			[]Container{{Runtime: "containerd", ID: id1, PodUID: uid}},
		},
		{
			"Kubernetes, guaranteed, CRI-O",
			"0::/kubepods.slice/kubepods-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/crio-" + id1 + ".scope\n",
			[]Container{{Runtime: "cri-o", ID: id1, PodUID: uid}},
		},
		{"Kubernetes, cgroupfs", "4:memory:/kubepods/besteffort/pod" + uid + "/" + id1 + "\n", []Container{{Runtime: "containerd", ID: id1, PodUID: uid}}},
		{"Incus", "0::/lxc.payload.upf1/system.slice/open5gs-upfd.service\n", []Container{{Runtime: "lxc", ID: "upf1", Name: "upf1"}}},
		{"LXC before 4", "0::/lxc/upf1\n", []Container{{Runtime: "lxc", ID: "upf1", Name: "upf1"}}},
		{"docker in Incus", "0::/lxc.payload.vm/system.slice/docker-" + id1 + ".scope\n", []Container{{Runtime: "lxc", ID: "vm", Name: "vm"}, {Runtime: "docker", ID: id1}}},

		// Docker: the cgroupfs driver by its default parent and by one that was given.
		{"docker, cgroupfs, version 2", "0::/docker/" + id1 + "\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, systemd, version 1", "3:cpu,cpuacct:/system.slice/docker-" + id1 + ".scope\n0::/system.slice/docker-" + id1 + ".scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, rootless", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + id1 + ".scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, --cgroup-parent, systemd", "0::/core5g.slice/docker-" + id1 + ".scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker with an init system inside", "0::/system.slice/docker-" + id1 + ".scope/init.scope\n", []Container{{Runtime: "docker", ID: id1}}},
		{"docker, version 1 beside an empty 2", "13:rdma:/\n12:pids:/docker/" + id1 + "\n0::/system.slice/containerd.service\n", []Container{{Runtime: "docker", ID: id1}}},
		{"daemon of docker", "0::/system.slice/docker.service\n", nil},

		// Podman: systemd makes scopes, cgroupfs bare groups; crun puts payload and monitor apart.
		{"podman, cgroupfs", "0::/libpod_parent/libpod-" + id1 + "\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, cgroupfs, version 1", "9:memory:/libpod_parent/libpod-" + id1 + "\n1:name=systemd:/libpod_parent/libpod-" + id1 + "\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, a unit of Quadlet", "0::/system.slice/upf.service/libpod-payload-" + id1 + "\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, its monitor there", "0::/system.slice/upf.service/runtime\n", nil},
		{"podman, in a pod of its own", "0::/machine.slice/machine-libpod_pod_" + id2 + ".slice/libpod-" + id1 + ".scope/container\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, in a pod, cgroupfs", "0::/libpod_parent/" + id2 + "/libpod-" + id1 + "\n", []Container{{Runtime: "podman", ID: id1}}},
		{"podman, systemd inside", "0::/machine.slice/libpod-" + id1 + ".scope/container/system.slice/upf.service\n", []Container{{Runtime: "podman", ID: id1}}},

		// containerd and CRI-O under the kubelet.
		{"containerd, cgroupfs, guaranteed", "0::/kubepods/pod" + uid + "/" + id1 + "\n", []Container{{Runtime: "containerd", ID: id1, PodUID: uid}}},
		{"containerd as systemd has no slices", "0::/system.slice/containerd.service/kubepods-burstable-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice:cri-containerd:" + id1 + "\n",
			[]Container{{Runtime: "containerd", ID: id1, PodUID: uid}}},
		{"CRI-O, cgroupfs", "0::/kubepods/burstable/pod" + uid + "/crio-" + id1 + "\n", []Container{{Runtime: "cri-o", ID: id1, PodUID: uid}}},
		{"monitor of CRI-O", "0::/kubepods.slice/kubepods-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/crio-conmon-" + id1 + ".scope\n", nil},
		{"CRI-O with crun", "0::/kubepods.slice/kubepods-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/crio-" + id1 + ".scope/container\n", []Container{{Runtime: "cri-o", ID: id1, PodUID: uid}}},
		{"CRI-O as systemd has no slices", "0::/system.slice/kubepods-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice:crio:" + id1 + "\n", []Container{{Runtime: "cri-o", ID: id1, PodUID: uid}}},
		{"Docker under the kubelet", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/docker-" + id1 + ".scope\n",
			[]Container{{Runtime: "docker", ID: id1, PodUID: uid}}},
		{"kind: Kubernetes in Docker", "0::/system.slice/docker-" + id2 + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1f0c1e9a_5b52_4a0e_9a53_9d1c2f9b7e11.slice/cri-containerd-" + id1 + ".scope\n",
			[]Container{{Runtime: "docker", ID: id2}, {Runtime: "containerd", ID: id1, PodUID: uid}}},
		{"kind, cgroupfs", "0::/docker/" + id2 + "/kubelet/kubepods/burstable/pod" + uid + "/" + id1 + "\n",
			[]Container{{Runtime: "docker", ID: id2}, {Runtime: "containerd", ID: id1, PodUID: uid}}},
		{"a static pod", "0::/kubepods/burstable/pod" + id2[:32] + "/" + id1 + "\n", []Container{{Runtime: "containerd", ID: id1, PodUID: id2[:32]}}},

		// LXC, Incus and LXD: payload and monitor apart since LXC 4.
		{"Incus, root of the container", "0::/lxc.payload.upf1\n", []Container{{Runtime: "lxc", ID: "upf1", Name: "upf1"}}},
		{"Incus, another project, version 1", "5:cpuset:/lxc.payload.lab_upf1\n1:name=systemd:/lxc.payload.lab_upf1/init.scope\n", []Container{{Runtime: "lxc", ID: "lab_upf1", Name: "lab_upf1"}}},
		{"LXC, not privileged", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/lxc.payload.upf1\n", []Container{{Runtime: "lxc", ID: "upf1", Name: "upf1"}}},
		{"LXC, the second of a name", "0::/lxc.payload.upf1-1/system.slice\n", []Container{{Runtime: "lxc", ID: "upf1-1", Name: "upf1-1"}}},
		{"monitor of LXC", "0::/lxc.monitor.upf1\n", nil},
		{"no id", "0::/system.slice/docker-0123.scope\n", nil},
		{"hostile name", "0::/lxc.payload.a\x1b[31m\n", []Container{{Runtime: "lxc", ID: "a\x1b[31m", Name: "a?[31m"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseCgroup(tc.text)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

// state is the root of a machine with these files.
func state(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestNames reads what runtimes keep of a container, and asks their programs only for what
// is not there.
func TestNames(t *testing.T) {
	const bundle = `{"ociVersion":"1.1.0","annotations":{"io.kubernetes.cri.container-name":"upf","io.kubernetes.cri.sandbox-name":"open5gs-upf-0","io.kubernetes.cri.sandbox-namespace":"core"}}`
	for _, tc := range []struct {
		name    string
		files   map[string]string
		answers map[string]string // by program
		of      Container
		want    Container
		asked   int
	}{
		{
			name:  "docker",
			files: map[string]string{"/var/lib/docker/containers/" + id1 + "/config.v2.json": `{"ID":"` + id1 + `","Name":"/upf1","Config":{"Labels":{}}}`},
			of:    Container{Runtime: "docker", ID: id1},
			want:  Container{Runtime: "docker", ID: id1, Name: "upf1"},
		},
		{
			name: "docker's program", answers: map[string]string{"docker": "/upf1\n"}, asked: 1,
			of: Container{Runtime: "docker", ID: id1}, want: Container{Runtime: "docker", ID: id1, Name: "upf1"},
		},
		{
			name: "nobody knows", asked: 1,
			of: Container{Runtime: "docker", ID: id1}, want: Container{Runtime: "docker", ID: id1},
		},
		{
			name:  "podman",
			files: map[string]string{"/var/lib/containers/storage/overlay-containers/containers.json": `[{"id":"ff","names":["other"]},{"id":"` + id1 + `","names":["upf1"]}]`},
			of:    Container{Runtime: "podman", ID: id1},
			want:  Container{Runtime: "podman", ID: id1, Name: "upf1"},
		},
		{
			name:  "podman, storage driver vfs",
			files: map[string]string{"/var/lib/containers/storage/vfs-containers/containers.json": `[{"id":"` + id1 + `","names":["upf1"],"image":"` + id2 + `","flags":{"MountLabel":""}}]`},
			of:    Container{Runtime: "podman", ID: id1},
			want:  Container{Runtime: "podman", ID: id1, Name: "upf1"},
		},
		{
			name:  "podman --rm",
			files: map[string]string{"/run/containers/storage/overlay-containers/volatile-containers.json": `[{"id":"` + id1 + `","names":["upf1"]}]`},
			of:    Container{Runtime: "podman", ID: id1},
			want:  Container{Runtime: "podman", ID: id1, Name: "upf1"},
		},
		{
			name:  "Kubernetes with containerd",
			files: map[string]string{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id1 + "/config.json": bundle},
			of:    Container{Runtime: "containerd", ID: id1, PodUID: uid},
			want:  Container{Runtime: "containerd", ID: id1, PodUID: uid, Name: "upf", PodNamespace: "core", Pod: "open5gs-upf-0"},
		},
		{
			name:  "pod by its logs",
			files: map[string]string{"/var/log/pods/core_open5gs-upf-0_" + uid + "/upf/0.log": ""},
			of:    Container{Runtime: "cri-o", ID: id1, PodUID: uid}, asked: 1,
			want: Container{Runtime: "cri-o", ID: id1, PodUID: uid, PodNamespace: "core", Pod: "open5gs-upf-0"},
		},
		{
			name:    "CRI's program",
			answers: map[string]string{"crictl": `{"status":{"labels":{"io.kubernetes.pod.name":"p","io.kubernetes.pod.namespace":"n","io.kubernetes.container.name":"c\u001b"}}}`},
			of:      Container{Runtime: "cri-o", ID: id1, PodUID: uid}, asked: 1,
			want: Container{Runtime: "cri-o", ID: id1, PodUID: uid, Name: "c?", PodNamespace: "n", Pod: "p"},
		},
		{
			name:  "not JSON",
			files: map[string]string{"/var/lib/docker/containers/" + id1 + "/config.v2.json": `{"Name":`},
			of:    Container{Runtime: "docker", ID: id1}, asked: 1,
			want: Container{Runtime: "docker", ID: id1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked := 0
			r := newRuntimes(t.Context(), state(t, tc.files))
			r.ask = func(name string, _ ...string) ([]byte, error) {
				asked++
				if answer, ok := tc.answers[name]; ok {
					return []byte(answer), nil
				}
				return nil, errors.New("not installed")
			}
			for range 2 { // the second time it is known
				got := tc.of
				r.name(&got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("container (-want +got):\n%s", diff)
				}
			}
			if asked != tc.asked {
				t.Errorf("programs asked: got %d, want %d", asked, tc.asked)
			}
		})
	}
}

func TestIsContainer(t *testing.T) {
	c := Container{Runtime: "containerd", ID: id1, Name: "upf", PodUID: uid, PodNamespace: "core", Pod: "upf-0"}
	for name, want := range map[string]bool{"upf": true, id1: true, id1[:12]: false, "": false, "up": false} {
		if got := c.is(name); got != want {
			t.Errorf("container %q: got %v, want %v", name, got, want)
		}
	}
	for digits, want := range map[string]bool{id1: true, id1[:12]: true, id1[:4]: true, id1[:3]: false, id2[:12]: false, "": false} {
		if got := c.begins(digits); got != want {
			t.Errorf("id that begins %q: got %v, want %v", digits, got, want)
		}
	}
	for pod, want := range map[string]bool{"upf-0": true, "core/upf-0": true, uid: true, "other/upf-0": false, "upf": false, "": false} {
		if got := c.isPod(pod); got != want {
			t.Errorf("pod %q: got %v, want %v", pod, got, want)
		}
	}
	project := Container{Runtime: "lxc", ID: "lab_upf1", Name: "lab_upf1"}
	for name, want := range map[string]bool{"upf1": true, "lab_upf1": true, "lab": false, "upf": false} {
		if got := project.is(name); got != want {
			t.Errorf("container %q of a project: got %v, want %v", name, got, want)
		}
	}
	if alone := (&Container{Runtime: "docker", ID: id1}); alone.isPod("") || alone.isPod("/") {
		t.Error("a container without a pod is of one")
	}
}
