package p4

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// drawsVariable is the name of a variable that says how many frames TestDrawnAsByBMv2 draws, and drawsSeed of one for which.
const drawsVariable, drawsSeed = "PLUMB_P4_DRAWS", "PLUMB_P4_SEED"

func setting(name string, without uint64) uint64 {
	if v, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return v
	}
	return without
}

// TestDrawnAsByBMv2: so it is with frames of which octets were changed, and with packets against filters that were drawn.
func TestDrawnAsByBMv2(t *testing.T) {
	both := sides(t)
	draw := rand.New(rand.NewPCG(setting(drawsSeed, 1), 0))
	all := append(entries(both[0].client.schema), drawnFilters(draw, both[0].client.schema)...)
	for _, s := range both {
		s.write(t.Context(), t, all)
	}
	if t.Failed() {
		return
	}
	var from []frameCase
	for _, some := range [][]frameCase{uplinkCases(), downlinkCases(), filteredCases(), handedCases()} {
		from = append(from, some...)
	}
	const bounds = 7 // of differences that are shown
	differ := 0
	for i := range setting(drawsVariable, 200) {
		one := from[draw.IntN(len(from))]
		frame := spoiled(draw, one.frame)
		if draw.IntN(3) == 0 {
			one.port, frame = 1, up(teidList, drawnUser(draw))
		}
		if d := cmp.Diff(both[1].send(t, one.port, frame), both[0].send(t, one.port, frame)); d != "" {
			t.Errorf("frame %d, like %q: %x (-%s +%s):\n%s", i, one.name, frame, both[1].name, both[0].name, d)
			if differ++; differ == bounds {
				return
			}
		}
	}
}

// spoiled is a frame that is changed, cut off or made longer in some places.
func spoiled(draw *rand.Rand, frame []byte) []byte {
	const longest, header, headers = 1514, 14, 120
	f := bytes.Clone(frame)
	for range 1 + draw.IntN(4) {
		at := draw.IntN(min(len(f), headers))
		switch draw.IntN(8) {
		case 0:
			f = f[:header+draw.IntN(len(f)-header+1)]
		case 1:
			f = append(f, make([]byte, min(draw.IntN(5), longest-len(f)))...)
		case 2, 3, 4:
			f[at] = byte(draw.IntN(256))
		default:
			f[at] ^= 1 << draw.IntN(8)
		}
	}
	return f
}

// What filters and packets that are drawn have in common, so that they meet.
var (
	someProtocols = []byte{1, inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP}
	drawnServers4 = []string{"8.8.4.4", "8.8.8.8", "8.9.0.1", "136.8.4.4"}
	drawnServers6 = []string{"2001:db8:8::53", "2001:db8:8:1::1", "2001:db8:77::8000:1", "3001:db8::1"}
)

const somePorts, drawnToS = 40, 256

func drawnUser(draw *rand.Rand) []byte {
	protocol, tos := someProtocols[draw.IntN(4)], byte(draw.IntN(drawnToS))
	upper := udpOf(uint16(draw.IntN(somePorts)), uint16(draw.IntN(somePorts)), 20)
	if draw.IntN(2) == 0 {
		return ipv4(ue4(1), drawnServers4[draw.IntN(4)], protocol, upper, set{1, []byte{tos}})
	}
	return ipv6(ue6(1), drawnServers6[draw.IntN(4)], protocol, upper, set{0, []byte{0x60 | tos>>4, tos << 4}})
}

// drawnFilters are entries of the uplink's list, before all others of it. Each has another priority.
func drawnFilters(draw *rand.Rand, s *schema) []*p4rt.Update {
	const each, first = 60, 100
	m := &maker{schema: s}
	some := func(f match) match {
		if draw.IntN(3) > 0 {
			return match{}
		}
		return f
	}
	ports := func() match {
		low := draw.IntN(somePorts)
		return some(between(uint64(low), uint64(low+draw.IntN(somePorts-low))))
	}
	half := func(value uint64, width int) match {
		mask := ^uint64(0) << draw.IntN(width) & (^uint64(0) >> (64 - width)) & (draw.Uint64() | draw.Uint64())
		if mask == 0 {
			return match{}
		}
		return some(masked(value&mask, mask))
	}
	for i, priority := range draw.Perm(2 * each) {
		key := append(exacts(listUp), match{}, half(9, 7), some(masked(uint64(someProtocols[draw.IntN(4)]), 0xff)), half(uint64(draw.IntN(drawnToS)), 8))
		table := tableFilters4
		if i < each {
			key = append(key, half(wordOf(ue4(1)), 32), half(wordOf(drawnServers4[draw.IntN(4)]), 32))
		} else {
			table = tableFilters6
			for _, a := range []string{ue6(1), drawnServers6[draw.IntN(4)]} {
				hi, lo := wordsOf(a)
				key = append(key, half(hi, 64), half(lo, 64))
			}
		}
		act, param := actionFiltered, []uint64{ruleDNS, ruleWeb, ruleVoice, ruleUpGate}[draw.IntN(4)]
		if draw.IntN(4) == 0 {
			act, param = actionUnfiltered, uint64(1+draw.IntN(40))
		}
		m.add(table, append(key, ports(), ports()), int32(first+priority), act, param)
	}
	return m.all
}
