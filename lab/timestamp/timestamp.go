// Package timestamp reads when frames left a device and arrived at one by the time
// stamps of the kernel, or of the devices themselves where they have a clock, and not by
// those of the programs that send and receive.
//
//	sender ─► driver or NIC ── stamp ──► UPF ──► NIC or kernel ── stamp ──► meter at tcx
//	              │ error queue of the packet socket                          │ marks it
//	              └────────────────► Collector ◄── packet socket ─────────────┘
//
// The sender asks for the stamp of one frame in 2^Shift. The meter, which knows frame
// and number by what is in the payload, lets that frame pass with a mark that has the
// number; a packet socket behind it takes the frame with its stamp, and the kernel drops
// it as one that is for another host. So a frame is counted as any other, and what is
// compared is two stamps of one frame.
//
// Stamps are nanoseconds: software stamps of CLOCK_REALTIME, hardware stamps of the
// PTP hardware clock of the device. Only differences between stamps of one clock
// mean something.
//
// Source: Linux, Documentation/networking/timestamping.rst; packet(7).
package timestamp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Source is what stamps frames.
type Source uint8

// Sources.
const (
	None     Source = iota // nothing: only programs read clocks
	Software               // the kernel, at the driver
	Hardware               // the devices
)

var sourceNames = [...]string{"none", "software", "hardware"}

// String returns the name that results have.
func (s Source) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

// ParseSource is the reverse of [Source.String].
func ParseSource(name string) (Source, error) {
	for i, n := range sourceNames {
		if n == name {
			return Source(i), nil
		}
	}
	return None, fmt.Errorf("timestamp: source %q: want none, software or hardware", name)
}

// Capability is what a device can stamp: struct ethtool_ts_info.
type Capability struct {
	Flags     uint32 // SOF_TIMESTAMPING_*
	Clock     int    // of /dev/ptpN; -1: it has none
	TxTypes   uint32 // bits, by HWTSTAMP_TX_*
	RxFilters uint32 // bits, by HWTSTAMP_FILTER_*
}

// Device is a device by its name.
type Device struct {
	Name string
	Capability
}

// Ask has a device of the thread's network namespace say what it can stamp.
func Ask(device string) (Device, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Device{}, fmt.Errorf("timestamp: %w", err)
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolTsInfo(fd, device)
	if err != nil {
		return Device{}, fmt.Errorf("timestamp: %s: ETHTOOL_GET_TS_INFO: %w", device, err)
	}
	return Device{device, Capability{
		Flags: info.So_timestamping, Clock: int(info.Phc_index), TxTypes: info.Tx_types, RxFilters: info.Rx_filters,
	}}, nil
}

// Missing says in words why differences between stamps of two devices, both ways, are
// not to be had from a source; empty: they are.
func Missing(s Source, a, b Device) string {
	switch s {
	case Software:
		return first(a.lacksSoftware(), b.lacksSoftware())
	case Hardware:
		if why := first(a.lacksHardware(), b.lacksHardware()); why != "" {
			return why
		}
		if a.Clock != b.Clock {
			return fmt.Sprintf("%s is stamped by PTP hardware clock %d and %s by %d: nothing says that they are in step", a.Name, a.Clock, b.Name, b.Clock)
		}
	}
	return ""
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (d *Device) lacksSoftware() string {
	const all = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	if d.Flags&all != all {
		return d.Name + ": its driver lets the kernel stamp no frame that it sends"
	}
	return ""
}

func (d *Device) lacksHardware() string {
	const all = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE
	switch {
	case d.Flags&all != all:
		return d.Name + " has no hardware time stamps"
	case d.Clock < 0:
		return d.Name + " has no PTP hardware clock"
	case d.TxTypes>>unix.HWTSTAMP_TX_ON&1 == 0:
		return d.Name + " stamps no frames that it sends"
	case d.RxFilters>>unix.HWTSTAMP_FILTER_ALL&1 == 0:
		return d.Name + " stamps arriving frames of PTP alone"
	}
	return ""
}

// Enable has a device of the thread's network namespace stamp all frames that it sends
// or receives, until undo is called, which has it do what it did before. undo may be
// called by any thread.
func Enable(device string) (undo func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("timestamp: %w", err)
	}
	before, err := unix.IoctlGetHwTstamp(fd, device)
	if err == nil {
		all := unix.HwTstampConfig{Tx_type: unix.HWTSTAMP_TX_ON, Rx_filter: unix.HWTSTAMP_FILTER_ALL}
		err = unix.IoctlSetHwTstamp(fd, device, &all)
		if err == nil && all.Rx_filter != unix.HWTSTAMP_FILTER_ALL { // the driver writes what it took
			err = fmt.Errorf("it took filter %d for %d: %w", all.Rx_filter, unix.HWTSTAMP_FILTER_ALL, unix.ERANGE)
			_ = unix.IoctlSetHwTstamp(fd, device, before)
		}
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("timestamp: %s: SIOCSHWTSTAMP: %w", device, err)
	}
	return func() error {
		defer unix.Close(fd)
		if err := unix.IoctlSetHwTstamp(fd, device, before); err != nil {
			return fmt.Errorf("timestamp: %s: SIOCSHWTSTAMP as before: %w", device, err)
		}
		return nil
	}, nil
}

// EnableSoftware has the kernel stamp all frames that arrive, until undo is called. It
// begins some time after it is asked to, so this is done long before the first trial.
func EnableSoftware() (undo func() error, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("timestamp: %w", err)
	}
	undo = func() error { return unix.Close(fd) }
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, unix.SOF_TIMESTAMPING_RX_SOFTWARE); err != nil {
		return nil, errors.Join(fmt.Errorf("timestamp: SO_TIMESTAMPING: %w", err), undo())
	}
	return undo, nil
}

// report are the flags of SO_TIMESTAMPING with which a socket hands over stamps.
func (s Source) report() int {
	if s == Hardware {
		return unix.SOF_TIMESTAMPING_RAW_HARDWARE
	}
	return unix.SOF_TIMESTAMPING_SOFTWARE
}

// Request is the control message that asks for the stamp of what is sent with it. The
// socket must have been given to [Collector.Sending].
func (s Source) Request() []byte {
	flag := uint32(unix.SOF_TIMESTAMPING_TX_SOFTWARE)
	if s == Hardware {
		flag = unix.SOF_TIMESTAMPING_TX_HARDWARE
	}
	return appendControl(nil, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flag)
}
