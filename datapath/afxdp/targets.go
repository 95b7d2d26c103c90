package afxdp

import (
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// targetsPeriod is the interval at which devices are checked for accepting redirected frames: a
// veth does as long as the other end has an XDP program, or GRO.
const targetsPeriod = time.Second

// refusedPeriods is how many of these a device is left alone to which the kernel would not
// send: what was in the way may pass.
const refusedPeriods = 10

// watchTargets tracks the veth devices to which XDP frames can be sent: those that accept them, and
// whose frames are all short enough. On a kernel that does not report this (before 6.3) there are
// none.
func (m *machine) watchTargets() {
	var veths []*device
	for _, d := range m.devices {
		d.redirects.Store(false)
		if d.veth {
			veths = append(veths, d)
		}
	}
	if !slices.ContainsFunc(m.workers, func(w *worker) bool { return w.live != nil }) {
		return
	}
	kernel, err := netdev.Open()
	if err != nil {
		m.d.log.Info("frames are sent one by one", "reason", err)
		return
	}
	look := func() {
		for _, d := range veths {
			if d.refused.Load() > 0 {
				d.refused.Add(-1)
				continue
			}
			f, err := kernel.Announced(d.index)
			fit := inet.LenEthernet+inet.LenTag+int(d.mtu.Load()) <= liveLongest(m.octets)
			d.redirects.Store(err == nil && f&netdev.Transmit != 0 && fit)
		}
	}
	look()
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(targetsPeriod)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-stop:
				return
			}
		}
	})
	m.watching = append(m.watching, func() {
		close(stop)
		ended.Wait()
		kernel.Close()
	})
}
