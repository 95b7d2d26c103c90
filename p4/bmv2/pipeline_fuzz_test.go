package bmv2

import (
	"bytes"
	"testing"
)

// FuzzPipeline lets any frame through the UPF pipeline. It comes to one end, and one counter says which: it leaves with
// what the checksums and lengths of its new headers say, it goes to the CPU as it came, or it is dropped.
func FuzzPipeline(f *testing.F) {
	f.Add(uint8(pipeN3), gpdu(0x1001, pipeUE, 10))
	f.Add(uint8(pipeN3), gpdu(0x1002, pipeUE, 10))
	f.Add(uint8(pipeN3), gpdu(0x1001, pipeUE+1, 10))
	f.Add(uint8(pipeN6), toUE("", 9))
	f.Add(uint8(pipeN6), toUE("01020304", 9))
	f.Add(uint8(pipeN6), octets("0200000000aa 0200000000bb 8100 0064 86dd 60"))
	f.Add(uint8(pipeN6), []byte{2})
	f.Add(uint8(3), toUE("", 0))
	program := newPipe(f)
	f.Fuzz(func(t *testing.T, port uint8, frame []byte) {
		if len(frame) == 0 || len(frame) > 4096 {
			return
		}
		r := *program.rig
		r.t = t
		p := &pipe{&r}
		count := func() (sum CounterValue) {
			for _, name := range []string{"handed", "dropped"} {
				for reason := range 63 {
					c := p.cell(name, reason)
					sum.Packets, sum.Octets = sum.Packets+c.Packets, sum.Octets+c.Octets
				}
			}
			for _, rule := range []int{pipeUL, pipeDL} {
				c := p.cell("measure.forwarded", rule)
				sum.Packets, sum.Octets = sum.Packets+c.Packets, sum.Octets+c.Octets
			}
			return sum
		}
		sent := bytes.Clone(frame)
		before := count()
		s := &whole{}
		p.w.Process([]Frame{{Port: uint32(port), Data: frame}}, s)
		after := count()
		if !bytes.Equal(sent, frame) {
			t.Errorf("the frame that came was changed: %x", frame)
		}
		if got := (CounterValue{after.Packets - before.Packets, after.Octets - before.Octets}); got != (CounterValue{1, uint64(len(frame))}) {
			t.Errorf("counted %v, want one of %d octets", got, len(frame))
		}
		switch {
		case len(s.frames)+s.drops != 1:
			t.Fatalf("%d frames and %d drops", len(s.frames), s.drops)
		case s.drops == 1:
			return
		}
		out := s.frames[0]
		switch s.port {
		case pipeCPU:
			if out[0] != 0 || out[1] != port || !bytes.Equal(out[3:], frame) {
				t.Errorf("%x to the CPU of %x", out, frame)
			}
		case pipeN3: // encapsulated
			if got, want := len(out), len(frame)+44; got != want {
				t.Errorf("%d octets to the gNB, want %d", got, want)
			}
			if sum := internetSum(out[14:34]); sum != 0 {
				t.Errorf("checksum of the outer header is wrong by %x: %x", sum, out)
			}
			n := len(out) - 14
			if ip, udp, gtp := be16(out[16:]), be16(out[38:]), be16(out[44:]); ip != n || udp != n-20 || gtp != n-36 {
				t.Errorf("lengths %d, %d and %d of %d octets", ip, udp, gtp, n)
			}
			same(t, out[58:], frame[14:])
		case pipeN6: // decapsulated
			if got, want := len(out), len(frame)-44; got != want {
				t.Errorf("%d octets to the router, want %d", got, want)
			}
			same(t, out[14:], frame[58:])
		default:
			t.Errorf("to port %d", s.port)
		}
	})
}

func be16(b []byte) int { return int(b[0])<<8 | int(b[1]) }

// same compares an IPv4 packet with that of one hop before: TTL is one less, and the checksum as wrong as it was.
func same(t *testing.T, got, was []byte) {
	t.Helper()
	if len(got) < 20 || len(got) != len(was) {
		t.Fatalf("packet %x of %x", got, was)
	}
	want := bytes.Clone(was)
	want[8]--
	copy(want[10:12], got[10:12])
	if !bytes.Equal(want, got) {
		t.Errorf("packet %x, want %x", got, want)
	}
	// Zero and all ones are the same.
	if a, b := internetSum(got[:20])%0xffff, internetSum(was[:20])%0xffff; a != b {
		t.Errorf("checksum is wrong by %x and was by %x", a, b)
	}
}

// whole keeps the frames that come out.
type whole struct {
	frames [][]byte
	port   uint32
	drops  int
}

func (w *whole) Emit(o *Out) {
	w.frames, w.port = append(w.frames, append(bytes.Clone(o.Head), o.Payload...)), o.Port
}
func (w *whole) Digest(int, int, []byte) {}
func (w *whole) Drop(int, Drop)          { w.drops++ }
