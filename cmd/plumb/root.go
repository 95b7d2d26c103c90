package main

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// needsRoot is why a command that enters network namespaces and attaches programs there
// cannot do so, before it has begun; nil: it can. CAP_SYS_ADMIN brings CAP_BPF and
// CAP_PERFMON with it.
func needsRoot(command string) error {
	return needsCapabilities(command+" enters network namespaces and attaches programs",
		map[string]int{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN})
}

// needsCapabilities is why a command cannot do what it does; nil: it can.
func needsCapabilities(does string, capabilities map[string]int) error {
	missing, err := privilege.Lacks(capabilities)
	if err != nil || len(missing) == 0 {
		return err
	}
	return unsupportedError{fmt.Errorf("%s: run it as root: %s not effective", does, strings.Join(missing, ", "))}
}
