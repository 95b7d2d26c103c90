package stages

import (
	"testing"
	"unsafe"
)

// TestHome: each direction and the volume are a cache line, and who asks twice has
// another one.
func TestHome(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(home{}); size != 3*line {
		t.Errorf("a home has %d octets, want %d", size, 3*line)
	}
	r := &rooms{}
	up, down, m, v := r.newCounters(Uplink), r.newCounters(Downlink), r.newMeter(Uplink), r.newVolume(5)
	at := func(p unsafe.Pointer) uintptr { return uintptr(p) - uintptr(unsafe.Pointer(r.home)) }
	if got := at(unsafe.Pointer(up)) / line; got != at(unsafe.Pointer(m))/line || got == at(unsafe.Pointer(down))/line {
		t.Errorf("uplink: counters in line %d, meter in line %d; counters of downlink in line %d", got, at(unsafe.Pointer(m))/line, at(unsafe.Pointer(down))/line)
	}
	if v != &r.home.volume || v.ID != 5 {
		t.Errorf("URR %d is not at home", v.ID)
	}
	if again := r.newCounters(Uplink); again == up || r.newMeter(Uplink) == m || r.newVolume(6) == v {
		t.Error("given away twice")
	}
}
