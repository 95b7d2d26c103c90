package verifier

import "golang.org/x/sys/unix"

// KernelRelease is what uname -r says.
func KernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
