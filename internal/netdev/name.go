package netdev

import "slices"

// maxName is the longest name of a device, in octets: IFNAMSIZ less the final 0.
const maxName = 15

// NewName says what [IsNewName] takes, behind "want".
const NewName = "the name of a new device: 1 to 15 printable characters, no '/', ':', '%' or space, and not lo, all or default"

// IsName says whether a device can have the name, here printable ASCII only.
//
// Source: Linux, net/core/dev.c, dev_valid_name.
func IsName(s string) bool {
	if s == "" || len(s) > maxName || s == "." || s == ".." {
		return false
	}
	for _, r := range s {
		if r <= ' ' || r > '~' || r == '/' || r == ':' {
			return false
		}
	}
	return true
}

// taken are names that no device can be given: that of the loopback device, which each
// namespace has, and those of the settings of all devices.
//
// Source: Linux, net/ipv4/devinet.c, sysctl_dev_name_is_allowed.
var taken = []string{"lo", "all", "default"}

// IsNewName says whether a device can be made that has the name. One with a '%' would be a
// pattern for a name.
func IsNewName(s string) bool {
	return IsName(s) && !slices.Contains([]byte(s), '%') && !slices.Contains(taken, s)
}
