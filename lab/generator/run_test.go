package generator

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/asm"
	"github.com/safchain/ethtool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

var dropAll = asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}

// TestRunFrames counts the frames that were ordered, run after run, and wants the
// numbers to go on.
func TestRunFrames(t *testing.T) {
	bed := newBed(t, "plt-count")
	g := mustNew(t, config(bed, Uplink, false))
	link := newCapture(t, bed.N3.UPF)
	next := uint64(0)
	for _, l := range []Load{{Frames: 1, CPU: -1}, {Frames: 100, CPU: 0}, {Frames: 70, Rate: 100_000, CPU: -1}} {
		got, err := g.Run(context.Background(), l)
		octets := l.Frames * uint64(g.FrameOctets())
		if err != nil || got.Sent != l.Frames || got.Intended != l.Frames || got.SentOctets != octets {
			t.Errorf("%+v: got %+v, %v, want %d frames", l, got, err, l.Frames)
		}
		for _, frame := range link.frames(t, int(l.Frames), g.FrameOctets()-64) {
			stamp, err := DecodeStamp(frame[g.FrameOctets()-64:])
			if err != nil || stamp.Sequence != next {
				t.Fatalf("%+v: got number %d, %v, want %d", l, stamp.Sequence, err, next)
			}
			next++
		}
	}
}

// TestSchedule wants the intended send times exactly n/rate apart, however late
// the frames were sent, and each frame to be of the session that the order says.
func TestSchedule(t *testing.T) {
	bed := newBed(t, "plt-schedule")
	for _, rate := range []uint64{777, 30_000, 333_333} {
		c := config(bed, Uplink, false)
		c.Sessions, c.Access = sessions(30, false), Each
		g := mustNew(t, c)
		link, order := newCapture(t, bed.N3.UPF), g.Order()
		got, err := g.Run(context.Background(), Load{Rate: rate, Frames: 50, CPU: -1})
		if err != nil || len(order) != 30 {
			t.Fatalf("%v, an order of %d sessions, want 30", err, len(order))
		}
		for n, frame := range link.frames(t, 50, g.FrameOctets()-64) {
			stamp, err := DecodeStamp(frame[g.FrameOctets()-64:])
			if err != nil {
				t.Fatal(err)
			}
			want := got.StartNS + uint64(n)*1e9/rate
			if stamp.Session != order[n%len(order)] {
				t.Errorf("%d frames/s, frame %d: got session %d, want %d", rate, n, stamp.Session, order[n%len(order)])
			}
			if stamp.IntendedNs+1 < want || stamp.IntendedNs > want+1 {
				t.Errorf("%d frames/s, frame %d: got %d, want %d", rate, n, stamp.IntendedNs, want)
			}
			if stamp.SentNs < stamp.IntendedNs {
				t.Errorf("%d frames/s, frame %d: sent %d ns early", rate, n, stamp.IntendedNs-stamp.SentNs)
			}
		}
	}
}

// easyShare is the least part of an easy load that a generator which works sends, if
// something else does not have its CPU most of the time: a busy machine may keep it from
// the rest.
const easyShare = 10

// TestRate: never more than was ordered. That a busy machine sends less is no
// fault, but less than a tenth of an easy rate would be.
func TestRate(t *testing.T) {
	bed := newBed(t, "plt-rate")
	attach(t, bed.N3.UPF, dropAll)
	g := mustNew(t, config(bed, Uplink, false))
	for _, rate := range []uint64{1_000, 100_000} {
		const duration = 300 * time.Millisecond
		got, err := g.Run(context.Background(), Load{Rate: rate, Duration: duration, CPU: -1})
		intended := rate * uint64(duration) / uint64(time.Second)
		if err != nil || got.Intended < intended-1 || got.Intended > intended+1 {
			t.Errorf("%d frames/s: got %+v, %v, want %d intended", rate, got, err, intended)
		}
		slow := got.Held < duration/2 && got.Sent < got.Intended/easyShare
		if got.Sent > got.Intended || slow || got.Elapsed != duration {
			t.Errorf("%d frames/s: got %+v, want %d sent in %v", rate, got, intended, duration)
		}
	}
}

// TestMaximum only asks for much more than any paced test sends.
func TestMaximum(t *testing.T) {
	eachSender(t, func(t *testing.T, s Sender) {
		bed := newBed(t, "plt-maximum")
		attach(t, bed.N3.UPF, dropAll)
		c := config(bed, Uplink, false)
		c.Sender = s
		g := mustNew(t, c)
		const duration = 200 * time.Millisecond
		got, err := g.Run(context.Background(), Load{Duration: duration, CPU: -1})
		slow := got.Held < duration/2 && got.Sent < 10_000
		if err != nil || got.Intended != got.Sent || slow {
			t.Errorf("got %+v, %v, want over 10000 frames in %v", got, err, duration)
		}
	})
}

// TestAgain: a generator may follow another one at once on the same device.
func TestAgain(t *testing.T) {
	eachSender(t, func(t *testing.T, s Sender) {
		bed := newBed(t, "plt-again")
		c := config(bed, Uplink, false)
		c.Sender = s
		for range 5 {
			g, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Run(context.Background(), Load{Frames: 100, CPU: -1})
			if err := errors.Join(err, g.Close()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNext asks for numbers while frames are sent.
func TestNext(t *testing.T) {
	eachSender(t, func(t *testing.T, s Sender) {
		bed := newBed(t, "plt-next")
		attach(t, bed.N3.UPF, dropAll)
		c := config(bed, Uplink, false)
		c.Sender = s
		g := mustNew(t, c)
		var group errgroup.Group
		group.Go(func() error {
			_, err := g.Run(context.Background(), Load{Rate: 20_000, Frames: 4000, CPU: -1})
			return err
		})
		last := uint64(0)
		for range 20 {
			next, err := g.Next()
			if err != nil || next < last {
				t.Errorf("got %d, %v after %d", next, err, last)
			}
			last = next
			time.Sleep(5 * time.Millisecond)
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		if next, err := g.Next(); err != nil || next != 4000 {
			t.Errorf("got %d, %v, want 4000", next, err)
		}
	})
}

func TestCancel(t *testing.T) {
	bed := newBed(t, "plt-cancel")
	attach(t, bed.N3.UPF, dropAll)
	g := mustNew(t, config(bed, Uplink, false))
	for _, rate := range []uint64{0, 1, 10_000} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := g.Run(ctx, Load{Rate: rate, Duration: time.Hour, CPU: -1})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d frames/s: got %v, want %v", rate, err, context.DeadlineExceeded)
		}
	}
}

// TestTwoAtOnce runs uplink and downlink side by side; each must get on.
func TestTwoAtOnce(t *testing.T) {
	bed := newBed(t, "plt-two")
	attach(t, bed.N3.UPF, dropAll)
	attach(t, bed.N6.UPF, dropAll)
	var group errgroup.Group
	for cpu, d := range []Direction{Uplink, Downlink} {
		g := mustNew(t, config(bed, d, d == Downlink))
		group.Go(func() error {
			got, err := g.Run(context.Background(), Load{Rate: 50_000, Frames: 10_000, CPU: cpu})
			if got.Sent != 10_000 {
				t.Errorf("%v: got %+v, want 10000 frames", d, got)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestErrors(t *testing.T) {
	bed := newBed(t, "plt-errors")
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no direction", func(c *Config) { c.Direction = 0 }, "direction 0: want 1 or 2"},
		{"no server", func(c *Config) { c.Server = netip.Addr{} }, "stream 0: server: no address"},
		{"payload", func(c *Config) { c.PayloadOctets = 17 }, "payload of 17 octets: want 18 at least"},
		{"short frame in a mix", func(c *Config) { c.Mix = []int{64, 4} }, "payload of 4 octets: want 18 at least"},
		{"mix", func(c *Config) { c.Mix = make([]int, 65) }, "mix of 65 frames: want 1 to 64"},
		{"no sessions", func(c *Config) { c.Sessions = nil }, "no sessions"},
		{"QFI", func(c *Config) { c.Sessions[0].QFI = 64 }, "session 0: QFI 64: want 0 to 63"},
		{"family", func(c *Config) { c.Server = netip.MustParseAddr("fd06::2") }, "session 0: UE 10.64.0.0 and server fd06::2: not of one family"},
		{"batch", func(c *Config) { c.Batch = 257 }, "batch of 257: want 1 to 256"},
		{"pattern", func(c *Config) { c.Access = 4 }, "access pattern 4: unknown"},
		{"MTU", func(c *Config) { c.PayloadOctets = 1429 }, "packet of 1501 octets on n3 of " + bed.GNB.Name + ": its MTU is 1500"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config(bed, Uplink, false)
			tc.change(&c)
			_, err := New(c)
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	g := mustNew(t, config(bed, Uplink, false))
	if _, err := g.Run(context.Background(), Load{Rate: 5}); err == nil {
		t.Error("a load without end was accepted")
	}
	for _, l := range []Load{
		{Rate: 5, RampTo: 10, Frames: 5}, {RampTo: 10, Duration: time.Second}, {Rate: 5, RampTo: 1e10, Duration: time.Second},
		{Rate: 5, Burst: -1, Frames: 5}, {Burst: 2, Frames: 5}, {Rate: 5, Burst: MaxBurst + 1, Frames: 5},
	} {
		if _, err := g.Run(context.Background(), l); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
	if _, err := g.Run(context.Background(), Load{Frames: 5, CPU: 4000}); err == nil {
		t.Error("CPU 4000 was accepted")
	}
}

// TestNoRedirect: a veth whose other end neither has an XDP program nor GRO drops what is
// redirected to it. Live frames are refused, the other senders do without.
func TestNoRedirect(t *testing.T) {
	bed := newBed(t, "plt-noredirect")
	if _, err := netdev.Announced(bed.N3.Peer.Index); err != nil && !errors.Is(err, unix.ENODEV) {
		t.Skipf("devices announce nothing before Linux 6.3: %v", err)
	}
	err := bed.UPF.Do(func() error {
		tool, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer tool.Close()
		return tool.Change(bed.N3.UPF.Device, map[string]bool{"rx-gro": false})
	})
	if err != nil {
		t.Fatal(err)
	}
	c := config(bed, Uplink, false)
	if _, err := New(c); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "send by afxdp or packet, not by live") {
		t.Errorf("got %v, want %v", err, errors.ErrUnsupported)
	}
	link := newCapture(t, bed.N3.UPF)
	for _, c.Sender = range senders[1:] {
		if _, err := mustNew(t, c).Run(context.Background(), Load{Frames: 3, CPU: -1}); err != nil {
			t.Error(err)
		}
		for range 3 {
			link.next(t)
		}
	}
}

// TestLargest sends the largest packet that the largest MTU takes.
func TestLargest(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-largest", MTU: topology.MaxMTU})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	c := config(bed, Uplink, false)
	c.PayloadOctets = topology.MaxMTU - 72 // outer and inner headers
	attach(t, bed.N6.UPF, dropAll)
	attach(t, bed.N6.Peer, dropAll)
	g := mustNew(t, c)
	link := newCapture(t, bed.N3.UPF)
	if _, err := g.Run(context.Background(), Load{Frames: 3, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	for _, frame := range link.frames(t, 3, 14+72) {
		if len(frame) != 14+topology.MaxMTU {
			t.Errorf("got %d octets, want %d", len(frame), 14+topology.MaxMTU)
		}
	}
}
