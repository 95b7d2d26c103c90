package probe

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// reading is a thread that reads as a UPF does: this test's, which also runs the
// programs.
type reading struct {
	*rig
	local, peer int // sockets; what is written to peer is read from local
}

func newReading(t *testing.T) *reading {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	r := &reading{newRig(t, Config{Parts: true}), pair[0], pair[1]}
	r.follow(Reader{PID: os.Getpid(), FD: r.local, Direction: Uplink})
	r.load(n3In, hook.Device{})
	r.load(n6Out, hook.Device{})
	return r
}

func (r *reading) follow(readers ...Reader) {
	r.t.Helper()
	if err := r.Follow(readers); err != nil {
		r.t.Fatal(err)
	}
}

// read is the way in which the UPF reads: a datagram that is there.
func (r *reading) read() {
	r.t.Helper()
	if _, err := unix.Write(r.peer, []byte{1}); err != nil {
		r.t.Fatal(err)
	}
	if _, _, err := unix.Recvfrom(r.local, make([]byte, 8), 0); err != nil {
		r.t.Fatal(err)
	}
}

// comes and leaves are the n-th uplink packet's.
func (r *reading) comes(n uint32) {
	r.pass(n3In, onN3(In, gpdu(1, 9, udp(ueAddr, hostAddr, numbered(n, 32)))))
}

func (r *reading) leaves(n uint32) {
	r.pass(n6Out, frame(udp(ueAddr, hostAddr, numbered(n, 32))))
}

// uplink returns what was counted of uplink packets so far.
func (r *reading) uplink() Series {
	r.t.Helper()
	for _, s := range r.snapshot().Series {
		if s.Direction != Uplink {
			continue
		}
		p := s.Parts
		if uint64(p.Queued.TotalCount())+p.Unknown != s.Matched || p.Inside.TotalCount() != p.Queued.TotalCount() {
			r.t.Errorf("%d matched, %d queued, %d inside, %d unknown", s.Matched, p.Queued.TotalCount(), p.Inside.TotalCount(), p.Unknown)
		}
		return s
	}
	r.t.Fatal("no uplink packets")
	return Series{}
}

// unknown returns how many of the packets that do has leave cannot be taken apart.
func (r *reading) unknown(do func()) uint64 {
	r.t.Helper()
	before := r.uplink().Parts.Unknown
	do()
	return r.uplink().Parts.Unknown - before
}

// TestParts takes packets apart that a thread reads and sends: this one, so that there
// are no subtests.
func TestParts(t *testing.T) {
	r := newReading(t)
	r.testWhole()
	r.testBatch()
	r.testUnknown()
	r.testCalls()
}

// testWhole: what passes between coming in and the read is queued, what passes between
// the read and leaving is inside, and both make the delay.
func (r *reading) testWhole() {
	const queued, inside = 20 * time.Millisecond, 60 * time.Millisecond
	began := time.Now()
	r.comes(1)
	time.Sleep(queued)
	r.read()
	time.Sleep(inside)
	r.leaves(1)
	took := time.Since(began)
	s := r.uplink()
	q, i, delay := time.Duration(s.Parts.Queued.Max()), time.Duration(s.Parts.Inside.Max()), time.Duration(s.Delay.Max())
	if s.Parts.Unknown != 0 || s.Parts.Batched != 0 || q < queued || i < inside || q+i > took*102/100 {
		r.t.Errorf("got %v queued, %v inside of %v, %d unknown, %d batched", q, i, took, s.Parts.Unknown, s.Parts.Batched)
	}
	if delay < (q+i)*98/100 || delay > (q+i)*102/100 {
		r.t.Errorf("got a delay of %v, parts make %v", delay, q+i)
	}
}

// testBatch: packets of one read have one time of return.
func (r *reading) testBatch() {
	before := r.uplink().Parts
	for n := range uint32(3) {
		r.comes(n)
	}
	r.read()
	for n := range uint32(3) {
		r.leaves(n)
	}
	r.comes(9)
	r.read()
	r.leaves(9)
	p := r.uplink().Parts
	queued, batched, unknown := p.Queued.TotalCount()-before.Queued.TotalCount(), p.Batched-before.Batched, p.Unknown-before.Unknown
	if queued != 4 || batched != 2 || unknown != 0 {
		r.t.Errorf("got %d queued, %d batched, %d unknown: want 4, 2, 0", queued, batched, unknown)
	}
}

// testUnknown: only a read of a followed file, by the thread that sends, after the
// packet came in, is the packet's.
func (r *reading) testUnknown() {
	self := os.Getpid()
	for _, tc := range []struct {
		name    string
		between func()
		want    uint64
	}{
		{"a read", r.read, 0},
		{"no read at all", func() {}, 1},
		{"nothing to read", func() { _, _, _ = unix.Recvfrom(r.local, make([]byte, 8), 0) }, 1},
		{"a write", func() { _, _ = unix.Write(r.local, []byte{1}) }, 1},
		{"another file", func() { r.follow(Reader{self, r.peer, Uplink}); r.read() }, 1},
		{"no longer followed", func() { r.follow(); r.read() }, 1},
		{"of the other direction", func() { r.follow(Reader{self, r.local, Downlink}); r.read() }, 1},
		{"of another process", func() { r.follow(Reader{self + 1, r.local, Uplink}); r.read() }, 1},
		{"by another thread", func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread() // and ends with it: this thread stays where it is
				r.read()
			}()
			<-done
		}, 1},
	} {
		r.follow(Reader{self, r.local, Uplink})
		r.read()
		if got := r.unknown(func() { r.comes(1); tc.between(); r.leaves(1) }); got != tc.want {
			r.t.Errorf("%s: got %d unknown, want %d", tc.name, got, tc.want)
		}
	}
}

// testCalls: each system call that reads is seen.
func (r *reading) testCalls() {
	r.follow(Reader{os.Getpid(), r.local, Uplink})
	buffer := make([]byte, 8)
	for n, call := range []func() error{
		func() error { _, err := unix.Read(r.local, buffer); return err },
		func() error { _, err := unix.Readv(r.local, [][]byte{buffer}); return err },
		func() error { _, _, err := unix.Recvfrom(r.local, buffer, 0); return err },
		func() error { _, _, _, _, err := unix.Recvmsg(r.local, buffer, nil, 0); return err },
		func() error { return recvmmsg(r.local) },
	} {
		if _, err := unix.Write(r.peer, []byte{1}); err != nil {
			r.t.Fatal(err)
		}
		unknown := r.unknown(func() {
			r.comes(1)
			if err := call(); err != nil {
				r.t.Fatalf("call %d: %v", n, err)
			}
			r.leaves(1)
		})
		if unknown != 0 {
			r.t.Errorf("call %d: not seen", n)
		}
	}
}

// recvmmsg reads one datagram into nothing.
func recvmmsg(fd int) error {
	var buffer [8]byte
	vector := unix.Iovec{Base: &buffer[0], Len: 8}
	message := struct {
		unix.Msghdr
		_ uint64
	}{Msghdr: unix.Msghdr{Iov: &vector, Iovlen: 1}}
	if _, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), 1, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func TestFollowRefuses(t *testing.T) {
	if err := newRig(t, Config{}).Follow(nil); !errors.Is(err, ErrNoParts) {
		t.Errorf("without parts: got %v, want %v", err, ErrNoParts)
	}
	r := newRig(t, Config{Parts: true})
	if err := r.Follow(make([]Reader, maxReaders+1)); err == nil {
		t.Error("more readers than there is room for were taken")
	}
	many := make([]Reader, maxReaders)
	for i := range many {
		many[i].FD = i
	}
	if err := r.Follow(many); err != nil {
		t.Error(err)
	}
	if err := r.Follow(many[:1]); err != nil || len(r.readers) != 1 {
		t.Errorf("got %v, %d readers, want one", err, len(r.readers))
	}
}

// threadTime is how long this thread has run: time in which others ran is not in it.
func threadTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}

// BenchmarkSystemCall is what it costs all programs that reads are seen to return: a call
// that reads nothing followed, and one that does.
func BenchmarkSystemCall(b *testing.B) {
	for _, bc := range []struct {
		name            string
		parts, followed bool
	}{{"without", false, false}, {"with", true, false}, {"followed", true, true}} {
		b.Run(bc.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := newRig(b, Config{Parts: bc.parts})
			zero, err := unix.Open("/dev/zero", unix.O_RDONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			defer unix.Close(zero)
			if bc.followed {
				if err := r.Follow([]Reader{{PID: os.Getpid(), FD: zero, Direction: Uplink}}); err != nil {
					b.Fatal(err)
				}
			}
			buffer, began := make([]byte, 1), threadTime(b)
			for b.Loop() {
				if _, err := unix.Read(zero, buffer); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(threadTime(b)-began)/float64(b.N), "cpu-ns/op")
		})
	}
}
