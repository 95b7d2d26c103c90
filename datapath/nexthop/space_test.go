package nexthop_test

import (
	"log/slog"
	"net/netip"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestWithoutSysAdmin: who may not enter network namespaces follows the devices of its own.
func TestWithoutSysAdmin(t *testing.T) {
	top, err := topology.New(topology.Config{Name: "plt-nhcap"})
	check(t, err)
	t.Cleanup(func() { check(t, top.Close()) })
	watched := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with what it has given up
		watched <- top.UPF.Do(func() error {
			restore, err := giveUp(unix.CAP_SYS_ADMIN)
			if err != nil {
				return err
			}
			defer restore() // to leave the namespace
			log := slog.New(slog.DiscardHandler)
			w, err := nexthop.Watch(top.N3.UPF.Index, log, func(netip.Addr, nexthop.MAC) {})
			if err != nil {
				return err
			}
			w.Close()
			table, err := nexthop.WatchTable(top.N6.UPF.Index, log, func(nexthop.Table) {})
			if err != nil {
				return err
			}
			table.Close()
			return nil
		})
	}()
	check(t, <-watched)
}

// giveUp takes a capability from what the calling thread has in effect.
func giveUp(capability int) (restore func(), err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return nil, err
	}
	less := have
	less[capability/32].Effective &^= 1 << (capability % 32)
	return func() { _ = unix.Capset(&header, &have[0]) }, unix.Capset(&header, &less[0])
}
