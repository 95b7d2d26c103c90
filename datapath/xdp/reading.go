package xdp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// maxFailures is how often in a row a reader may fail before it gives up, which
	// is after some 10 s: want of memory passes, what stays is an error.
	maxFailures = 100
	// retryMin and retryMax are how long it waits after a failure, twice as long
	// each time.
	retryMin, retryMax = time.Millisecond, 128 * time.Millisecond
)

// readAll calls read again and again until what it reads is closed; then it returns
// nil. What is wrong is logged once until it is right again.
//
// Errors: that of read, when it lasts.
func (d *Driver) readAll(what string, read func() error) error {
	wait, failures := retryMin, 0
	for {
		err := read()
		switch {
		case err == nil:
			wait, failures = retryMin, 0
			continue
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrClosed):
			return nil
		case failures == maxFailures:
			return fmt.Errorf("xdp: read %s, %d times in a row: %w", what, failures+1, err)
		case failures == 0:
			d.log.Warn("reading fails, and is tried again", "what", what, "error", err)
		}
		failures++
		time.Sleep(wait)
		wait = min(2*wait, retryMax)
	}
}

// ending is why a driver cannot go on. The zero value is one that does.
type ending struct {
	mu    sync.Mutex
	ended chan struct{}
	err   error
}

// signal is closed when there is an error.
func (e *ending) signal() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended == nil {
		e.ended = make(chan struct{})
	}
	return e.ended
}

// fail ends the driver with err, which the first one is that counts; nil does
// nothing.
func (e *ending) fail(err error) {
	if err == nil {
		return
	}
	ended := e.signal()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(ended)
	}
}

// Ended is closed when a part of the driver has failed for good, so that it does
// only what the programs do by themselves: [Driver.Err] says which. Who waits for it
// should close the driver and start another one; with pins no packet is lost.
func (d *Driver) Ended() <-chan struct{} { return d.ending.signal() }

// Err returns what has failed for good; nil: nothing.
func (d *Driver) Err() error {
	d.ending.mu.Lock()
	defer d.ending.mu.Unlock()
	return d.ending.err
}
