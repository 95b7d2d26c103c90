package find

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/probe"
)

// TestChange compares a target with itself after a restart in a namespace that now has
// another path, with one device made anew: what stays keeps its name.
func TestChange(t *testing.T) {
	at := func(path, device string) probe.Point { return probe.Point{Namespace: path, Device: device} }
	was := Target{
		Points: []probe.Point{at("/proc/1/ns/net", "n3"), at("/proc/1/ns/net", "ogstun")},
		spots:  []spot{{space: 7, index: 3}, {space: 7, index: 9}},
	}
	now := Target{
		Points: []probe.Point{at("/proc/2/ns/net", "n3"), at("/proc/2/ns/net", "ogstun"), at("/proc/2/ns/net", "n9")},
		spots:  []spot{{space: 7, index: 3}, {space: 7, index: 10}, {space: 7, index: 11}},
	}
	now.keep(&was)
	for _, tc := range []struct {
		name      string
		got, want []probe.Point
	}{
		{"points", now.Points, []probe.Point{at("/proc/1/ns/net", "n3"), at("/proc/2/ns/net", "ogstun"), at("/proc/2/ns/net", "n9")}},
		{"detach", without(&was, &now), []probe.Point{at("/proc/1/ns/net", "ogstun")}},
		{"attach", without(&now, &was), []probe.Point{at("/proc/2/ns/net", "ogstun"), at("/proc/2/ns/net", "n9")}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestCompare tells of a UPF, of another process in its place that left its devices as
// they were, of other addresses, and of its end, and no more.
func TestCompare(t *testing.T) {
	var told []Change
	w := &watcher{
		known: map[string]Target{}, given: map[string]string{},
		tell: func(c Change) error { told = append(told, c); return nil },
	}
	point := probe.Point{Namespace: "/run/netns/upf", Device: "n3"}
	at := func(pid int, addresses ...string) Target { // of N3, and of N4
		t := Target{Name: "upf", PID: pid, Points: []probe.Point{point}, spots: []spot{{space: 7, index: 3}}, n4Spots: []spot{{space: 7, index: 1}}}
		for i, list := range []*[]netip.Addr{&t.N3, &t.N4}[:len(addresses)] {
			*list = []netip.Addr{netip.MustParseAddr(addresses[i])}
		}
		return t
	}
	for range 2 {
		for _, now := range [][]Target{
			{at(1)}, {at(1)}, {at(2)}, {at(2)}, {at(2, "192.0.2.1")}, {at(2, "192.0.2.1", "192.0.2.2")}, {at(2, "192.0.2.1", "192.0.2.2")}, {at(2)}, nil,
		} {
			if err := w.compare(now); err != nil {
				t.Fatal(err)
			}
		}
	}
	once := []Change{
		{Target: at(1), Attach: []probe.Point{point}, N4: true},
		{Target: at(2)},
		{Target: at(2, "192.0.2.1")},
		{Target: at(2, "192.0.2.1", "192.0.2.2")},
		{Target: at(2)},
		{Target: at(2), Gone: true, Detach: []probe.Point{point}, N4: true},
	}
	same := cmp.Options{cmp.AllowUnexported(Target{}, spot{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })}
	if diff := cmp.Diff(slices.Concat(once, once), told, same); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestListen follows the news of a namespace while there are points in it, and for a
// while after that.
func TestListen(t *testing.T) {
	w := &watcher{known: map[string]Target{}, given: map[string]string{}, news: make(chan struct{}, 1), rooms: map[uint64]*room{}}
	defer w.close()
	own, err := inode(ownPath)
	if err != nil {
		t.Fatal(err)
	}
	w.known["upf"] = Target{Inode: own}
	w.listen()
	if w.rooms[own] == nil || w.rooms[own].gone() || !w.rooms[own].until.IsZero() {
		t.Fatalf("with points: got %+v, want to listen", w.rooms[own])
	}
	delete(w.known, "upf")
	w.listen()
	r := w.rooms[own]
	if r == nil || r.until.IsZero() {
		t.Fatalf("without points: got %+v, want to listen for a while", r)
	}
	r.until = r.until.Add(-2 * lingerTime)
	w.listen()
	if w.rooms[own] != nil {
		t.Error("after that: still listening")
	}
	<-r.ended // whoever listened has
	w.known["upf"] = Target{Inode: own}
	w.listen()
	if w.rooms[own] == nil {
		t.Error("with points again: want to listen")
	}
}
