package find

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/probe"
)

const (
	// lookEvery is how often processes are looked at, of which nothing tells; less often
	// on a machine where a look takes more than 1/lookShare of that.
	lookEvery = 2 * time.Second
	lookShare = 50
	// lookGap is the least time between two looks, however much devices change; longer
	// where looks would take more than 1/newsShare of the time.
	lookGap   = 100 * time.Millisecond
	newsShare = 5
	// lookAgain is when a look follows that on the news of a device: a UPF that has just
	// made its TUN device has its sockets soon.
	lookAgain = 300 * time.Millisecond
	// lingerTime is how long a namespace is listened to that a target has left.
	lingerTime = 10 * time.Second
	// mostNames is how many targets that are gone are remembered, at most.
	mostNames = 4096
)

// Change is what has become of one target since the last time.
type Change struct {
	Target Target // as it is now; if it is gone, as it was
	Gone   bool
	// Detach are the points that are no more, and Attach those that are new, in this
	// order: a device that was made anew is in both. Point.UPF is left to the caller, who
	// knows the target by its name, which it keeps when it is started again. Both are
	// empty if only N4 is another one, or the process, or the addresses.
	Detach, Attach []probe.Point
	N4             bool // Target.N4At, or a device there, is another one
}

// Watch tells what changes of the UPFs that s means, until ctx is done: devices that are
// made anew at once, by the news of the kernel; UPFs that are started, restarted or end
// within seconds. known are the targets of a [Find] before. An error of tell ends it.
//
// It returns the error of tell, or that of not being able to look; nil when ctx is done.
func Watch(ctx context.Context, s Selector, known []Target, tell func(Change) error) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	w := &watcher{
		selector: s, tell: tell, names: newRuntimes(ctx, hostRoot()),
		known: map[string]Target{}, given: map[string]string{}, news: make(chan struct{}, 1), rooms: map[uint64]*room{},
	}
	for _, t := range known {
		w.note(t)
	}
	defer w.close()
	w.listen()
	if err := w.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// watcher holds what Watch knows. It is for one goroutine.
type watcher struct {
	selector Selector
	tell     func(Change) error
	names    *runtimes
	known    map[string]Target // by name
	fresh    map[string]Target // new ones, which may not have opened everything yet: told of once nothing changes
	given    map[string]string // names by process and identity, also of targets that are gone
	news     chan struct{}     // of devices, in any of the namespaces
	rooms    map[uint64]*room  // by inode of the namespace
}

func (w *watcher) run(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for news := false; ; {
		begin := time.Now()
		if err := w.look(ctx); err != nil {
			return err
		}
		w.listen()
		took := time.Since(begin)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(lookGap, newsShare*took)):
		}
		if news || len(w.fresh) > 0 {
			timer.Reset(lookAgain)
		} else {
			timer.Reset(max(lookEvery, lookShare*took))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.news:
			news = true
		case <-timer.C:
			news = false
		}
	}
}

func (w *watcher) look(ctx context.Context) error {
	targets, err := w.find(ctx)
	if err != nil {
		return err
	}
	return w.compare(targets)
}

// compare tells how what there is differs from what was known.
func (w *watcher) compare(targets []Target) error {
	now := map[string]bool{}
	for _, t := range targets {
		now[t.Name] = true
	}
	for _, name := range sortedNames(w.known) {
		if now[name] {
			continue
		}
		was := w.known[name]
		delete(w.known, name)
		if err := w.tell(Change{Target: was, Gone: true, Detach: was.Points, N4: true}); err != nil {
			return err
		}
	}
	fresh := w.fresh
	w.fresh = map[string]Target{}
	for _, t := range targets {
		was, old := w.known[t.Name]
		t.keep(&was)
		if before := fresh[t.Name]; !old && !slices.Equal(before.spots, t.spots) {
			w.fresh[t.Name] = t
			continue
		}
		w.note(t)
		c := Change{
			Target: t, Detach: without(&was, &t), Attach: without(&t, &was), N4: !old || !slices.Equal(was.n4Spots, t.n4Spots),
		}
		// One that was started again between two looks may have left its devices as they were.
		same := was.process() == t.process() && slices.Equal(was.N3, t.N3) && slices.Equal(was.N4, t.N4)
		if old && same && !c.N4 && len(c.Detach)+len(c.Attach) == 0 {
			continue
		}
		if err := w.tell(c); err != nil {
			return err
		}
	}
	return nil
}

// find looks once. What has gone is no error.
func (w *watcher) find(ctx context.Context) ([]Target, error) {
	m, err := look(ctx, w.names)
	if err != nil {
		return nil, err
	}
	defer m.close()
	targets, err := m.find(ctx, w.selector)
	if ended(err) || errors.Is(err, ErrNone) || errors.Is(err, errGone) {
		return nil, nil
	}
	christen(targets, w.given)
	return targets, err
}

// note remembers a target, and how it is recognised.
func (w *watcher) note(t Target) {
	if len(w.given) >= mostNames {
		clear(w.given)
	}
	w.known[t.Name], w.given[t.identity()], w.given[t.home()] = t, t.Name, t.Name
	if t.PID != 0 {
		w.given[t.process()] = t.Name
	}
}

// keep names the points that were there before as they were named: another process may
// have been the way to the namespace.
func (t *Target) keep(was *Target) {
	for i, s := range t.spots {
		if before := slices.Index(was.spots, s); before >= 0 {
			t.Points[i] = was.Points[before]
		}
	}
}

// without returns the points of a that b does not have. A device that was made anew has
// another index.
func without(a, b *Target) []probe.Point {
	var points []probe.Point
	for i, s := range a.spots {
		if !slices.Contains(b.spots, s) {
			points = append(points, a.Points[i])
		}
	}
	return points
}

// room is a namespace whose devices are listened to.
type room struct {
	until time.Time     // zero: as long as there are points in it
	done  chan struct{} // closed, it ends
	ended chan struct{} // it has ended: closed by whoever listens
}

// listen follows the news of the devices in the namespaces of the points. Of those that
// have no points any more it goes on for a while: a device may be made anew, but the
// socket would keep the namespace of a UPF that has ended.
func (w *watcher) listen() {
	wanted := map[uint64]string{}
	for _, t := range w.known {
		wanted[t.Inode] = t.Namespace
		for i, s := range t.spots {
			wanted[s.space] = t.Points[i].Namespace
		}
		for i, s := range t.n4Spots {
			wanted[s.space] = t.N4At[i].Namespace
		}
	}
	for number, r := range w.rooms {
		_, stays := wanted[number]
		switch {
		case stays:
			r.until = time.Time{}
		case r.until.IsZero():
			r.until = time.Now().Add(lingerTime)
		}
		if r.gone() || !stays && time.Now().After(r.until) {
			close(r.done)
			delete(w.rooms, number)
		}
	}
	for number, path := range wanted {
		if w.rooms[number] == nil {
			w.enter(number, path)
		}
	}
}

// gone reports whether the kernel has ended the news: they came faster than they were
// read.
func (r *room) gone() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (w *watcher) close() {
	for _, r := range w.rooms {
		close(r.done)
	}
}

// enter subscribes to the news of a namespace. If that fails, looking now and then has to
// do.
func (w *watcher) enter(number uint64, path string) {
	if path == "" {
		path = ownPath
	}
	handle, err := netns.GetFromPath(path)
	if err != nil {
		return
	}
	defer handle.Close()
	updates := make(chan netlink.LinkUpdate, 64)
	r := &room{done: make(chan struct{}), ended: make(chan struct{})}
	err = netlink.LinkSubscribeWithOptions(updates, r.done, netlink.LinkSubscribeOptions{
		Namespace: &handle, ErrorCallback: func(error) {}, // the next look finds out
	})
	if err != nil {
		close(r.done)
		return
	}
	w.rooms[number] = r
	go func() {
		defer close(r.ended)
		for range updates {
			select {
			case w.news <- struct{}{}:
			default:
			}
		}
	}()
}

func sortedNames(targets map[string]Target) []string {
	return slices.Sorted(maps.Keys(targets))
}
