package afxdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// live sends a worker's frames as XDP frames. In copy mode a socket allocates a socket buffer for
// each frame and passes it to the device individually; this way the kernel copies frames into its
// own pages and passes them on in batches, in a third of the time.
//
//	frame in the UMEM ─► program, run once for each frame ─► page of the kernel ─► device
//
// It is for veth devices. Frames stay in order on either path as long as all use the same one: see
// livesOn. When send returns, the receiver owns the pages.
//
// Source: Linux, Documentation/bpf/bpf_prog_run.rst; 5.18 or later.
type live struct {
	transmitObjects
	space  netns.NsHandle
	held   link.Link
	memory []byte // the UMEM's
	burst  []byte // struct burst of bpf/upf/afxdp_send.bpf.c
	blank  []byte // of which the kernel makes its pages, before the program fills them
	run    progRun
}

const (
	// liveLeast is how many frames are worth a run: to begin one costs about as much as
	// a socket takes for 16 of them.
	liveLeast = 32
	// liveStay is how long few frames leave as XDP frames, too, after many have: the time
	// in which a busy receiver gets round to them.
	liveStay = 10 * time.Millisecond
	// startMax and burstMax are START_MAX and BURST_MAX of the program.
	startMax, burstMax = 512, 256
	// liveOctets is how long a frame can be that fits into a page with what the kernel
	// puts around it.
	liveOctets = 3392
	// liveBatch is how many frames the kernel hands to the device at a time.
	liveBatch = 64
)

var _ [burstMax - vector.MaxVector]struct{} // a vector fits

// liveLongest is the maximum frame length, in octets, for a place of this size.
func liveLongest(octets int) int { return min(octets-startMax, liveOctets) }

// openLive creates the memory for this number of frames, and the programs that send them to devices.
//
// Errors: those of the kernel; then frames go through sockets.
func openLive(frames, octets int, devices []*device) (*live, error) {
	spec, err := loadTransmit()
	if err != nil {
		return nil, fmt.Errorf("afxdp: program: %w", err)
	}
	longest := liveLongest(octets)
	spec.Maps["places"].MaxEntries, spec.Maps["places"].ValueSize = uint32(frames), uint32(octets)
	if err := spec.Variables["longest"].Set(uint32(longest)); err != nil {
		return nil, fmt.Errorf("afxdp: set longest: %w", err)
	}
	l := &live{space: netns.None(), blank: make([]byte, longest)}
	if err := spec.LoadAndAssign(&l.transmitObjects, nil); err != nil {
		return nil, loadError(err)
	}
	for _, step := range []func() error{
		func() error { return l.mapMemory(frames * octets) },
		func() error { return l.name(devices) },
		l.hold,
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	l.run = progRun{
		program: uint32(l.AfxdpSend.FD()), in: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(l.blank)))),
		flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, batch: liveBatch,
	}
	return l, nil
}

func (l *live) mapMemory(octets int) (err error) {
	const both, shared = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if l.memory, err = unix.Mmap(l.Places.FD(), 0, octets, both, shared); err != nil {
		return fmt.Errorf("afxdp: map %d octets for frames: %w", octets, err)
	}
	if l.burst, err = unix.Mmap(l.Bursts.FD(), 0, int(unsafe.Sizeof(transmitBurst{})), both, shared); err != nil {
		return fmt.Errorf("afxdp: map a burst: %w", err)
	}
	return nil
}

// name tells the program the devices by number.
func (l *live) name(devices []*device) error {
	for _, d := range devices {
		if !d.veth {
			continue
		}
		if err := l.Devices.Put(uint32(d.number), uint32(d.index)); err != nil {
			return fmt.Errorf("afxdp: device %s as a target: %w", d.name, err)
		}
	}
	return nil
}

// hold attaches the program where nothing ever comes: to the loopback device of a network
// namespace without a name. The kernel keeps programs that are attached at hand (the XDP
// dispatcher); another one is patched into it for each run and out again, which takes
// 25 ms.
func (l *live) hold() error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		back, err := l.holdApart()
		if back {
			runtime.UnlockOSThread() // else the thread ends with its namespace
		}
		done <- err
	}()
	return <-done
}

// holdApart attaches the program in a namespace that the calling thread creates and then leaves
// again: it may be the main thread, which does not end, and whose namespace /proc shows for the
// process. back: the thread has returned to its namespace.
func (l *live) holdApart() (back bool, err error) {
	home, err := netns.Get()
	if err != nil {
		return true, fmt.Errorf("afxdp: network namespace: %w", err)
	}
	defer func() { err = errors.Join(err, home.Close()) }()
	if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return true, fmt.Errorf("afxdp: network namespace: %w", err)
	}
	if l.space, err = netns.Get(); err == nil {
		const loopback = 1
		l.held, err = link.AttachXDP(link.XDPOptions{Program: l.AfxdpSend, Interface: loopback, Flags: link.XDPGenericMode})
	}
	if err != nil {
		err = fmt.Errorf("afxdp: hold the program: %w", err)
	}
	if left := netns.Set(home); left != nil {
		return false, errors.Join(err, fmt.Errorf("afxdp: leave a network namespace: %w", left))
	}
	return true, err
}

// send sends frames of the memory, in places of this size in octets, to a device. It returns the
// number sent, or lost on the device; ok is false if this path is not available and none was sent.
//
// Preconditions: no more than [burstMax] frames.
func (l *live) send(d *device, frames []unix.XDPDesc, place uint64) (sent int, ok bool, err error) {
	const head, lenLeaving = 16, 8
	for i := range frames {
		f := &frames[i]
		start := f.Addr & (place - 1)
		if start > startMax || int(f.Len) > len(l.blank) || f.Len < inet.LenEthernet {
			return 0, false, nil
		}
		b := l.burst[head+lenLeaving*i:][:lenLeaving]
		binary.NativeEndian.PutUint32(b, uint32(f.Addr/place))
		binary.NativeEndian.PutUint16(b[4:], uint16(start))
		binary.NativeEndian.PutUint16(b[6:], uint16(f.Len))
	}
	binary.NativeEndian.PutUint32(l.burst, uint32(d.number))
	binary.NativeEndian.PutUint32(l.burst[4:], uint32(len(frames)))
	binary.NativeEndian.PutUint32(l.burst[8:], 0)
	l.run.octets = frames[0].Len // so that the most have their length already
	for sent < len(frames) {
		l.run.repeat, l.run.octetsOut = uint32(len(frames)-sent), 0 // which the kernel has set
		err = runProgram(&l.run)
		before := sent
		sent = int(binary.NativeEndian.Uint32(l.burst[8:]))
		if err == nil && sent == before {
			err = errNotRun
		}
		if err != nil && !errors.Is(err, unix.EINTR) { // a signal ends a run early
			return sent, true, err
		}
	}
	return sent, true, nil
}

var errNotRun = errors.New("afxdp: the kernel did not run the program")

func (l *live) close() error {
	if l == nil {
		return nil
	}
	var errs []error
	if l.held != nil {
		errs = append(errs, l.held.Close())
	}
	if l.space.IsOpen() {
		errs = append(errs, l.space.Close())
	}
	if l.burst != nil {
		errs = append(errs, unix.Munmap(l.burst))
	}
	if l.memory != nil {
		errs = append(errs, unix.Munmap(l.memory))
	}
	return errors.Join(append(errs, l.transmitObjects.Close())...)
}
