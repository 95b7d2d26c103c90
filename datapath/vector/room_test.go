package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestNoRoom relays G-PDUs whose header grows, each right behind another: both leave
// as they would with room, and each with its own octets.
func TestNoRoom(t *testing.T) {
	a := conformance.PeerAddress.As4()
	n3 := conformance.N3Address.As4()
	local := binary.BigEndian.Uint32(n3[:])
	peer := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	b := openBed(t)
	err := b.Apply(context.Background(), &api.Change{Seid: 1, Session: &api.Session{
		Seid: 1, Qers: []*api.QER{{Id: 1, Qfi: 9}},
		Rules: []*api.Rule{{
			PdrId: 1, QerIds: []uint32{1}, OuterHeaderRemoval: true, Detect: &api.Detect{FTeid: &api.FTEID{Teid: 7, Ipv4: local}},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_CORE,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 8, Ipv4: peer},
			},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var buf []byte
	var packets []*Packet
	var want [][]byte
	for i := range byte(40) {
		user := []byte{0x45, 0, 0, 28, 0, i, 0, 0, 64, 17, 0, 0, 10, 45, 0, 1, 198, 18, 0, 1, 0, 1, 0, 2, 0, 8, 0, 0}
		buf = append(gtpu.AppendGPDU(buf, 7, 0, 0, len(user)), user...)
		want = append(want, append(gtpu.AppendGPDU(nil, 8, gtpu.PDUTypeUplink, 9, len(user)), user...))
	}
	const size = gtpu.LenGPDU + 28
	for at := 0; at < len(buf); at += size {
		packets = append(packets, &Packet{Buf: buf[at : at+size : at+size], End: size, To: conformance.N3Address})
	}
	slow := b.worker.slow
	var got [][]byte
	b.worker.Run(packets, func(out []*Packet) {
		for _, p := range out {
			got = append(got, bytes.Clone(p.Octets()))
		}
	})
	if len(got) != len(want) {
		t.Fatalf("%d packets, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("packet %d\n got %s\nwant %s", i, hex.Dump(got[i]), hex.Dump(want[i]))
		}
	}
	if b.worker.slow != slow {
		t.Errorf("%d packets took the slow path", b.worker.slow-slow)
	}
}
