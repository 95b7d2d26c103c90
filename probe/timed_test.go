package probe

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// TestTimedShare passes packets that differ in a number alone, which counts up: the part that
// is timed is about what was asked for, wherever the number stands, and the exit chooses the
// same ones.
func TestTimedShare(t *testing.T) {
	const packets, inSo = 8192, 16
	const room = 1 << 20 // all come before the first leaves, none of a UE that is learnt: all are in flight
	short := make([]byte, 12)
	for _, tc := range []struct {
		name   string
		packet []byte
		behind int // octets of the packet from its number on
	}{
		{"payload", udp(ueAddr, hostAddr, make([]byte, 72)), 72},
		{"last octets of the fingerprint", udp(ueAddr, hostAddr, make([]byte, 72)), 40},
		{"ports", udp(ueAddr, hostAddr, short), 20},
		{"destination", udp(ueAddr, hostAddr, short), 24},
		{"payload over IPv6", udp(ueAddr6, hostAdr6, short), 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Config{Timed: inSo, InFlight: room})
			for _, at := range []Point{n3In, n6Out} {
				f := frame(tc.packet)
				if at == n3In {
					f = onN3(In, gpdu(7, 9, tc.packet))
				}
				numbered, err := counting(r.load(at, hook.Device{Tun: true}), len(f)-tc.behind)
				if err != nil {
					t.Fatal(err)
				}
				defer numbered.Close()
				if err := quietly(func() error {
					_, err := numbered.Run(&ebpf.RunOptions{Data: f, DataOut: make([]byte, len(f)+64), Repeat: packets})
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			s := r.snapshot()
			got, timed := s.Series[0].Account, s.Series[0].Timed()
			if got.In != packets || timed < packets/inSo/2 || timed > packets/inSo*2 {
				t.Errorf("%+v: %d of %d are timed, want about one in %d", got, timed, packets, inSo)
			}
			if out := s.Points[1]; got.Matched != timed || out.UntimedOut != got.Untimed || out.Packets != packets {
				t.Errorf("%+v, exit %+v: they have not chosen the same ones", got, out)
			}
		})
	}
}
