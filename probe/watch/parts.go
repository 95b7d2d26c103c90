package watch

import (
	"errors"
	"time"

	"plumbline/probe"
	"plumbline/probe/beyond"
	"plumbline/probe/find"
)

// followEvery is how often the files that UPFs read from are looked for anew.
const followEvery = time.Second

// parts are what takes delays apart.
type parts struct {
	beyond   *beyond.Beyond // nil: delays are not taken apart
	followed time.Time
	failed   bool // to follow, the last time
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

// settleBeyond measures beside a UPF, where its devices are now, while it runs.
func (w *Watch) settleBeyond(u *upf) {
	if w.parts.beyond == nil {
		return
	}
	if u.gone {
		w.parts.beyond.Leave(u.target.Name)
		return
	}
	const name = "beyond the UPF"
	delete(u.failed, name)
	if err := w.parts.beyond.Add(u.target); err != nil && !errors.Is(err, beyond.ErrNoDevice) {
		u.failed[name] = err
		w.config.Log.Warn("probe: not measured beyond the UPF", "upf", u.target.Name, "error", err)
	}
}

// follow follows the files that UPFs read packets from now and then: they may be others
// by now.
func (w *Watch) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.parts.followed) >= followEvery {
		w.followNow()
	}
}

// followNow is follow with w.mu held. What is not followed, packets of unknown parts tell.
func (w *Watch) followNow() {
	if w.parts.beyond == nil {
		return
	}
	w.parts.followed = time.Now()
	var readers []probe.Reader
	for _, u := range w.upfs {
		if u.gone || u.target.PID == 0 {
			continue
		}
		found, err := probe.Readers(u.target.PID)
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

// moved reports whether a change has to do with where packets pass.
func moved(c find.Change) bool { return len(c.Attach)+len(c.Detach) > 0 }
