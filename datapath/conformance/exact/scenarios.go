package exact

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// some are rates near each other, so that the meters of several QERs refuse in turn.
var some = []uint64{8_000_000, 9_000_000, 10_000_000, 12_000_000, 20_000_000}

func (s *sender) rate() uint64 {
	if s.rand.IntN(3) == 0 {
		return 0
	}
	return some[s.rand.IntN(len(some))]
}

func (s *sender) packetRate() *api.PacketRate {
	if s.rand.IntN(3) > 0 {
		return nil
	}
	return &api.PacketRate{Packets: 1 + s.rand.Uint32N(30), TimeMs: 1 + s.rand.Uint32N(30)}
}

func (s *sender) qer(id uint32) *api.QER {
	return &api.QER{
		Id: id, UplinkMbrBps: s.rate(), DownlinkMbrBps: s.rate(), UplinkGbrBps: s.rate() / 4, DownlinkGbrBps: s.rate() / 4,
		UplinkPacketRate: s.packetRate(), DownlinkPacketRate: s.packetRate(),
	}
}

// several gives a PDR QERs at random, with any of MBR, GBR and Packet Rate: what is
// charged is what has passed, or later verdicts would be others.
func (b Bed) several(t *testing.T) {
	const sessions, packets = 60, 60
	s := b.sender(t, 1, 10*time.Millisecond)
	for range sessions {
		var qers []*api.QER
		for id := range 1 + s.rand.Uint32N(4) {
			qers = append(qers, s.qer(id+1))
		}
		s.limits = [2]map[uint32]*limits{{}, {}}
		s.set(qers, s.rand.IntN(2) == 0)
		for range packets {
			s.pass(s.gap(some[2]) / 2)
			s.send(conformance.Port(s.rand.IntN(2)), s.octets())
		}
		if err := s.Apply(t.Context(), &api.Change{Seid: s.session.GetSeid()}); err != nil {
			t.Fatal(err)
		}
	}
	s.session = nil
}

// turn is the time after which a clock of 2^-8 ns in 64 bits goes round, 2.28 years.
const turn = time.Duration(1 << 56)

// clock sends while the clock goes round, and after silences of any length: what the
// meter was last is over, and what it has is one burst. Only one that is used again
// in the very second in which the clock has gone round may take that for no time.
func (b Bed) clock(t *testing.T) {
	const bps = 10_000_000
	s := b.sender(t, 2, 10*time.Millisecond)
	s.pass(turn - time.Minute)
	s.set([]*api.QER{{Id: 1, UplinkMbrBps: bps, UplinkPacketRate: &api.PacketRate{Packets: 40, TimeMs: 40}}}, false)
	s.use()
	for _, silence := range []time.Duration{
		time.Minute - 20*time.Millisecond, 0, time.Millisecond, time.Hour, turn / 4, turn/2 - 1, turn / 2, turn/2 + time.Second, turn - 5*time.Second, turn + time.Second,
	} {
		s.pass(silence)
		s.use()
	}
}

// use sends some time at more than the rate.
func (s *sender) use() {
	s.t.Helper()
	refused := 0
	for range 60 {
		s.pass(s.gap(10_000_000) / 4)
		if !s.send(conformance.N3, s.octets()) {
			refused++
		}
	}
	if refused == 0 {
		s.t.Errorf("nothing was refused")
	}
}

// changes changes rates while packets are sent, with and without a list: no burst is
// won by it, and none lost.
func (b Bed) changes(t *testing.T) {
	rates := []uint64{1_000, 8_000, 64_000, 130_000, 200_000, 1_000_000, 100_000_000, 10_000_000_000}
	s := b.sender(t, 3, 250*time.Millisecond)
	for range 150 {
		up, down := rates[s.rand.IntN(len(rates))], rates[s.rand.IntN(len(rates))]
		q := &api.QER{
			Id: 1, UplinkMbrBps: up, DownlinkMbrBps: down,
			DownlinkPacketRate: &api.PacketRate{Packets: 1 + s.rand.Uint32N(20), TimeMs: 1 << s.rand.IntN(20)},
		}
		qers := []*api.QER{q}
		if s.rand.IntN(2) == 0 {
			qers = append(qers, &api.QER{Id: 2, UplinkMbrBps: rates[s.rand.IntN(len(rates))]})
		}
		s.set(qers, s.rand.IntN(2) == 0)
		for range 8 {
			s.pass(s.gap(up) / 2)
			s.send(conformance.N3, s.octets())
			s.send(conformance.N6, s.octets())
		}
	}
}
