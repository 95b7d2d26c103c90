package ue

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/vnet"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/bearer"
)

const (
	// batchSize is how many packets are read off a device at a time.
	batchSize = 64
	// mostWritten is how many packets a device is given at a time.
	mostWritten = 1024
	// headroom is what a reader needs in front of a packet.
	headroom = 16
	// patience is how long a packet waits for room in the bearer: what a program sends
	// is held back in the kernel meanwhile.
	patience = 200 * time.Millisecond
	// retryDelay keeps a device that only returns errors from taking a whole CPU.
	retryDelay = time.Millisecond
)

// MTUDefault is the MTU of a UE's device in octets. What crosses N3 in one piece with an
// MTU of 1500 there is 1456.
const MTUDefault = 1456

// DeviceConfig is the TUN devices of a cell's UEs. With several UEs the name of each has
// its index behind it.
type DeviceConfig struct {
	Name      string `yaml:"name"`      // at most 15 octets
	Namespace string `yaml:"namespace"` // a name in /run/netns or an absolute path; empty: the caller's
	MTU       int    `yaml:"mtu"`       // 0: [MTUDefault]
	// Routes go through the device. Absent: everything, if it has a namespace, else
	// nothing.
	Routes []netip.Prefix `yaml:"routes"`
}

// Validate returns all errors of the values, for a cell with this number of UEs, in an error that
// wraps [ErrConfig].
func (c *DeviceConfig) Validate(ues int) error {
	var m yamltext.Checks
	name := c.Name
	if name != "" {
		name = c.name(max(ues, 1)-1, ues)
	}
	gnb.CheckDevice(&m, name, c.Namespace, c.Routes)
	m.Want(c.MTU == 0 || c.MTU >= gnb.MinMTU && c.MTU <= bearer.MaxPacket, "mtu", c.MTU,
		fmt.Sprintf("%d to %d, which is what PDCP takes, or 0 for %d", gnb.MinMTU, bearer.MaxPacket, MTUDefault))
	return m.Err(ErrConfig)
}

// name is that of the device of UE number index of a cell.
func (c *DeviceConfig) name(index, of int) string {
	if of > 1 {
		return fmt.Sprint(c.Name, index)
	}
	return c.Name
}

// Names are those of the devices of a cell's UEs.
func (c *DeviceConfig) Names(ues int) []string {
	names := make([]string, ues)
	for i := range names {
		names[i] = c.name(i, ues)
	}
	return names
}

// Device is a UE's TUN device.
type Device struct {
	device *vnet.Device
	writer *vnet.Writer
	reader *vnet.Reader

	lost atomic.Uint64
	done sync.WaitGroup
}

// OpenDevice creates the device of UE number index in a cell of that many UEs (of).
//
// Errors: [ErrConfig]; [os.ErrPermission] without CAP_NET_ADMIN.
func OpenDevice(c DeviceConfig, u radio.UE, index, of int) (*Device, error) {
	c.Name = c.name(index, of)
	if c.MTU == 0 {
		c.MTU = MTUDefault
	}
	if c.MTU > bearer.MaxPacket {
		return nil, fmt.Errorf("%w: mtu %d is above what PDCP takes, %d", ErrConfig, c.MTU, bearer.MaxPacket)
	}
	device, err := gnb.OpenDevice(gnb.UE{Name: c.Name, Namespace: c.Namespace, Addresses: u.Addresses, Routes: c.Routes}, c.MTU, index)
	if errors.Is(err, gnb.ErrConfig) {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ue: %w", err)
	}
	bufs := make([][]byte, batchSize+1)
	for i := range bufs {
		bufs[i] = make([]byte, headroom+vnet.MaxPacket)
	}
	return &Device{
		device: device,
		writer: vnet.NewWriter(device.Queues[0], mostWritten, [6]byte{}, [6]byte{}),
		reader: vnet.NewReader(device.Queues[0], bufs, headroom),
	}, nil
}

// Deliver gives the device a packet, which has to stay until Flush has returned. A
// packet that is not of IP is lost.
func (d *Device) Deliver(_ uint8, packet []byte) {
	flow, ok := gnb.Flow(packet)
	if !ok {
		d.lost.Add(1)
		return
	}
	if d.writer.Room() == 0 {
		d.Flush()
	}
	d.writer.Add(packet, flow)
}

// Flush writes what was delivered.
func (d *Device) Flush() {
	lost, _ := d.writer.Flush() // the kernel says the same of each: no room, or down
	d.lost.Add(uint64(lost))
}

// Lost is how many packets of the downlink the kernel did not take, or were not of IP.
// It may be called by any goroutine.
func (d *Device) Lost() uint64 { return d.lost.Load() }

// Serve sends what the device has, until that is closed.
func (d *Device) Serve(u *UE) {
	d.done.Go(func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		for {
			n, err := d.reader.Next()
			if errors.Is(err, os.ErrClosed) || errors.Is(err, unix.EBADFD) {
				return
			}
			if err != nil {
				time.Sleep(retryDelay)
				continue
			}
			for i := range n {
				buf, start, end := d.reader.Packet(i)
				u.sendPatiently(buf[start:end], timer, patience)
			}
		}
	})
}

// sendPatiently waits for room, so that the sender waits as well; at most limit.
func (u *UE) sendPatiently(packet []byte, timer *time.Timer, limit time.Duration) {
	if u.Send(packet) {
		return
	}
	timer.Reset(limit)
	for u.WaitRoom(timer) {
		if u.Send(packet) {
			return
		}
	}
	u.countings.upDropped.Add(1)
}

// Close removes the device.
func (d *Device) Close() error {
	err := d.device.Close()
	d.done.Wait()
	return err
}
