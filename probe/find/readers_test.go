package find

import (
	"net"
	"os"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/probe"
)

// TestReaders finds a socket of GTP-U and a TUN device, and nothing else, of this
// process.
func TestReaders(t *testing.T) {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 7, 7), Port: gtpu.Port})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	other, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 7, 7), Port: gtpu.Port + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tun.Close()
	got, err := Readers(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	want := []probe.Reader{{PID: os.Getpid(), FD: int(tun.Fd()), Direction: probe.Downlink}}
	if err := raw.Control(func(fd uintptr) {
		want = append(want, probe.Reader{PID: os.Getpid(), FD: int(fd), Direction: probe.Uplink})
	}); err != nil {
		t.Fatal(err)
	}
	byFD := func(a, b probe.Reader) int { return a.FD - b.FD }
	slices.SortFunc(got, byFD)
	slices.SortFunc(want, byFD)
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := Readers(1 << 30); err == nil {
		t.Error("a process that is not was found")
	}
}
