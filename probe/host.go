package probe

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package probe -no-global-types -type device_key wide ../bpf/probe/probe_host.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../bpf/include -I/usr/include/x86_64-linux-gnu

// host is the probe at tracepoints, which see the packets of all namespaces
// (bpf/probe/probe_host.bpf.c). A program is there as long as it has points.
type host struct {
	mu   sync.Mutex
	coll *ebpf.Collection // nil: not loaded yet
	hook map[Hook]*hostHook
}

type hostHook struct {
	points int
	link   link.Link // nil: it has none
}

// The programs and tables of hooks.
var (
	hostPrograms = map[Hook]string{HostIngress: "host_received", HostEgress: "host_sent"}
	hostTables   = map[Hook]string{HostIngress: "received_at", HostEgress: "sent_at"}
)

// hostPoint is a point of the host's programs.
type hostPoint struct {
	host *host
	hook Hook
	key  wideDeviceKey
}

// attachHost puts the programs there if they are not yet, and gives them a point.
func (p *Probe) attachHost(s *pointState, device hook.Device) (io.Closer, error) {
	inode, err := namespaceInode(s.point.Namespace)
	if err != nil {
		return nil, err
	}
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if err := p.loadHost(); err != nil {
		return nil, fmt.Errorf("tracepoints (need Linux 6.12): %w", err)
	}
	at := &hostPoint{host: &p.host, hook: s.point.Hook, key: wideDeviceKey{Namespace: inode, Ifindex: uint32(device.Index)}}
	err = at.set(p, s, device, ebpf.UpdateNoExist)
	if errors.Is(err, ebpf.ErrKeyExist) {
		return nil, errors.New("the device has another point there")
	}
	if err != nil {
		return nil, err
	}
	h := p.host.hook[at.hook]
	if h.link == nil {
		h.link, err = link.AttachTracing(link.TracingOptions{Program: p.host.coll.Programs[hostPrograms[at.hook]], AttachType: ebpf.AttachTraceRawTp})
	}
	h.points++
	if err != nil {
		return nil, errors.Join(err, at.close())
	}
	return at, nil
}

// loadHost loads the host's programs over the probe's tables. p.host.mu is held.
func (p *Probe) loadHost() error {
	if p.host.coll != nil {
		return nil
	}
	spec, err := loadWide()
	if err != nil {
		return err
	}
	shared := map[string]*ebpf.Map{}
	for name := range spec.Maps {
		if m := p.base.Maps[name]; m != nil && name != ".rodata" {
			shared[name] = m
			spec.Maps[name].MaxEntries = m.MaxEntries()
		}
	}
	maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool {
		return name != hostPrograms[HostIngress] && name != hostPrograms[HostEgress]
	})
	if err := p.setConstants(spec); err != nil {
		return err
	}
	if p.host.coll, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: shared}); err != nil {
		return err
	}
	p.host.hook = map[Hook]*hostHook{HostIngress: {}, HostEgress: {}}
	return nil
}

// set says what the point is. p.mu is held.
func (at *hostPoint) set(p *Probe, s *pointState, device hook.Device, flags ebpf.MapUpdateFlags) error {
	// What is received has no Ethernet header any more.
	device.Bare = device.Bare || s.point.Hook == HostIngress
	return at.host.coll.Maps[hostTables[at.hook]].Update(at.key, p.constants(s, p.upfs[s.point.UPF], device), flags)
}

// Close takes the point off; with the last one goes the program.
func (at *hostPoint) Close() error {
	at.host.mu.Lock()
	defer at.host.mu.Unlock()
	return at.close()
}

// close is Close while at.host.mu is held.
func (at *hostPoint) close() error {
	err := gone(at.host.coll.Maps[hostTables[at.hook]].Delete(at.key))
	h := at.host.hook[at.hook]
	if h.points--; h.points == 0 && h.link != nil {
		err = errors.Join(err, h.link.Close())
		h.link = nil
	}
	return err
}

// close gives back what the programs have taken. No point is there any more.
func (h *host) close() {
	if h.coll != nil {
		h.coll.Close()
	}
}

// namespaceInode is by what the kernel knows a network namespace.
func namespaceInode(path string) (uint32, error) {
	if path == "" {
		path = "/proc/thread-self/ns/net"
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("network namespace: %w", err)
	}
	return uint32(info.Sys().(*syscall.Stat_t).Ino), nil
}
