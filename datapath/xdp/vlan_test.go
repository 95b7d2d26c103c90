package xdp

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// The VIDs of the tagged bed.
const vlanN3, vlanN9, vlanN6, vlanCorp = 103, 109, 106, 107

// openVLANs is the bed with all ports tagged on one device.
func openVLANs(t testing.TB) *vlanBed {
	t.Helper()
	b := openOn(t, conformance.MaxSessions, "", vlanPorts())
	b.tag(t)
	return &vlanBed{b}
}

// vlanPorts are those of the bed, with tags.
func vlanPorts() *ports {
	p := bedPorts()
	p.gtpu[0].VLAN, p.gtpu[1].VLAN, p.n6[0].VLAN = vlanN3, vlanN9, vlanN6
	p.n6[1].VLAN, p.n6[2].VLAN = vlanCorp, vlanCorp // they have one MAC address
	return p
}

// tag tells the programs of the tags.
func (b *bed) tag(t testing.TB) {
	t.Helper()
	b.vlans = true
	b.ports.n6[1].index, b.ports.n6[2].index = runIndex, runIndex // where their frames come from in the bed
	if err := b.setRoles(); err != nil {
		t.Fatal(err)
	}
}

type vlanBed struct{ *bed }

// Frame implements [conformance.Datapath].
func (v *vlanBed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	if port == conformance.N6LAN { // which has a device of its own
		return v.bed.Frame(t, port, frame)
	}
	if port != conformance.N3 {
		v.arriveOn(t, int(port-conformance.N6))
	}
	return v.frame(t, v.objs.UpfVlanXdp, port, frame)
}

// onWire is a frame as it arrives: with the tag of its port, if there is one.
func (b *bed) onWire(port conformance.Port, frame []byte) []byte {
	vid, ok := map[conformance.Port]uint16{conformance.N3: vlanN3, conformance.N6: vlanN6, conformance.N6 + 1: vlanCorp, conformance.N6 + 2: vlanCorp}[port]
	if !b.vlans || !ok || len(frame) < inet.LenEthernet {
		return frame
	}
	return tagged(vid, frame)
}

func tagged(tci uint16, frame []byte) []byte {
	tag := binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, tci)
	return slices.Concat(frame[:12], tag, frame[12:])
}

// fromWire takes off the tag that a frame has to have which leaves.
func (b *bed) fromWire(t testing.TB, frame []byte) []byte {
	t.Helper()
	if !b.vlans {
		return frame
	}
	vid, ok := map[[6]byte]uint16{
		conformance.N3MAC: vlanN3, conformance.N9MAC: vlanN9, conformance.N6MAC: vlanN6, conformance.CorpMAC: vlanCorp,
	}[[6]byte(frame[6:])]
	if !ok { // of a UE, on the Ethernet data network
		return frame
	}
	if want := binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, vid); !bytes.Equal(frame[12:16], want) {
		t.Errorf("tag %x, want %x, of a frame from %x", frame[12:16], want, frame[6:12])
	}
	return slices.Concat(frame[:12], frame[16:])
}

// TestVLANPasses: what becomes of frames that are no packets of UEs.
func TestVLANPasses(t *testing.T) {
	b := openVLANs(t)
	arp := slices.Concat(bytes.Repeat([]byte{0xff}, 6), conformance.GNBMAC[:], []byte{0x08, 0x06}, make([]byte, 46))
	for _, tc := range []struct {
		name     string
		in, want []byte
	}{
		{"ARP with the tag of a port loses it", tagged(vlanN3, arp), arp},
		{"priority does not matter", tagged(0xe000|vlanN6, arp), arp},
		{"another tag stays", tagged(2, arp), tagged(2, arp)},
		{"without tag, of no port", arp, arp},
		{"priority tag, of no port, stays", tagged(0xe000, arp), tagged(0xe000, arp)},
		{"end inside the tag", tagged(vlanN3, arp)[:15], tagged(vlanN3, arp)[:15]},
	} {
		expectPassed(t, b.objs.UpfVlanXdp, tc.name, tc.in, tc.want)
	}
	if err := b.objs.VlanRoles.Put(upfVlanKey{Ifindex: runIndex}, uint32(roleGTPU)); err != nil {
		t.Fatal(err)
	}
	expectPassed(t, b.objs.UpfVlanXdp, "priority tag, of a port without tag", tagged(0xe000, arp), arp)
	expectPassed(t, b.objs.UpfVlanXdp, "without tag, of a port without tag", arp, arp)
}

func expectPassed(t *testing.T, prog *ebpf.Program, name string, in, want []byte) {
	t.Helper()
	run := ebpf.RunOptions{Data: in, DataOut: make([]byte, len(in)+64)}
	action, err := prog.Run(&run)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if action != xdpPass || !bytes.Equal(run.DataOut, want) {
		t.Errorf("%s: action %d, frame %x\nwant pass, %x", name, action, run.DataOut, want)
	}
}
