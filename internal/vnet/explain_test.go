package vnet

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExplain: who may not open the file is not told to get a capability, which would not
// help.
func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want string
		is   error
	}{
		{"no file", &os.PathError{Op: "open", Path: cloneDevice, Err: unix.ENOENT},
			"device upf0: open /dev/net/tun: no such file or directory: unsupported operation", errors.ErrUnsupported},
		{"file forbidden", &os.PathError{Op: "open", Path: cloneDevice, Err: unix.EPERM},
			"device upf0: open /dev/net/tun: operation not permitted: a container has to be given that file", os.ErrPermission},
		{"device forbidden", unix.EPERM, "device upf0 needs CAP_NET_ADMIN: operation not permitted", os.ErrPermission},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := explain("upf0", tc.err); got.Error() != tc.want || !errors.Is(got, tc.is) {
				t.Errorf("got  %v\nwant %s", got, tc.want)
			}
		})
	}
}
