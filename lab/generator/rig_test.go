package generator

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

const testRun = 0x504c0001

// sessions returns n sessions with addresses of the default UE pools.
func sessions(n int, ipv6 bool) []Session {
	list := make([]Session, n)
	for i := range list {
		ue := netip.AddrFrom4([4]byte{10, 64 + byte(i>>16), byte(i >> 8), byte(i)})
		if ipv6 {
			ue = netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x64, 5: byte(i >> 16), 6: byte(i >> 8), 7: byte(i), 15: 1})
		}
		list[i] = Session{TEID: 0x81000000 + uint32(i), UE: ue, QFI: uint8(i+1) % 64}
	}
	return list
}

func newBed(t testing.TB, name string) *topology.Topology {
	t.Helper()
	bed, err := topology.New(topology.Config{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

func mustNew(t testing.TB, c Config) *Generator {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// config is a generator's of one direction and family.
func config(bed *topology.Topology, d Direction, ipv6 bool) Config {
	c := Config{Link: bed.N3, Direction: d, Run: testRun, Stream: 3, PayloadOctets: 64, Sessions: sessions(1, ipv6)}
	if d == Downlink {
		c.Link = bed.N6
	}
	c.Server = bed.N6.Peer.Address.Addr()
	if ipv6 {
		c.Server = bed.N6.Peer.Address6.Addr()
	}
	return c
}

// capture receives frames at the UPF's end of the link, until none comes for a
// while.
type capture struct {
	fd  int
	mac net.HardwareAddr
}

func newCapture(t *testing.T, p topology.Port) capture {
	t.Helper()
	c := capture{-1, p.MAC}
	err := p.Namespace.Do(func() (err error) {
		all := int(binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)))
		if c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		if err := unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20); err != nil {
			return err
		}
		return unix.Bind(c.fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: p.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(c.fd) })
	return c
}

// next returns the next frame to the port: what its kernel answers is not.
func (c capture) next(t *testing.T) []byte {
	t.Helper()
	timeout := unix.NsecToTimeval((2 * time.Second).Nanoseconds())
	if err := unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for {
		length, _, err := unix.Recvfrom(c.fd, buffer, 0)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(buffer[:length], c.mac) {
			return buffer[:length]
		}
	}
}

// frames returns the next n frames with a stamp at the offset.
func (c capture) frames(t *testing.T, n, stampOffset int) [][]byte {
	t.Helper()
	timeout := unix.NsecToTimeval((2 * time.Second).Nanoseconds())
	if err := unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	buffer := make([]byte, 4096)
	for len(frames) < n {
		length, _, err := unix.Recvfrom(c.fd, buffer, 0)
		if err != nil {
			t.Fatalf("after %d of %d frames: %v", len(frames), n, err)
		}
		if length < stampOffset {
			continue
		}
		if _, err := DecodeStamp(buffer[stampOffset:length]); err == nil {
			frames = append(frames, append([]byte{}, buffer[:length]...))
		}
	}
	return frames
}

// scribble puts a program on a port that overwrites every octet up to end of
// the frames with even sequence numbers and drops them, and passes the others.
// So the pages come back to the generator as no UPF leaves them.
func scribble(t *testing.T, p topology.Port, sequenceOffset, end int) {
	t.Helper()
	at := int16(sequenceOffset)
	instructions := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(end)),
		asm.JGT.Reg(asm.R4, asm.R3, "pass"),
		asm.LoadMem(asm.R5, asm.R2, at, asm.Byte),
		asm.And.Imm(asm.R5, 1),
		asm.JNE.Imm(asm.R5, 0, "pass"),
	}
	for offset := range end {
		instructions = append(instructions, asm.StoreImm(asm.R2, int16(offset), 0xa5, asm.Byte))
	}
	instructions = append(instructions,
		asm.Mov.Imm(asm.R0, 1), asm.Return(),
		asm.Mov.Imm(asm.R0, 2).WithSymbol("pass"), asm.Return())
	attach(t, p, instructions)
}

// attach puts a program on a port until the test ends.
func attach(t testing.TB, p topology.Port, instructions asm.Instructions) {
	t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: instructions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	l, err := p.AttachXDP(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}
