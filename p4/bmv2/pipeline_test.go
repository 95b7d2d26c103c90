package bmv2

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// The UPF pipeline of p4/upf_v1model.p4.
const (
	pipeCPU     = 510
	pipeUE      = 0x64000001
	pipeUL      = 7 // rules
	pipeDL      = 8
	passRules   = 56
	passHost    = 49
	passAnswer  = 61
	passTooBig  = 54
	dropUE      = 11
	dropSDF     = 13
	dropGate    = 14
	dropMBR     = 15
	pipeN3      = 1 // ports
	pipeN6      = 2
	pipeMTU     = 1500
	beforeUser  = 58 // Ethernet 14, IPv4 20, UDP 8, GTP-U 8 + 4, container 4
	pipeIngress = "UPFIngress."
)

var (
	pipeMAC    = octets("0200000000aa") // the UPF's, as gpdu and toUE have it
	pipePeer   = u32(0x0a000002)
	pipeLocal  = u32(0x0a000001)
	macGNB     = octets("020000000003")
	macRouter  = octets("020000000004")
	pipePeer6  = octets("20010db8000000000000000000000002")
	pipeLocal6 = octets("20010db8000000000000000000000001")
)

// pipe is a rig of the pipeline, with short names for what every test does.
type pipe struct{ *rig }

func (p *pipe) add(table, action string, params [][]byte, match ...Match) {
	p.t.Helper()
	p.insert(pipeIngress+table, pipeIngress+action, params, match...)
}

// exacts is a match of fields that are all exact.
func exacts(of ...[]byte) (out []Match) {
	for _, b := range of {
		out = append(out, exact(b))
	}
	return out
}

// toN6 and toPeer are parameters of a rule without and with a tunnel. QFI 9; bucket 0 is no MBR.
func toN6(bucket byte, octetTime, tolerance []byte) [][]byte {
	return [][]byte{{1}, {1}, {0}, {bucket}, octetTime, tolerance, {0}, {0}, {0}, {0}}
}

func toPeer(peer byte) [][]byte {
	return [][]byte{{0}, {peer}, u32(0x2001), {1}, {9}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}
}

// newPipe has one session: a tunnel and a UE address, a gNB behind port 1 and a router behind port 2.
//
//	gNB ─ port 1 ─ UPF ─ port 2 ─ router
func newPipe(t testing.TB) *pipe {
	t.Helper()
	program, _ := compiled.V1Model()
	p := &pipe{newRigOf(t, program)}
	p.add("detect.ports", "detect.from_port", [][]byte{{1}, {0}}, exacts([]byte{pipeN3}, []byte{0}, []byte{0}, pipeMAC)...)
	p.add("detect.ports", "detect.from_port", [][]byte{{0}, {1}}, exacts([]byte{pipeN6}, []byte{0}, []byte{0}, pipeMAC)...)
	p.add("detect.locals4", "detect.local", [][]byte{{1}}, exact(pipeLocal))
	p.add("detect.tunnels", "detect.one", [][]byte{{pipeUL}, {beforeUser}, {1}, {1}, u32(pipeUE), {0}},
		exacts([]byte{1}, u32(0x1001))...)
	p.add("detect.ues4", "detect.one_bare", [][]byte{{pipeDL}, {14}}, exact(u32(pipeUE)))
	p.add("forward.rules", "forward.to_n6", toN6(0, []byte{0}, []byte{0}), exact([]byte{pipeUL}))
	p.add("forward.rules", "forward.to_peer", toPeer(1), exact([]byte{pipeDL}))
	p.add("forward.peers", "forward.peer4", [][]byte{pipeLocal, pipePeer, {1}}, exact([]byte{1}))
	p.add("forward.data_routes4", "forward.by_hop", [][]byte{{2}}, exact([]byte{1}), Match{})
	mtu := binary.BigEndian.AppendUint16(nil, pipeMTU)
	p.add("forward.hops", "forward.by_port", [][]byte{{pipeN3}, {0}, {0}, pipeMAC, macGNB, mtu}, exact([]byte{1}))
	p.add("forward.hops", "forward.by_port", [][]byte{{pipeN6}, {0}, {0}, pipeMAC, macRouter, mtu}, exact([]byte{2}))
	return p
}

// cell reads an element of a counter array.
func (p *pipe) cell(name string, index int) (v CounterValue) {
	p.t.Helper()
	c, there := p.p.Counter(pipeIngress + name)
	if !there {
		p.t.Fatalf("no counter %q", name)
	}
	p.s.View(func(tx *Tx) {
		var err error
		if v, err = tx.Counter(c, index); err != nil {
			p.t.Fatal(err)
		}
	})
	return v
}

// wantFrame checks that one frame leaves, and nothing else happens.
func wantFrame(t *testing.T, got *sink, port uint32, frame []byte) {
	t.Helper()
	want := &sink{frames: []string{hexFrame(port, frame)}, inPlace: 1}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// wantCPU checks that the frame leaves as it came, behind a packet_in header, and is counted.
func (p *pipe) wantCPU(t *testing.T, got *sink, port, reason byte, frame []byte) {
	t.Helper()
	wantFrame(t, got, pipeCPU, append([]byte{0, port, reason}, frame...))
	if c := p.cell("handed", int(reason)); c != (CounterValue{1, uint64(len(frame))}) {
		t.Errorf("handed for reason %d: %v, want one of %d octets", reason, c, len(frame))
	}
}

// wantDrop checks that nothing leaves, and the counters of the reason and of the rule.
func (p *pipe) wantDrop(t *testing.T, got *sink, rule, reason, octets int) {
	t.Helper()
	want := &sink{}
	want.drops[DropIngress] = 1
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sink{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	one := CounterValue{1, uint64(octets)}
	if c := p.cell("dropped", reason); c != one {
		t.Errorf("dropped for reason %d: %v, want %v", reason, c, one)
	}
	if rule == 0 { // nobody's
		rule, one = pipeUL, CounterValue{}
	}
	if c := p.cell("measure.refused", rule); c != one {
		t.Errorf("refused by rule %d: %v, want %v", rule, c, one)
	}
}

// hopped is a packet one hop on, with the Ethernet header of a next hop.
func hopped(to, ip []byte) []byte {
	b := append(append(bytes.Clone(to), pipeMAC...), 8, 0)
	b = append(b, ip...)
	b[14+8]--
	sumIPv4(b[14:])
	return b
}

func TestPipelineUplink(t *testing.T) {
	p := newPipe(t)
	in := gpdu(0x1001, pipeUE, 10)
	wantFrame(t, p.send(pipeN3, in), pipeN6, hopped(macRouter, in[beforeUser:]))
	if c := p.cell("measure.forwarded", pipeUL); c != (CounterValue{1, uint64(len(in))}) {
		t.Errorf("forwarded by the rule: %v, want one of %d octets", c, len(in))
	}
	for _, name := range []string{"measure.refused", "measure.forwarded"} {
		if c := p.cell(name, pipeDL); c != (CounterValue{}) {
			t.Errorf("%s of the other rule: %v", name, c)
		}
	}
}

// downGPDU is the outer header of a user packet for the gNB: from the IP header on, with a PDU Session Container of QFI 9.
func downGPDU(flow uint32, n int) (ip, udp []byte) {
	ip = ipv4(n+44, 17, 0x0a000001, 0x0a000002)
	ip[4], ip[5], ip[8] = 0, 0, 64
	sumIPv4(ip)
	udp = binary.BigEndian.AppendUint16(nil, uint16(3<<14|flow>>18))
	udp = binary.BigEndian.AppendUint16(udp, 2152)
	udp = binary.BigEndian.AppendUint16(udp, uint16(n+24))
	udp = append(udp, 0, 0, 0x34, 255)
	udp = binary.BigEndian.AppendUint16(udp, uint16(n+8))
	return ip, append(udp, octets("00002001 0000 00 85 01 00 09 00")...)
}

// flowOf is the pipeline's hash of a packet of toUE.
func flowOf() uint32 {
	k := uint32(0x9e3779b1) // not a constant: the product has more than 32 bits
	return (0x08080808 ^ pipeUE ^ 0x00351388) * k
}

func TestPipelineDownlink(t *testing.T) {
	p := newPipe(t)
	in := toUE("", 9)
	user := hopped(macGNB, in[14:])
	ip, udp := downGPDU(flowOf(), len(in)-14)
	want := append(append(append(bytes.Clone(user[:14]), ip...), udp...), user[14:]...)
	wantFrame(t, p.send(pipeN6, in), pipeN3, want)
	if c := p.cell("measure.forwarded", pipeDL); c != (CounterValue{1, uint64(len(in))}) {
		t.Errorf("forwarded by the rule: %v, want one of %d octets", c, len(in))
	}
}

// TestPipelineDownlink6 has a gNB with an IPv6 address, so that UDP has a checksum of everything. It may not be zero: the
// condition of the last calculation looks at what the one before gave.
func TestPipelineDownlink6(t *testing.T) {
	for _, tt := range []struct {
		name string
		zero bool
	}{{"other", false}, {"zero", true}} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPipe(t)
			p.add("forward.peers", "forward.peer6", [][]byte{pipeLocal6[:8], pipeLocal6[8:], pipePeer6[:8], pipePeer6[8:], {1}}, exact([]byte{2}))
			rules, e := p.entry(pipeIngress+"forward.rules", pipeIngress+"forward.to_peer", toPeer(2), exact([]byte{pipeDL}))
			p.s.Update(func(tx *Tx) {
				if err := tx.Modify(rules, e); err != nil {
					t.Fatal(err)
				}
			})
			in := toUE("", 8)
			build := func() ([]byte, []byte) {
				user := hopped(macGNB, in[14:])
				user[12], user[13] = 0x86, 0xdd
				_, udp := downGPDU(flowOf(), len(in)-14)
				n := uint16(len(udp) + len(in) - 14)
				flow := flowOf() >> 12
				ip := []byte{0x60, byte(flow >> 16), byte(flow >> 8), byte(flow), byte(n >> 8), byte(n), 17, 64}
				ip = append(append(ip, pipeLocal6...), pipePeer6...)
				pseudo := append(bytes.Clone(ip[8:]), 0, 0, byte(n>>8), byte(n), 0, 0, 0, 17)
				sum := internetSum(append(append(pseudo, udp...), user[14:]...))
				binary.BigEndian.PutUint16(udp[6:], sum)
				return append(append(append(bytes.Clone(user[:14]), ip...), udp...), user[14:]...), udp
			}
			if tt.zero {
				last := in[len(in)-2:]
				clear(last)
				_, udp := build()
				copy(last, udp[6:8]) // what was missing in the sum
			}
			want, udp := build()
			at := 14 + 40 + 6
			if zero := udp[6] == 0 && udp[7] == 0; zero != tt.zero {
				t.Fatalf("the test's checksum is %x", udp[6:8])
			}
			if tt.zero {
				want[at], want[at+1] = 0xff, 0xff
			}
			wantFrame(t, p.send(pipeN6, in), pipeN3, want)
		})
	}
}

// TestPipelineOther has what does not leave as a user packet.
func TestPipelineOther(t *testing.T) {
	changed := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	up, down := gpdu(0x1001, pipeUE, 10), toUE("", 9)
	ttl := changed(down, 22, 1)
	tests := []struct {
		name   string
		port   byte
		in     []byte
		cpu    byte // reason, or
		drop   int
		rule   int // that drops it; 0: none
		change func(*pipe)
	}{
		{name: "unknown TEID", port: pipeN3, in: gpdu(0x1002, pipeUE, 10), cpu: passRules},
		{name: "wrong UE source", port: pipeN3, in: gpdu(0x1001, pipeUE+1, 10), drop: dropUE},
		{name: "wrong UE source that no router forwards", port: pipeN3, in: gpdu(0x1001, 0x7f000001, 10), cpu: passAnswer},
		{name: "G-PDU from the data network", port: pipeN6, in: up, cpu: passHost},
		{name: "user packet from N3", port: pipeN3, in: down, cpu: passHost},
		{name: "another MAC address", port: pipeN6, in: changed(down, 5, 0xab), cpu: passHost},
		{name: "unknown UE", port: pipeN6, in: changed(down, 33, 2), cpu: passHost},
		{name: "version that is none of IPv4", port: pipeN6, in: changed(down, 14, 0x65), cpu: passRules},
		{name: "ARP", port: pipeN6, in: append(bytes.Clone(down[:12]), octets("0806 0001 0800")...), cpu: passHost},
		{name: "frame of one octet", port: pipeN6, in: []byte{2}, cpu: passHost},
		{name: "IP version 5, said to be IPv6", port: pipeN6, in: append(bytes.Clone(down[:12]), octets("86dd 50000000 0000 3b 40"+strings.Repeat("20010db800000001", 4))...), cpu: passRules},
		{name: "IPv4 header cut off", port: pipeN6, in: down[:33], cpu: passHost},
		{name: "user packet cut off", port: pipeN3, in: up[:len(up)-1], cpu: passRules},
		{name: "outer header that says less", port: pipeN3, in: changed(up, 17, up[17]-1), cpu: passHost},
		{name: "outer header that says more", port: pipeN3, in: changed(up, 17, up[17]+1), cpu: passHost},
		{name: "no container", port: pipeN3, in: append(changed(up[:54], 53, 0), up[58:]...), cpu: passHost},
		{name: "TTL ends", port: pipeN6, in: ttl, cpu: passAnswer},
		{name: "MTU", port: pipeN6, in: toUE("", pipeMTU-44-28+1), cpu: passTooBig},
		{name: "gate is closed", port: pipeN3, in: up, drop: dropGate, rule: pipeUL, change: func(p *pipe) {
			rules, e := p.entry(pipeIngress+"forward.rules", pipeIngress+"forward.refuse", [][]byte{{dropGate}}, exact([]byte{pipeUL}))
			p.s.Update(func(tx *Tx) {
				if err := tx.Modify(rules, e); err != nil {
					p.t.Fatal(err)
				}
			})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPipe(t)
			if tt.change != nil {
				tt.change(p)
			}
			got := p.send(uint32(tt.port), tt.in)
			if tt.drop != 0 {
				p.wantDrop(t, got, tt.rule, tt.drop, len(tt.in))
				return
			}
			p.wantCPU(t, got, tt.port, tt.cpu, tt.in)
		})
	}
	t.Run("greatest packet", func(t *testing.T) {
		if got := newPipe(t).send(pipeN6, toUE("", pipeMTU-44-28)); len(got.frames) != 1 || got.frames[0][:3] != "001" {
			t.Errorf("%v, want a frame to port 1", got)
		}
	})
	t.Run("packet-out", func(t *testing.T) {
		wantFrame(t, newPipe(t).send(pipeCPU, append([]byte{0, pipeN6}, down...)), pipeN6, down)
	})
}
