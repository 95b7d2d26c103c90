package dut

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/upf"
)

// TestStartSaysWhyItFailed runs programs that end instead of being a UPF.
func TestStartSaysWhyItFailed(t *testing.T) {
	bed := newBed(t)
	for _, tc := range []struct {
		name, script string
		want         string
		unsupported  bool
	}{
		{"fails", "echo no such device >&2; exit 1", "no such device", false},
		{"is not supported", "echo no XDP here; exit 3", "no XDP here", true},
		{"ends well", "exit 0", "exit status 0", false},
		{"is in the namespace, and configured", `grep -c "n3:" "$3" >/dev/null && cat /proc/net/dev; exit 1`, "n6:", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kind := Plumbline(upf.DatapathXDP, nil)
			kind.Path = script(t, "upf", tc.script)
			_, err := Start(context.Background(), kind, At(bed))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
			if got := errors.Is(err, errors.ErrUnsupported); got != tc.unsupported {
				t.Errorf("%v: is unsupported: got %v, want %v", err, got, tc.unsupported)
			}
		})
	}
}
