package xdp_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestEthernetOnce: a frame from the data network reaches the UE once and is charged
// once, on whichever side of the packet sockets the hook stands.
func TestEthernetOnce(t *testing.T) {
	for name, on := range map[string]func(xdp.Config) xdp.Config{"xdp": nil, "tc": onTC, "clsact": onClsact} {
		t.Run(name, func(t *testing.T) {
			n := layNetwork(t, "eonce-"+name)
			n.on = on
			check(t, n.DN.Do(silence))
			lan := n.layLAN(t)
			n.startLAN(t)
			n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
			n.installFrames(t, 1, ulTEID, dlTEID)

			ue := []byte{2, 0, 0, 0, 0x77, 1}
			n.etherUp(t, etherFrame(lan.MAC, ue, 0, nil))
			n.await(t, 0, 1)
			var want uint64
			for _, to := range [][]byte{ue, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
				for _, tag := range [][]byte{nil, {0x81, 0, 0xa0, 0}} {
					lan.send(t, etherFrame(to, lan.MAC, byte(want), tag))
					want++
					n.await(t, 1, want)
				}
			}
			time.Sleep(3 * etherPatience)
			check(t, n.gnb.SetReadDeadline(time.Now().Add(10*time.Second)))
			for i := range byte(want) {
				if f := n.atGNB(t); !bytes.Equal(f[len(f)-1:], []byte{i}) {
					t.Errorf("frame %d at the gNB: got number %d", i, f[len(f)-1])
				}
			}
			n.await(t, 1, want)
			check(t, n.gnb.SetReadDeadline(time.Now().Add(etherPatience)))
			if size, err := n.gnb.Read(make([]byte, 2048)); err == nil {
				t.Errorf("one more G-PDU, of %d octets", size)
			}
		})
	}
}

// etherPatience is how long a frame may take that is not to come.
const etherPatience = 100 * time.Millisecond

// etherFrame is a frame of 64 octets, its number the last one.
func etherFrame(to, from []byte, number byte, tag []byte) []byte {
	f := append(append(append(append([]byte{}, to...), from...), tag...), 0x88, 0xb5)
	f = append(f, make([]byte, 64-len(f))...)
	f[63] = number
	return f
}

// await waits until so many packets were counted for a rule of the first session, and
// fails if there are more.
func (n *network) await(t *testing.T, rule int, want uint64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		usage, err := n.upf.Usage(1)
		check(t, err)
		switch got := usage.GetRules()[rule].GetPackets(); {
		case got > want || got < want && time.Now().After(end):
			t.Fatalf("packets of rule %d: got %d, want %d", rule, got, want)
		case got == want:
			return
		}
	}
}
