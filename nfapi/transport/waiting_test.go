package transport

import (
	"errors"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestWaiting: what came before it was read has waited since; a clock that was set
// meanwhile makes nobody wait for longer than the socket had anything in it, nor for less
// than nothing.
func TestWaiting(t *testing.T) {
	begin := time.Now()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	var w waiting
	for _, step := range []struct {
		read    int // ms
		arrived int // ms, by a clock that may have been set
		waited  int // ms
		empty   bool
	}{
		{read: 1000, arrived: 100, waited: 900, empty: true}, // it was there before anybody read
		{read: 1010, arrived: 1007, waited: 3, empty: true},
		{read: 1020, arrived: 1019, waited: 1},              // as many as are read at once
		{read: 1030, arrived: 1012, waited: 18},             // the others
		{read: 1040, arrived: 1, waited: 40, empty: true},   // it has been read empty at 1010, or since 1000
		{read: 1050, arrived: 5000, waited: 0, empty: true}, // the clock was set back
		{read: 1060, arrived: 1, waited: 20, empty: true},   // and forward
	} {
		if got := w.of(at(step.arrived).UnixNano(), at(step.read)); got != time.Duration(step.waited)*time.Millisecond {
			t.Errorf("read at %d: waited for %v, want %d ms", step.read, got, step.waited)
		}
		w.taken(at(step.read), step.empty)
	}
	if got := w.of(0, at(1070)); got != 0 {
		t.Errorf("got %v without a time stamp, want 0", got)
	}
}

// TestWaited: what came while the receiver did something else has waited for as long.
func TestWaited(t *testing.T) {
	from, to := opened(t, P7Config{}), opened(t, P7Config{})
	send := func() (sent time.Time) {
		if err := errors.Join(from.Send(to.LocalAddr(), 1, &nfapi.SlotIndication{}, 0), from.Flush()); err != nil {
			t.Error(err)
		}
		return time.Now()
	}
	send()
	least, tries := time.Hour, 0
	err := to.Receive(func(d *Datagram) {
		if d.Waited >= least || tries == 10000 { // the kernel begins to stamp some time after it was asked to
			if d.Waited < least {
				t.Errorf("waited for %v, want %v at least", d.Waited, least)
			}
			to.Close()
			return
		}
		tries++
		sent := send()
		time.Sleep(time.Millisecond)
		least = time.Since(sent)
	})
	if err != nil {
		t.Fatal(err)
	}
}
