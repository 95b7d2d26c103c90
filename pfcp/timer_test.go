package pfcp

import (
	"errors"
	"testing"
	"time"
)

// TestTimer: the shortest timer that is not shorter, and how long it runs.
func TestTimer(t *testing.T) {
	for _, tc := range []struct {
		in   time.Duration
		want Timer
		runs time.Duration
	}{
		{0, 0x00, 0}, {time.Second, 0x01, 2 * time.Second}, {62 * time.Second, 0x1f, 62 * time.Second},
		{63 * time.Second, 0x22, 2 * time.Minute}, {time.Hour, 0x46, time.Hour}, {11 * time.Hour, 0x6b, 11 * time.Hour},
		{1000 * time.Hour, 0x9f, 310 * time.Hour},
	} {
		got := NewTimer(tc.in)
		if got != tc.want && got.Duration() != tc.runs || got.Duration() != tc.runs || got.Infinite() {
			t.Errorf("%s: got %#02x, which runs %s, want %#02x, %s", tc.in, got, got.Duration(), tc.want, tc.runs)
		}
	}
	if !TimerInfinite.Infinite() {
		t.Error("the infinite timer ends")
	}
	if got := Timer(5<<timerShift | 3).Duration(); got != 3*time.Minute {
		t.Errorf("unknown unit: got %s, want 3 minutes", got)
	}
}

// TestNullLength: in a modification an IE of null length asks to remove what it
// had said; in a creation, or where it is mandatory, it has an invalid length.
func TestNullLength(t *testing.T) {
	var m SessionModificationRequest
	urr := append(tlv(IEURRID, 0, 0, 0, 7), append(tlv(IEVolumeThreshold), tlv(IEVolumeThreshold)...)...)
	if err := m.Decode(append(tlv(IEUpdateURR, urr...), tlv(IEUserPlaneInactivityTimer)...)); err != nil {
		t.Fatal(err)
	}
	if u := m.UpdateURRs[0]; len(u.Removed) != 1 || u.Removed[0] != IEVolumeThreshold || u.VolumeThreshold.Present {
		t.Errorf("got %+v", u)
	}
	if len(m.Removed) != 1 || m.Removed[0] != IEUserPlaneInactivityTimer {
		t.Errorf("got %v", m.Removed)
	}
	for name, body := range map[string][]byte{
		"Create URR": tlv(IECreateURR, urr...), "mandatory": tlv(IEUpdateURR, tlv(IEURRID)...),
		"group": tlv(IEUpdateFAR, append(tlv(IEFARID, 0, 0, 0, 1), tlv(IEUpdateForwardingParameters, tlv(IEOuterHeaderCreation, 1)...)...)...),
	} {
		if err := m.Decode(body); !errors.Is(err, ErrLength) {
			t.Errorf("%s: got %v, want %v", name, err, ErrLength)
		}
	}
}

// TestPFDList reads the fields of an Additional part, up to one that is cut.
func TestPFDList(t *testing.T) {
	var got []string
	for field := range PFDList([]byte("\x00\x01a\x00\x02bc\x00\x09x")) {
		got = append(got, string(field))
	}
	if len(got) != 2 || got[0] != "a" || got[1] != "bc" {
		t.Errorf("got %q", got)
	}
}
