package p4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// verdict is what becomes of a frame: it leaves by a port, or is handed to the CPU or dropped for a reason.
type verdict struct {
	what   string
	reason byte
	port   uint32
	frame  string
}

const (
	leaves, handed, dropped = "leaves", "handed", "dropped"
	cpuV1model, cpuTNA, bin = 510, 192, 68
	portN6                  = 2
	shortest                = 60
)

// ipAt is where the IP header of a frame begins.
func ipAt(frame []byte) int {
	if len(frame) >= 18 && frame[12] == 0x81 && frame[13] == 0 {
		return 18
	}
	return 14
}

const gtpuPort = 2152

func isGTPU(udp []byte) bool { return len(udp) >= 4 && binary.BigEndian.Uint16(udp[2:]) == gtpuPort }

// over4 and over6 say whether a frame may be of a tunnel over IPv4 or IPv6.
func over4(frame []byte) bool {
	ip := frame[min(ipAt(frame), len(frame)):]
	return len(ip) >= 28 && ip[0] == 0x45 && ip[9] == inet.ProtoUDP && isGTPU(ip[20:])
}

func over6(frame []byte) bool {
	ip := frame[min(ipAt(frame), len(frame)):]
	return len(ip) >= 48 && ip[0]>>4 == 6 && ip[6] == inet.ProtoUDP && isGTPU(ip[40:])
}

// short says whether a frame ends before its IP packet, or in its UDP header over IPv6: v1model's parser reads that to the end.
func short(frame []byte) bool {
	const v6, v6UDP = 40, 48
	ip := frame[min(ipAt(frame), len(frame)):]
	if ip[0]>>4 == 6 {
		return len(ip) < v6+int(binary.BigEndian.Uint16(ip[4:])) || ip[6] == inet.ProtoUDP && len(ip) < v6UDP
	}
	return ip[0]>>4 == 4 && len(ip) < int(binary.BigEndian.Uint16(ip[2:]))
}

// portless is a frame without the UDP source port of an outer header: each program has another hash.
func portless(frame []byte) string {
	b := bytes.Clone(frame)
	if at := ipAt(b); over4(b) && b[at+4] == 0 && b[at+5] == 0 {
		b[at+20], b[at+21] = 0, 0
	}
	return string(b)
}

func (p *part) dropped(before map[int]uint64) byte {
	for reason, n := range p.counts("dropped") {
		if n != before[reason] {
			return byte(reason)
		}
	}
	p.t.Error("dropped without a reason")
	return 0
}

func reference(p *part, port uint32, frame []byte) verdict {
	before := p.counts("dropped")
	switch out := p.send(port, frame); {
	case len(out) == 0:
		return verdict{what: dropped, reason: p.dropped(before)}
	case out[0].port == cpuV1model:
		return verdict{what: handed, reason: out[0].frame[2], port: uint32(binary.BigEndian.Uint16(out[0].frame)), frame: string(out[0].frame[3:])}
	default:
		return verdict{what: leaves, port: out[0].port, frame: portless(out[0].frame)}
	}
}

func switched(in, out *part, port uint32, frame []byte) verdict {
	if port == cpuV1model {
		port = cpuTNA
	}
	between := in.send(port, frame)
	if len(between) != 1 {
		in.t.Errorf("%d frames behind the ingress", len(between))
		return verdict{}
	}
	to := between[0].port
	if port == cpuTNA { // past the egress
		return verdict{what: leaves, port: to, frame: portless(between[0].frame)}
	}
	before := out.counts("dropped")
	switch left := out.send(to, between[0].frame); {
	case len(left) == 0:
		return verdict{what: dropped, reason: out.dropped(before)}
	case to == bin:
		in.t.Error("a frame leaves the bin")
		return verdict{}
	case to == cpuTNA:
		return verdict{what: handed, reason: left[0].frame[2], port: uint32(binary.BigEndian.Uint16(left[0].frame)), frame: string(left[0].frame[3:])}
	default:
		return verdict{what: leaves, port: to, frame: portless(left[0].frame)}
	}
}

// TestTNASameAsV1Model: what the text of the program for tna says, executed as two programs for v1model, is what the program for
// v1model does, but for what docs/p4-tna.md leaves to the CPU. It says nothing of what a compiler for Tofino makes of it.
func TestTNASameAsV1Model(t *testing.T) {
	if _, err := exec.LookPath(bm2); err != nil {
		t.Skipf("%v: p4c's compiler for v1model", err)
	}
	ingress, egress := tna(t)
	text, err := os.ReadFile("../../p4/upf_v1model.p4")
	if err != nil {
		t.Fatal(err)
	}
	v1model := compile(t, inIngress, "v1model", string(text), "-DCOUNTS_USER_OCTETS", "-DNO_FRAME_OCTETS")
	full := compile(t, inIngress, "full", string(text))
	s, err := newSchema(full.info)
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(setting(drawsSeed, 1), 0))
	for _, e := range named(full.info, append(entries(s), drawnFilters(draw, s)...)) {
		v1model.write(e)
		split(ingress, egress, e)
	}
	if t.Failed() {
		return
	}
	var from []frameCase
	for _, some := range [][]frameCase{uplinkCases(), downlinkCases(), filteredCases(), handedCases()} {
		from = append(from, some...)
	}
	counted, measured := map[string]int{}, 0
	differ := 0
	try := func(name string, port uint32, frame []byte) {
		frame = append(frame, make([]byte, max(0, shortest-len(frame)))...) // as Ethernet does
		want, got := reference(v1model, port, frame), switched(ingress, egress, port, frame)
		kind := want.what + " " + got.what
		counted[kind]++
		if got.what == leaves && port != cpuV1model {
			measured++
		}
		switch {
		case want == got:
		case want.what == handed && got.what == handed && want.frame == got.frame && want.port == got.port:
			counted[kind+" for another reason"]++
		case got.what == handed && got.frame == string(frame) && (over6(frame) || over6([]byte(want.frame))):
			counted["handed, tunnels over IPv6"]++
		case got.what == handed && got.frame == string(frame) && port == portN6 && over4(frame):
			counted["handed, G-PDUs that are user packets"]++
		case got.what == leaves && want.what == handed && short(frame):
			counted["leaves, ends in its UDP header"]++
		case got.what == handed && got.frame == string(frame) && got.reason == byte(datapath.PassTooBig) && want.what == leaves:
			counted["handed, too big with a container"]++
		case got.what == handed && got.frame == string(frame) && want.what == dropped:
			counted["handed, to be dropped there"]++
		case got.what == dropped && got.reason == byte(datapath.DropGate) && want.what == handed:
			counted["dropped by a gate before it is handed"]++
		case got.what == dropped && short([]byte(want.frame)) && (got.reason == byte(datapath.DropIPShort) || want.what == handed):
			counted["dropped, too short"]++
		default:
			if differ++; differ < 30 {
				t.Errorf("%s: port %d, %x:\n v1model %s %d, port %d, %x\n tna     %s %d, port %d, %x", name, port, frame, want.what, want.reason, want.port, want.frame, got.what, got.reason, got.port, got.frame)
			}
		}
	}
	for _, one := range from {
		try(one.name, one.port, one.frame)
	}
	for i := range setting(drawsVariable, 3000) {
		one := from[draw.IntN(len(from))]
		frame := spoiled(draw, one.frame)
		if draw.IntN(3) == 0 {
			one.port, frame = 1, up(teidList, drawnUser(draw))
		}
		try(fmt.Sprint(i, " like ", one.name), one.port, frame)
	}
	t.Log(counted)
	left := 0
	for _, n := range egress.counts("measure.forwarded") {
		left += int(n)
	}
	if left != measured {
		t.Errorf("%d packets counted, %d have left", left, measured)
	}
}
