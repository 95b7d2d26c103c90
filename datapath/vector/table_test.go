package vector

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// TestRecord: a record is two cache lines, and begins one.
func TestRecord(t *testing.T) {
	if size := unsafe.Sizeof(record{}); size != 2*cacheLine {
		t.Errorf("a record has %d octets, want %d", size, 2*cacheLine)
	}
	tab := newTable(1)
	if at := uintptr(unsafe.Pointer(tab.put(1))) % cacheLine; at != 0 {
		t.Errorf("a record begins at octet %d of a cache line", at)
	}
}

// TestTables: whatever comes and goes, rules are found by their keys, and nothing is left
// when all have gone.
func TestTables(t *testing.T) {
	made := newTables(16, func(m *stages.Rule) rule { return rule{model: [1]*stages.Rule{m}} })
	r := rand.New(rand.NewPCG(1, 2))
	want := map[datapath.Key][]*stages.Rule{}
	locals := []netip.Addr{conformance.N3Address, conformance.N3Address6, conformance.N9Address}
	for range 20_000 {
		n := r.Uint32N(300) + 1
		k := []datapath.Key{
			{TEID: n, Local: locals[n%3]}, {TEID: n << 16, Local: locals[n%3]}, {IPv4: n << 8}, {IPv6: uint64(n) << 32},
			{Route: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), 0, 0}), int(n%8)+16)},
		}[r.IntN(5)]
		if want[k] != nil {
			made.Unbind(k)
			delete(want, k)
		} else {
			want[k] = []*stages.Rule{{PDRID: n}, {PDRID: n + 1}}[:1+r.IntN(2)]
			made.Bind(k, want[k])
		}
		got := made.Candidates(k)
		if len(got) != len(want[k]) || len(got) > 0 && (got[0] != want[k][0] || got[len(got)-1] != want[k][len(got)-1]) {
			t.Fatalf("%v: got %v, want %v", k, got, want[k])
		}
	}
	if made.teids.octets() == newTables(16, nil).teids.octets() || len(made.teids.guests) == 0 {
		t.Error("no page was made, or no two keys have met")
	}
	for k, rules := range want {
		if got := made.Candidates(k); len(got) != len(rules) || got[0] != rules[0] {
			t.Errorf("%v: got %v, want %v", k, got, rules)
		}
		made.Unbind(k)
	}
	for _, tab := range []*table{&made.teids, &made.v4, &made.v6} {
		if got, want := tab.octets(), uint64(10*len(tab.pages)); got != want {
			t.Errorf("without keys: %d octets, want %d", got, want)
		}
	}
	if len(made.routes) != 0 || made.routeBits != [2]uint64{} {
		t.Errorf("without keys: routes %v", made.routes)
	}
}

// TestHosts: this host's addresses are known, whatever others have the same bits.
func TestHosts(t *testing.T) {
	var h Hosts
	own := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.2"), netip.MustParseAddr("2001:db8::1")}
	if h.Has(own[0]) || (*Hosts)(nil).Has(own[0]) {
		t.Error("an address of nobody's is known")
	}
	h.Set(own)
	for _, a := range own {
		if !h.Has(a.Unmap()) {
			t.Errorf("%v is not known", a)
		}
	}
	for i := range 1 << 16 {
		if a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}); h.Has(a) {
			t.Errorf("%v is known", a)
		}
	}
}

// TestLocal: what a UE sends to this host is dropped, and what is for its neighbour is
// not.
func TestLocal(t *testing.T) {
	var h Hosts
	h.Set([]netip.Addr{netip.MustParseAddr("10.6.0.1"), netip.MustParseAddr("2001:db8:6::1")})
	b := openBed(t, func(_ *bed, c *Config) { c.Hosts = &h })
	s := benchSession(0, limited{})
	s.Rules[0].Detect.UeAddress = nil
	if err := b.Apply(t.Context(), &api.Change{Seid: 1, Session: s}); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]datapath.Reason{
		"10.6.0.1": datapath.DropLocal, "10.6.0.9": datapath.ReasonNone,
		"2001:db8:6::1": datapath.DropLocal, "2001:db8:6::9": datapath.ReasonNone,
	} {
		a := netip.MustParseAddr(to)
		user := append([]byte{0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1}, a.AsSlice()...)
		if a.Is6() {
			user = append([]byte{0x60, 0, 0, 0, 0, 0, 59, 64}, netip.MustParseAddr("2001:db8:1::1").AsSlice()...)
			user = append(user, a.AsSlice()...)
		}
		p := packetOf(append(gtpu.AppendGPDU(nil, benchTEID, gtpu.PDUTypeUplink, 9, len(user)), user...))
		p.To = benchLocal
		if got := b.vector(p); got.Reason != want {
			t.Errorf("to %s: %v, want %v", to, got.Reason, want)
		}
	}
}
