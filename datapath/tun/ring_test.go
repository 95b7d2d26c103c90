package tun

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRingNotPermitted: without CAP_NET_RAW packets are read one by one, and the log says so.
func TestRingNotPermitted(t *testing.T) {
	for name, tap := range map[string]bool{"tun": false, "tap": true} {
		t.Run(name, func(t *testing.T) {
			n := openNetwork(t, "tunraw", Config{TAP: tap, Ring: true, Workers: 2, Paused: true})
			var log bytes.Buffer
			n.upf.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			check(t, n.UPF.Do(func() error { // which stays on its thread
				restore, err := giveUp(unix.CAP_NET_RAW)
				if err != nil {
					return err
				}
				return errors.Join(n.upf.Resume(), restore())
			}))
			n.install(t)
			n.uplink(t, datagram(n.ue, n.Config.N6DN.Addr(), []byte("uplink")))
			_, from := receive(t, n.dn)
			if want := netip.AddrPortFrom(n.ue, uePort); from != want {
				t.Fatalf("from %v, want %v", from, want)
			}
			_, err := n.dn.WriteToUDPAddrPort([]byte("downlink"), from)
			check(t, err)
			n.isDownlink(t, n.ue, "downlink")
			if got := log.String(); strings.Count(got, "a ring needs CAP_NET_RAW") != 2 {
				t.Errorf("the log says %q, want for each of 2 workers that it has no ring", got)
			}
			if dev := n.upf.traffic.devices[0]; dev.shared {
				t.Errorf("%s has no queue, and nobody takes its packets otherwise", dev.Name)
			}
		})
	}
}

// giveUp takes a capability from what the calling thread has in effect.
func giveUp(capability int) (restore func() error, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return nil, err
	}
	less := have
	less[capability/32].Effective &^= 1 << (capability % 32)
	return func() error { return unix.Capset(&header, &have[0]) }, unix.Capset(&header, &less[0])
}
