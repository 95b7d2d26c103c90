package p4

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	p4info "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// part is a program that runs in this process: the pipeline of v1model, or one of the two parts of that of tna.
type part struct {
	t       testing.TB
	control string // in which all others are, with a dot
	info    *p4info.P4Info
	program *bmv2.Program
	s       *bmv2.Instance
	w       *bmv2.Worker
	out     []emitted
	owners  map[string]bool // entries of owners6
}

type emitted struct {
	port  uint32
	frame []byte
}

func (p *part) Emit(o *bmv2.Out) {
	p.out = append(p.out, emitted{o.Port, append(bytes.Clone(o.Head), o.Payload...)})
}
func (p *part) Digest(int, int, []byte) {}
func (p *part) Drop(int, bmv2.Drop)     {}

// send gives what leaves.
func (p *part) send(port uint32, frame []byte) []emitted {
	p.out = nil
	p.w.Process([]bmv2.Frame{{Port: port, Data: frame}}, p)
	return p.out
}

// counts are those of a counter that are not 0.
func (p *part) counts(name string) map[int]uint64 {
	all := map[int]uint64{}
	id, ok := p.program.Counter(p.control + name)
	if !ok {
		p.t.Fatalf("no counter %s", name)
	}
	p.s.View(func(tx *bmv2.Tx) {
		for i := range p.program.Counters()[id].Size {
			if c, err := tx.Counter(id, i); err != nil {
				p.t.Fatal(err)
			} else if c.Packets != 0 {
				all[i] = c.Packets
			}
		}
	})
	return all
}

const inIngress = "UPFIngress."

const bm2 = "p4c-bm2-ss"

// compile compiles a text for v1model as if it were a file of the directory p4.
func compile(t testing.TB, control, name, text string, options ...string) *part {
	t.Helper()
	dir := t.TempDir()
	file, program, infoFile := filepath.Join(dir, name+".p4"), filepath.Join(dir, name+".json"), filepath.Join(dir, name+".txtpb")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--std", "p4-16", "-I", "../../p4", "--p4runtime-files", infoFile, "-o", program, file}, options...)
	if include := os.Getenv("P4INCLUDE"); include != "" {
		args = append([]string{"-I", include}, args...)
	}
	if said, err := exec.Command(bm2, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
	p := &part{t: t, control: control, info: &p4info.P4Info{}, owners: map[string]bool{}}
	data, err := os.ReadFile(program)
	if err == nil {
		p.program, err = bmv2.Load(data)
	}
	if err != nil {
		t.Fatal(name, ": ", err)
	}
	if data, err = os.ReadFile(infoFile); err == nil {
		err = prototext.Unmarshal(data, p.info)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.s = p.program.New(bmv2.Config{Clock: func() int64 { return 0 }, Passes: 1})
	p.w = p.s.NewWorker()
	return p
}

// source is a front's text, with what is between two texts replaced.
type source struct {
	t    testing.TB
	text string
}

func (s *source) replace(from, to string) {
	s.t.Helper()
	if !strings.Contains(s.text, from) {
		s.t.Fatalf("the front has no %q", from)
	}
	s.text = strings.ReplaceAll(s.text, from, to)
}

// cut takes out what is from one text on until before another.
func (s *source) cut(from, until, instead string) {
	s.t.Helper()
	i := strings.Index(s.text, from)
	if i < 0 {
		s.t.Fatalf("the front has no %q", from)
	}
	n := strings.Index(s.text[i:], until)
	if n < 0 {
		s.t.Fatalf("the front has no %q behind %q", until, from)
	}
	s.text = s.text[:i] + instead + s.text[i+n:]
}

// What stands in place of externs of Tofino, for v1model. There are no meters.
const externs = `
#define FORWARDED m.reason == REASON_NONE
#define COUNTER(name, size, bits) @name(#name) counter(size, CounterType.packets_and_bytes) name;
#define COUNT(name, index) name.count((bit<32>)index);
#define METER(name, size, bits)
#define METER_RUN(name, index) m.fits = 1;
`

const checks = `
control Verify(inout headers_t h, inout meta_t m) { apply {} }
control Nothing(inout headers_t h, inout meta_t m, inout standard_metadata_t standard) { apply {} }
control Sum(inout headers_t h, inout meta_t m) {
	apply {
		update_checksum(h.out4.isValid(),
			{ h.out4.version, h.out4.ihl, h.out4.tos, h.out4.octets, h.out4.id, h.out4.flags, h.out4.fragment,
			  h.out4.ttl, h.out4.protocol, h.out4.src, h.out4.dst },
			h.out4.checksum, HashAlgorithm.csum16);
	}
}
`

// octets of the header that goes from the ingress to the egress, which are in the length of the frame there.
const bridged = 15

// tna is the program for tna as two for v1model, its ingress and its egress.
func tna(t testing.TB) (ingress, egress *part) {
	text := map[string]string{}
	for _, name := range []string{"upf_tna.p4", "tna_ingress.p4", "tna_egress.p4"} {
		b, err := os.ReadFile(filepath.Join("../../p4", name))
		if err != nil {
			t.Fatal(err)
		}
		text[name] = string(b)
	}
	both := source{t, text["upf_tna.p4"]}
	for _, name := range []string{"tna_ingress.p4", "tna_egress.p4"} {
		both.replace(fmt.Sprintf("#include %q\n", name), text[name])
	}
	both.replace("#include <tna.p4>", "#include <v1model.p4>")
	both.cut("struct usage_t", `#include "parse.p4"`, externs)
	both.replace("out meta_t m, out ingress_intrinsic_metadata_t intrinsic", "inout meta_t m, inout standard_metadata_t intrinsic")
	both.replace("out meta_t m, out egress_intrinsic_metadata_t intrinsic", "inout meta_t m, inout standard_metadata_t intrinsic")
	both.replace("\t\tpacket.extract(intrinsic);\n", "")
	both.replace("\t\tpacket.advance(PORT_METADATA_SIZE);\n", "")
	in, out := both, both

	in.cut("parser EgressParser", "Pipeline(", "")
	in.cut("control Ingress(", "\t@name", "control UPFIngress(inout headers_t h, inout meta_t m, inout standard_metadata_t intrinsic) {\n")
	in.cut("\tHash<bit<14>>", "\taction flow4", "")
	in.cut("hash4.get(", ";", "0")
	in.cut("hash6.get(", ";", "0")
	in.replace("tm.ucast_egress_port", "intrinsic.egress_spec")
	in.replace("tm.bypass_egress = 1;", "")
	in.replace("m.broken = parsed.parser_err;", "m.broken = intrinsic.parser_error != error.NoError ? 16w1 : 16w0;")
	in.cut("control IngressDeparser(", "\n", "control IngressDeparser(packet_out packet, in headers_t h) {")
	in.cut("Pipeline(", "Switch", "")
	in.cut("Switch", "\n", checks+"V1Switch(IngressParser(), Verify(), UPFIngress(), Nothing(), Sum(), IngressDeparser()) main;")

	out.cut("parser IngressParser", "parser EgressParser", "")
	out.cut("control Egress(", "\t@name", "control UPFEgress(inout headers_t h, inout meta_t m, inout standard_metadata_t intrinsic) {\n")
	out.replace("Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS)", "counter(256, CounterType.packets)")
	out.replace(".count(m.reason)", ".count((bit<32>)m.reason)")
	out.replace("deparser.drop_ctl = 1;", "mark_to_drop(intrinsic);")
	out.replace("intrinsic.pkt_length", fmt.Sprintf("((bit<16>)intrinsic.packet_length + FRAME_CHECK - %d)", bridged))
	out.cut("control EgressDeparser(", "\n", "control EgressDeparser(packet_out packet, in headers_t h) {")
	out.cut("\tChecksum() outer;", "\tapply", "")
	out.cut("\t\th.out4.checksum = outer", "\t\tpacket.emit(h.packet_in)", "")
	out.cut("Pipeline(", "Switch", "")
	out.cut("Switch", "\n", checks+"V1Switch(EgressParser(), Verify(), UPFEgress(), Nothing(), Sum(), EgressDeparser()) main;")
	return compile(t, inIngress, "ingress", in.text), compile(t, "UPFEgress.", "egress", out.text)
}
