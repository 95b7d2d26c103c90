package find

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChoose selects among processes of two namespaces.
func TestChoose(t *testing.T) {
	m, n := bed(n3, ogstun)
	host := m.spaces[hostSpace]
	tun := verdict{datapath: TUN, at: []*device{&n.devices[1]}}
	docker := Container{Runtime: "docker", ID: id1, Name: "upf1"}
	pod := Container{Runtime: "containerd", ID: "ff" + id1[2:], Name: "upf", PodUID: uid, PodNamespace: "core", Pod: "upf-0"}
	sockets := []socket{gtpuAt("10.3.0.1"), pfcpAny}
	upf := &candidate{process: &process{pid: 10, command: "upfd", sockets: sockets}, space: n, verdict: tun, containers: []Container{docker}}
	gnb := &candidate{process: &process{pid: 11, command: "gnb", sockets: sockets[:1]}, space: n, verdict: tun, containers: []Container{docker}}
	smf := &candidate{process: &process{pid: 12, command: "smfd", sockets: sockets[1:]}, space: host}
	podded := &candidate{process: &process{pid: 13, command: "upf", sockets: sockets[:1]}, space: host, verdict: verdict{datapath: XDP}, containers: []Container{pod}}
	all := []*candidate{upf, gnb, smf, podded}
	for _, tc := range []struct {
		name string
		s    Selector
		want []*candidate
		err  string
	}{
		{"namespace by number", Selector{Netns: "4026532001"}, []*candidate{upf}, ""},
		{"namespace by name", Selector{Netns: "upf"}, []*candidate{upf}, ""},
		{"no such namespace", Selector{Netns: "none"}, nil, "no such network namespace: none"},
		{"container", Selector{Container: "upf1"}, []*candidate{upf}, ""},
		{"container by id", Selector{Container: id1[:12]}, []*candidate{upf}, ""},
		{"no such container", Selector{Container: "upf2"}, nil, "no UPF found for container upf2; seen: upfd (process 10: PFCP, GTP-U"},
		{"pod", Selector{Pod: "core/upf-0"}, []*candidate{podded}, ""},
		{"pod of another namespace", Selector{Pod: "x/upf-0"}, nil, "pod x/upf-0"},
		{"container in another namespace", Selector{Container: "upf1", Netns: "4026532002"}, nil, "netns 4026532002, container upf1"},
		{"process that is not there", Selector{PID: 1 << 30}, nil, "process 1073741824"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := m.choose(all, tc.s)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names, want []string
			for _, c := range got {
				names = append(names, c.command)
			}
			for _, c := range tc.want {
				want = append(want, c.command)
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorIsChecked(t *testing.T) {
	for _, tc := range []struct {
		s    Selector
		want string
	}{
		{Selector{}, "no UPF is named"},
		{Selector{Auto: true, PID: 1}, "one or the other"},
		{Selector{PID: -1}, "process -1"},
	} {
		if _, err := Find(t.Context(), tc.s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: got %v, want an error with %q", tc.s, err, tc.want)
		}
	}
}

// TestErrNone wants to be told what there is.
func TestErrNone(t *testing.T) {
	_, err := Find(t.Context(), Selector{Devices: []Device{{Name: "plt-none"}}})
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "no device plt-none") {
		t.Errorf("got %v, want ErrNone for device plt-none", err)
	}
}

// TestChristen names targets, and the same ones again after a restart.
func TestChristen(t *testing.T) {
	one, two := []netip.Addr{netip.MustParseAddr("10.3.0.1")}, []netip.Addr{netip.MustParseAddr("10.3.0.2")}
	fresh := func() []Target {
		return []Target{
			{PID: 5, Command: "upfd", Inode: 1, N3: one},
			{PID: 6, Command: "upfd", Inode: 1, N3: two},
			{PID: 7, Command: "upfd", Inode: 2, N3: two},
			{PID: 8, Command: "upfd", Inode: 3, label: "slice1", N3: one},
			{PID: 9, Command: "upfd", Inode: 4, Containers: []Container{{Runtime: "docker", ID: id1, Name: "upf1"}}},
			{PID: 10, Command: "upfd", Inode: 5, Containers: []Container{{Runtime: "docker", ID: id1}}},
			{PID: 0, Inode: 6},
		}
	}
	targets := fresh()
	christen(targets, nil)
	known := map[string]string{}
	var names []string
	for i := range targets {
		names = append(names, targets[i].Name)
		known[targets[i].identity()] = targets[i].Name
	}
	want := []string{"devices", "upfd", "upfd@10.3.0.2", "upfd#7", "upfd.slice1", "upf1", id1[:12]}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}

	again := fresh()[1:] // the first is gone
	for i := range again {
		again[i].PID = 20 - i // 0 as well: started again in the other order
	}
	christen(again, known)
	for i := range again {
		if got := known[again[i].identity()]; again[i].Name != got {
			t.Errorf("%+v: got %q, want %q", again[i], again[i].Name, got)
		}
	}
	moved := fresh()[:2]
	known[moved[0].home()] = "upfd"
	moved[0].N3 = []netip.Addr{netip.MustParseAddr("10.3.0.3")}
	christen(moved, known)
	if moved[0].Name != "upfd" || moved[1].Name != "upfd@10.3.0.2" {
		t.Errorf("with another address: got %s and %s, want upfd and upfd@10.3.0.2", moved[0].Name, moved[1].Name)
	}
	third := append(fresh()[:2], Target{PID: 22, Command: "upfd", Inode: 1, N3: []netip.Addr{netip.MustParseAddr("10.3.0.3")}})
	christen(third, known)
	if third[2].Name != "upfd@10.3.0.3" {
		t.Errorf("beside the one that was there: got %s, want upfd@10.3.0.3", third[2].Name)
	}
	stranger := []Target{{PID: 30, Command: "upfd", Inode: 9}}
	christen(stranger, known)
	if stranger[0].Name != "upfd#30" {
		t.Errorf("one of the same program: got %q, want upfd#30", stranger[0].Name)
	}
}
