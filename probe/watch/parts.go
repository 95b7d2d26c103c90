package watch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/beyond"
	"github.com/plumbline-upf/plumbline/probe/find"
)

const (
	// followEvery is how often the files that UPFs read from, and what is beside them, are
	// looked for anew; less often on a machine where a look takes more than 1/followShare of
	// that.
	followEvery = time.Second
	followShare = 50
)

// parts are what takes delays apart.
type parts struct {
	beyond *beyond.Beyond // nil: delays are not taken apart
	next   time.Time      // when to follow again
	failed bool           // to follow, the last time
}

func (w *Watch) openParts() (err error) {
	if w.config.Probe.Parts {
		w.parts.beyond, err = beyond.Open(w.config.Probe)
	}
	return err
}

func (w *Watch) closeParts() error {
	if w.parts.beyond == nil {
		return nil
	}
	return w.parts.beyond.Close()
}

// settleBeyond measures beside a UPF, where its devices are and for the UEs that are routed
// to them now, while it runs. What keeps it from that is logged at the level.
func (w *Watch) settleBeyond(u *upf, level slog.Level) {
	if w.parts.beyond == nil {
		return
	}
	const name = "beyond the UPF"
	delete(u.failed, name)
	if u.gone {
		w.parts.beyond.Leave(u.target.Name)
		return
	}
	if err := w.parts.beyond.Settle(u.target); err != nil && !errors.Is(err, beyond.ErrNoDevice) {
		u.failed[name] = err
		w.config.Log.Log(context.Background(), level, "probe: not measured beyond the UPF", "upf", u.target.Name, "error", err)
	}
}

// follow follows the files that UPFs read packets from, and what is beside UPFs, now and
// then: they may be others by now.
func (w *Watch) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	begin := time.Now()
	if w.parts.beyond == nil || begin.Before(w.parts.next) {
		return
	}
	w.followNow()
	for _, u := range w.upfs {
		if !w.leaving {
			w.settleBeyond(u, slog.LevelDebug) // one that has just ended, the next change is about
		}
	}
	w.parts.next = time.Now().Add(max(followEvery, followShare*time.Since(begin)))
}

// followNow is follow with w.mu held. What is not followed, packets of unknown parts tell.
func (w *Watch) followNow() {
	if w.parts.beyond == nil {
		return
	}
	var readers []probe.Reader
	for _, u := range w.upfs {
		if u.gone || u.target.PID == 0 {
			continue
		}
		found, err := find.Readers(u.target.PID)
		if err != nil { // it has just ended, or may not be looked at
			w.config.Log.Debug("probe: files of a UPF", "upf", u.target.Name, "error", err)
			continue
		}
		readers = append(readers, found...)
	}
	err := w.probe.Follow(readers)
	if err != nil && !w.parts.failed {
		w.config.Log.Warn("probe: not all delays are taken apart", "error", err)
	}
	w.parts.failed = err != nil
}

// Beyond returns what the kernel did with packets between UPFs' TUN devices and other
// devices; nothing unless delays are taken apart (probe.Config.Parts).
func (w *Watch) Beyond() ([]beyond.Stage, error) {
	if w.parts.beyond == nil {
		return nil, nil
	}
	return w.parts.beyond.Read()
}
