package find

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTask has groups as containerd 1.6.20 makes them of ids that clients have chosen: they
// are known by the bundle alone.
func TestTask(t *testing.T) {
	r := newRuntimes(t.Context(), state(t, map[string]string{"/run/containerd/" + tasks + "/default/upf-ctr/config.json": "{}"}))
	for _, tc := range []struct {
		name, cgroup string
		want         []Container
	}{
		{"version 1", "9:name=systemd:/default/upf-ctr\n8:pids:/default/upf-ctr\n0::/\n", []Container{{Runtime: "containerd", ID: "upf-ctr", Name: "upf-ctr"}}},
		{"version 2", "0::/default/upf-ctr\n", []Container{{Runtime: "containerd", ID: "upf-ctr", Name: "upf-ctr"}}},
		{"another client's group", "0::/core/upf-ctr\n", nil},
		{"a service", "0::/system.slice/open5gs-upfd.service\n", nil},
		{"the root", "0::/\n", nil},
		{"above the root of the reader", "0::/../../config.json\n", nil},
	} {
		// There is no process 0, so there are no mounts of it.
		if diff := cmp.Diff(tc.want, r.withoutGroup(0, tc.cgroup)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestOwnMounts has mounts as Podman 4.3.1 and Docker 20.10.24 make them.
func TestOwnMounts(t *testing.T) {
	const disk = " rw,relatime - ext4 /dev/vda rw\n"
	for _, tc := range []struct {
		name, mountinfo string
		want            []Container
	}{
		{
			"podman --cgroups=disabled, vfs",
			"92 56 254:0 /var/lib/containers/storage/vfs/dir/" + id2 + " /" + disk +
				"98 92 254:0 /run/containers/storage/vfs-containers/" + id1 + "/userdata/hosts /etc/hosts" + disk +
				"100 92 254:0 /run/containers/storage/vfs-containers/" + id1 + "/userdata/.containerenv /run/.containerenv" + disk,
			[]Container{{Runtime: "podman", ID: id1}},
		},
		{
			"podman, /run a file system of its own",
			"98 92 0:25 /containers/storage/overlay-containers/" + id1 + "/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw\n",
			[]Container{{Runtime: "podman", ID: id1}},
		},
		{"docker", "118 95 254:0 /var/lib/docker/containers/" + id1 + "/resolv.conf /etc/resolv.conf" + disk, []Container{{Runtime: "docker", ID: id1}}},
		{"docker's directory, as another container may have it", "118 95 254:0 /var/lib/docker/containers /host" + disk, nil},
		{"the host", "22 1 254:0 / /" + disk + "30 22 0:30 / /var/lib/docker/containers/" + id1 + "/mounts/shm rw - tmpfs shm rw\n", nil},
	} {
		if diff := cmp.Diff(tc.want, parseOwnMounts(tc.mountinfo)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestNamespaceGone: a file of `ip netns` outlives its namespace for a moment, and is an
// ordinary one then. That is no reason to look no further.
func TestNamespaceGone(t *testing.T) {
	file := state(t, map[string]string{"/upf": ""}) + "/upf"
	n := &namespace{inode: 1, path: file}
	if err := n.do(func() error { return nil }); !ended(err) {
		t.Errorf("got %v, want it to have ended", err)
	}
}
