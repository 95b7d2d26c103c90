package xdp

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/xdp/harness"
)

// BenchmarkEthernet is [BenchmarkProgram] with one session, for a frame around the
// same IP packet in an Ethernet PDU session, beside that packet in an IP one.
func BenchmarkEthernet(b *testing.B) {
	for _, ethernet := range []bool{false, true} {
		bed := openBed(b, 64)
		peer := conformance.GNBAddress.As4()
		s := benchSession(0, binary.BigEndian.Uint32(peer[:]))
		up, down := conformance.BenchFrames()
		name, arrival := "ip", bed.objs.UpfN6Xdp
		if ethernet {
			s.PduType, s.Rules[0].Detect.UeAddress, s.Rules[0].Forward.NetworkInstance = api.PDUType_ETHERNET, nil, "lan"
			s.Rules[1].Detect = &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true, NetworkInstance: "lan"}
			name, arrival = "ethernet", bed.objs.UpfEtherXdp
			up, down = conformance.BenchEtherFrames(64)
		}
		plainN6(b, bed)
		if err := bed.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			b.Fatal(err)
		}
		binary.BigEndian.PutUint32(up[upTEIDAt:], benchTEID)
		if ethernet { // it is learnt of
			bed.Frame(b, conformance.N3, up)
			bed.Frame(b, conformance.N6LAN, down)
			bed.arriveOn(b, int(conformance.N6LAN-conformance.N6))
		} else {
			binary.BigEndian.PutUint32(up[upAddressAt:], benchAddress)
			binary.BigEndian.PutUint32(down[downAddressAt:], benchAddress)
		}
		for _, dir := range []struct {
			name  string
			prog  *ebpf.Program
			frame []byte
		}{{"uplink", bed.objs.UpfGtpuXdp, up}, {"downlink", arrival, down}} {
			b.Run(name+"/"+dir.name, func(b *testing.B) {
				measure(b, dir.prog, harness.Packet{Frame: dir.frame, Sessions: 1})
			})
		}
		if err := bed.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
