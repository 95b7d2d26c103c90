package traffic

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

var mixed = &Profile{
	Name: "mixed", About: "Video and calls down, acknowledgements up.", Seed: 7, Rate: Rate{PPS: 300_000}, Burst: 4,
	Streams: []Stream{
		{
			Name: "video", Direction: generator.Downlink, Octets: []int{1518, 1518, 512}, Sessions: 1000, Access: generator.Zipf, ZipfExponent: 1.1,
			Train: 8, Share: 3,
		},
		{
			Name: "calls", Direction: generator.Downlink, IPv6: true, Octets: []int{218}, First: 1000, Access: generator.Each,
			DSCP: []generator.Weighted{{Value: 46, Weight: 1}},
		},
		{
			Name: "acknowledgements", Direction: generator.Uplink, Octets: IMIX, Access: generator.Uniform,
			QFI: []generator.Weighted{{Value: 5, Weight: 20}, {Value: 9, Weight: 80}},
		},
	},
}

func TestLoad(t *testing.T) {
	got, err := Load("testdata/mixed.yaml")
	if diff := cmp.Diff(mixed, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if n := got.Sessions(); n != 1001 {
		t.Errorf("got %d sessions, want 1001", n)
	}
	if mtu := got.MTU(); mtu != 1500+44 || !got.IPv6() {
		t.Errorf("got MTU %d, IPv6 %v, want 1544, true", mtu, got.IPv6())
	}
	if diff := cmp.Diff([]string{"video", "calls"}, got.StreamNames(generator.Downlink)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestParseErrors: what is wrong is named.
func TestParseErrors(t *testing.T) {
	stream := func(s string) string {
		return "streams: [{name: a, direction: uplink, frames: 64}, {name: b, direction: uplink, " + s + "}]"
	}
	for _, tc := range []struct{ name, in, want string }{
		{"no streams", "name: x", "no streams"},
		{"a ramp to nowhere", "ramp: 5pps\n" + stream("frames: 64"), "a ramp without the rate that it begins with"},
		{"burst", "burst: -1\n" + stream("frames: 64"), "burst of -1 frames: want 65536 at most"},
		{"rate of all sessions", "rate: 1pps/session\n" + stream("frames: 64"), "a stream may have one for each session"},
		{"name", "streams: [{direction: uplink, frames: 64}]", `stream "": no name`},
		{"same name", strings.Replace(stream("frames: 64"), "name: b", "name: a", 1), `stream "a": there are two of this name`},
		{"direction", "streams: [{name: a, direction: up, frames: 64}]", `direction "up": want uplink or downlink`},
		{"frames", stream("frames: 63"), `frames "63": want a number of octets on N6 with FCS, 64 to 3368, or imix`},
		{"no frames", stream("share: 1"), `frames "<nil>": want a number`},
		{"IPv6", stream("frames: 83, ip: 6"), `stream "b": frame of 83 octets: want 84 to 3368`},
		{"no such IP", stream("frames: 84, ip: 5"), "ip 5: want 4 or 6"},
		{"too many lengths", stream("frames: [imix, imix, imix, imix, imix, imix]"), `stream "b": 72 frame lengths: want 1 to 64`},
		{"access", stream("frames: 64, access: random"), `access pattern "random": want same, uniform, zipf or each`},
		{"qfi", stream("frames: 64, qfi: {64: 1}"), "qfi 64 with weight 1: want 0 to 63"},
		{"qfi downlink", "streams: [{name: a, direction: downlink, frames: 64, qfi: {5: 1}}]", "qfi of downlink frames: the rules of the UPF decide"},
		{"dscp", stream("frames: 64, dscp: {4: 0}"), "dscp 4 with weight 0: want 0 to 63, and a weight above 0"},
		{"sessions", stream("frames: 64, sessions: {first: -1}"), "sessions -1 and 0 more: want 0 to 16777216"},
		{"train", stream("frames: 64, train: 5000"), "train of 5000 frames: want 4096 at most"},
		{"rate and share", stream("frames: 64, share: 1, rate: 1pps"), "a share and a rate: want one of them"},
		{"rate of one", stream("frames: 64, rate: 1pps"), `stream "b" has a rate and stream "a" has none`},
		{"rate of sessions", "streams: [{name: a, direction: uplink, frames: 64, rate: 1pps/session}]", "rate 1pps/session: want the number of sessions"},
		{"rate of throughput", "streams: [{name: a, direction: uplink, frames: 64, rate: 5 %}]", "rate 5 %: want one that does not depend on the throughput"},
		{"tag", "streams: !!seq [x]", "a tag"},
		{"alias", "name: &a x\nabout: *a", "an anchor or alias"},
		{"deep", "streams: " + strings.Repeat("[", 1<<19), "nested too deep"},
		{"rates twice", "rate: 5pps\nstreams: [{name: a, direction: uplink, frames: 64, rate: 5pps}]", `stream "a" has a rate, and so has the profile`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := parse("", []byte(tc.in))
			if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, %v, want %q", p, err, tc.want)
			}
		})
	}
	for _, in := range []string{"streems: []", "rate: fast", "rate: NaNpps", "- 1", "\x00"} {
		if p, err := parse("", []byte(in)); err == nil {
			t.Errorf("%q: got %+v, want an error", in, p)
		}
	}
}

func TestRate(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Rate
		text string
	}{
		{"900kpps", Rate{PPS: 900_000}, "900kpps"},
		{"1.5Mpps", Rate{PPS: 1_500_000}, "1.5Mpps"},
		{"7pps", Rate{PPS: 7}, "7pps"},
		{"1.5 Gbit/s", Rate{BPS: 1.5e9}, "1.5Gbit/s"},
		{"64kbit/s/session", Rate{BPS: 64e3, PerSession: true}, "64000bit/s/session"},
		{"200Mbit/s", Rate{BPS: 200e6}, "200Mbit/s"},
		{"50 %", Rate{Percent: 50}, "50 %"},
		{"0.1pps/session", Rate{PPS: 0.1, PerSession: true}, "0.1pps/session"},
	} {
		var got Rate
		if err := got.UnmarshalText([]byte(tc.in)); err != nil || got != tc.want || got.String() != tc.text {
			t.Errorf("%q: got %+v, %v, %q, want %+v, %q", tc.in, got, err, got, tc.want, tc.text)
		}
	}
	for _, in := range []string{"", "5", "-1pps", "0pps", "infpps", "2000Mpps", "10%/session", "1e300Gbit/s", "5 fps"} {
		var got Rate
		if err := got.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q: got %+v, want an error", in, got)
		}
	}
}

// TestLoads: rates as frames per second of a direction.
func TestLoads(t *testing.T) {
	profile := func(head, streams string) *Profile {
		p, err := parse("", []byte(head+"\nstreams: ["+streams+"]"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// On N6 without FCS, 129 octets are 1000 bits, 254 are 2000.
	const one = "{name: a, direction: uplink, frames: 129}"
	for _, tc := range []struct {
		name string
		p    *Profile
		want generator.Load
	}{
		{"none: the method's", profile("", one), generator.Load{Rate: 42}},
		{"frames, ramp and burst", profile("rate: 5kpps\nramp: 10kpps\nburst: 8", one), generator.Load{Rate: 5000, RampTo: 10_000, Burst: 8}},
		{"bits", profile("rate: 1Gbit/s", one), generator.Load{Rate: 1_000_000}},
		{"bits of a mix", profile("rate: 1250Mbit/s", "{name: a, direction: uplink, frames: 129, share: 3}, {name: b, direction: uplink, frames: 254}"),
			generator.Load{Rate: 1_000_000}},
		{"percent", profile("rate: 50%", one), generator.Load{Rate: 500_000}},
		{"a ramp in percent", profile("rate: 5kpps\nramp: 50%", one), generator.Load{Rate: 5000, RampTo: 500_000}},
		{"of the streams", profile("", "{name: a, direction: uplink, frames: 129, rate: 10pps/session, sessions: {count: 100}}, "+
			"{name: b, direction: uplink, frames: 254, rate: 4Mbit/s}, {name: c, direction: downlink, frames: 64, rate: 1pps}"), generator.Load{Rate: 3000}},
	} {
		l := generator.Load{Rate: 42}
		tc.p.Load(generator.Uplink, 1_000_000, &l)
		if of := strings.HasSuffix(tc.name, "percent"); l != tc.want || tc.p.OfThroughput() != of {
			t.Errorf("%s: got %+v, of a throughput: %t, want %+v, %t", tc.name, l, tc.p.OfThroughput(), tc.want, of)
		}
	}
}

func TestConfigure(t *testing.T) {
	server4, server6 := netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")
	c := generator.Config{Direction: generator.Downlink, Sessions: make([]generator.Session, 1001)}
	if err := mixed.Configure(&c, server4, server6); err != nil {
		t.Fatal(err)
	}
	want := []generator.Stream{
		{
			Server: server4, Payloads: []int{1472, 1472, 466}, Sessions: 1000, Access: generator.Zipf, ZipfExponent: 1.1, Train: 8, Share: 3,
		},
		{Server: server6, Payloads: []int{152}, First: 1000, Access: generator.Each, Share: 1, DSCP: []generator.Weighted{{Value: 46, Weight: 1}}},
	}
	if diff := cmp.Diff(want, c.Streams, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || c.Seed != 7 {
		t.Errorf("seed %d (-want +got):\n%s", c.Seed, diff)
	}
	up := generator.Config{Direction: generator.Uplink, Sessions: make([]generator.Session, 1001)}
	if err := mixed.Configure(&up, server4, server6); err != nil || len(up.Streams) != 1 || len(up.Streams[0].QFI) != 2 {
		t.Errorf("got %+v, %v, want a stream of two QFIs", up.Streams, err)
	}
	few := generator.Config{Direction: generator.Downlink, Sessions: make([]generator.Session, 1000)}
	if err := mixed.Configure(&few, server4, server6); !errors.Is(err, ErrProfile) {
		t.Errorf("too few sessions: got %v, want %v", err, ErrProfile)
	}
	if err := mixed.Configure(&c, server4, netip.Addr{}); !errors.Is(err, ErrProfile) {
		t.Errorf("no IPv6: got %v, want %v", err, ErrProfile)
	}
}

// TestHowTo: the profile that the page shows is one.
func TestHowTo(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto-lab-traffic.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	p, err := parse("", []byte(text))
	if !ok || err != nil || p.Name != "evening" || len(p.Streams) != 3 {
		t.Errorf("got %+v, %v, want profile evening with 3 streams", p, err)
	}
}

func TestNamed(t *testing.T) {
	both := []generator.Direction{generator.Uplink, generator.Downlink}
	for _, size := range []int{64, 128, 256, 512, 1024, 1280, 1518} { // RFC 2544, 9.1
		p, err := Named(strconv.Itoa(size), generator.Uniform, both...)
		if err != nil || len(p.Streams) != 2 || p.Streams[0].Octets[0] != size {
			t.Errorf("%d: got %+v, %v", size, p, err)
		}
	}
	for i := range builtin {
		p, ok := Builtin(builtin[i].Name)
		if !ok || p.check() != nil {
			t.Errorf("%s: got %+v, %v", builtin[i].Name, p, p.check())
		}
	}
	p, err := Named("udp_1pkt_simple", generator.Same, both...)
	if err != nil || !slices.Equal(p.Directions(), both[1:]) || p.Streams[0].Octets[0] != 1446 {
		t.Errorf("got %+v, %v, want downlink frames of 1446 octets", p, err)
	}
	if _, err := Named("udp_1pkt_simple", generator.Same, generator.Uplink); !errors.Is(err, ErrProfile) {
		t.Errorf("got %v, want %v", err, ErrProfile)
	}
	if _, err := Named("testdata/none.yaml", generator.Same, both...); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	if p, err := Named("testdata/mixed.yaml", generator.Same, generator.Uplink); err != nil || len(p.Streams) != 1 {
		t.Errorf("got %+v, %v, want one stream", p, err)
	}
}

// FuzzParse: a profile that is taken configures generators whose frames are within bounds.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/mixed.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("rate: 1Gbit/s\nstreams: [{name: a, direction: uplink, frames: [64, imix], rate: 1pps/session}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse("", text)
		if err != nil {
			return
		}
		if mtu := p.MTU(); mtu < 46+44 || mtu > topology.MaxMTU {
			t.Errorf("MTU %d", mtu)
		}
		for _, d := range p.Directions() {
			var l generator.Load
			p.Load(d, 1000, &l)
			if p.OfThroughput() && l.Rate == 0 || l.Rate > maxPPS {
				t.Errorf("rate %v, got %d frames/s", p.Rate, l.Rate)
			}
		}
	})
}
