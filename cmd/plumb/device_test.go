package main

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestDeviceReplaced: the device of N6 or N3 is removed under traffic, and another one has
// its name and addresses: the UPF forwards again without a restart, with all its sessions,
// and counts what arrives.
func TestDeviceReplaced(t *testing.T) {
	for _, name := range movable {
		t.Run(name, func(t *testing.T) {
			b := newMoveBed(t, "plt-device", name, func(b *moveBed) {
				if inKernel[name] { // pins are of the devices of before, too
					b.config.Store.Path, b.config.XDP.Pin = t.TempDir()+"/store", b.pin()
				}
			})
			b.check("at the start", inKernel[name])
			for _, l := range []struct {
				what string
				*topology.Link
			}{{"N6", &b.N6}, {"N3", &b.N3}, {"N6 again", &b.N6}} {
				before := time.Now()
				if err := b.Replace(l.Link); err != nil {
					t.Fatal(err)
				}
				b.awaitOpened(before)
				b.check(l.what+" replaced", inKernel[name])
			}
			if d, err := b.api.Datapath(t.Context()); err != nil || d.Name != name {
				t.Errorf("%+v, %v forwards", d, err)
			}
			b.upf.stop()
		})
	}
}

// awaitOpened returns when the datapath forwards that was opened after a time.
func (b *moveBed) awaitOpened(after time.Time) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		d, err := b.api.Datapath(b.t.Context())
		if err == nil && d.Since.After(after) {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%+v, %v forwards, not opened again:\n%s", d, err, b.upf.log())
		}
	}
}
