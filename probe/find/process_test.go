package find

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/plumbline-upf/plumbline/internal/printable"
)

func TestIdentity(t *testing.T) {
	const rest = " S 1 4242 4242 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 987654 1000 2000" +
		" 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
	for _, tc := range []struct {
		name, stat, command string
		born                uint64
		fails               bool
	}{
		{"plain", "4242 (open5gs-upfd)" + rest, "open5gs-upfd", 987654, false},
		{"parentheses and blanks", "4242 (a) b (c)" + rest, "a) b (c", 987654, false},
		{"escape", "4242 (\x1b[2Jx)" + rest, "?[2Jx", 987654, false},
		{"no name", "4242 x" + rest, "", 0, true},
		{"short", "4242 (x) S 1", "", 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := errors.Join(os.Mkdir(dir+"/4242", 0o700), os.WriteFile(dir+"/4242/stat", []byte(tc.stat), 0o600)); err != nil {
				t.Fatal(err)
			}
			files, err := procfs.NewFS(dir)
			if err != nil {
				t.Fatal(err)
			}
			p, err := files.Proc(4242)
			if err != nil {
				t.Fatal(err)
			}
			command, born, err := identity(p)
			if (err != nil) != tc.fails || !tc.fails && (command != tc.command || born != tc.born) {
				t.Errorf("got %q, %d, %v, want %q, %d, an error %v", command, born, err, tc.command, tc.born, tc.fails)
			}
		})
	}
}

func TestFdinfo(t *testing.T) {
	const tun = "pos:\t0\nflags:\t0104002\nmnt_id:\t23\nino:\t8\niff:\togstun\n"
	const link = "pos:\t0\nflags:\t02000000\nlink_type:\txdp\nlink_id:\t7\nprog_tag:\ta04f5eef06a7f555\nprog_id:\t31\nifindex:\t4\n"
	if got := tunName(tun); got != "ogstun" {
		t.Errorf("name of the TUN device: got %q, want ogstun", got)
	}
	if got := tunName("pos:\t0\n"); got != "" {
		t.Errorf("a file without a device: got %q, want none", got)
	}
	if got := programID(link); got != 31 {
		t.Errorf("program: got %d, want 31", got)
	}
	if !isXSKMap("pos:\t0\nmap_type:\t17\nkey_size:\t4\n") || isXSKMap("map_type:\t1\n") || isXSKMap(link) {
		t.Error("maps of AF_XDP sockets are told from others wrongly")
	}
	if got := programID(tun); got != 0 {
		t.Errorf("program of a TUN file: got %d, want 0", got)
	}
}

func TestDrivesDevice(t *testing.T) {
	for target, want := range map[string]bool{
		"/dev/vfio/12": true, "/dev/uio0": true, "/dev/vfio/vfio": false, "/dev/net/tun": false, "/dev/vfiox": false,
	} {
		if got := drivesDevice(target); got != want {
			t.Errorf("%s: got %v, want %v", target, got, want)
		}
	}
}

func TestParseMounts(t *testing.T) {
	const text = `22 1 0:20 / / rw,relatime - overlay overlay rw
61 22 0:4 net:[4026532275] /run/netns/upf\0401 rw shared:1 - nsfs nsfs rw
62 22 0:4 mnt:[4026532276] /run/snapd/ns/x.mnt rw - nsfs nsfs rw
63 22 0:4 net:[0] /run/netns/zero rw - nsfs nsfs rw
64 22 0:4 net:[x] /run/netns/bad rw
65 short
`
	want := []mount{{inode: 4026532275, path: "/run/netns/upf 1"}}
	if diff := cmp.Diff(want, parseMounts(text), allowed); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

// FuzzProc wants what the kernel or a process may have written there to be read, or
// refused, and names to be fit for a terminal.
func FuzzProc(f *testing.F) {
	f.Add("61 22 0:4 net:[4026532275] /run/netns/upf rw shared:1 - nsfs nsfs rw")
	f.Add("12:pids:/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMounts(text) {
			if m.inode == 0 {
				t.Errorf("mount without a namespace: %+v", m)
			}
		}
		for _, c := range parseCgroup(text) {
			if c.Runtime == "" || c.ID == "" || printable.Line(c.Name) != c.Name {
				t.Errorf("container %+v", c)
			}
		}
	})
}
