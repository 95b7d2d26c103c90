package datapath

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// maxRateTime is the longest time of a Packet Rate in ms: a week.
// Source: TS 29.244 V18.6.0, 8.2.63.
const maxRateTime = 7 * 24 * 3600 * 1000

func checkQERs(s *api.Session, has *api.Capabilities) error {
	for _, q := range s.GetQers() {
		if err := checkQER(q, has); err != nil {
			return &RuleError{api.RuleType_QER_RULE, q.GetId(), err}
		}
	}
	return nil
}

// maxQFI is the largest QoS Flow Identifier. Source: TS 38.415 V18.0.0, 5.5.3.3.
const maxQFI = 63

func checkQER(q *api.QER, has *api.Capabilities) error {
	marks := q.GetRqi() || q.GetDownlinkTosMask() != 0 || q.ServiceClass != nil || q.PagingPolicy != nil
	what := lacks(
		need{q.GetUplinkGbrBps() != 0 || q.GetDownlinkGbrBps() != 0, has.GetGbr(), "GBR"},
		need{q.GetUplinkPacketRate() != nil || q.GetDownlinkPacketRate() != nil, has.GetPacketRate(), "Packet Rate"},
		need{marks, has.GetMarking(), "RQI, paging policy or DL Flow Level Marking"},
	)
	switch {
	case what != "":
		return fmt.Errorf("%s: %w", what, ErrUnsupported)
	case q.GetQfi() > maxQFI:
		return fmt.Errorf("QFI %d: %w", q.GetQfi(), ErrUnsupported)
	case q.GetDownlinkTos() > 255 || q.GetDownlinkTosMask() > 255:
		return fmt.Errorf("ToS %#x, mask %#x: %w", q.GetDownlinkTos(), q.GetDownlinkTosMask(), ErrUnsupported)
	case q.GetServiceClass() > 255:
		return fmt.Errorf("Service Class Indicator %d: %w", q.GetServiceClass(), ErrUnsupported)
	case q.GetPagingPolicy() > 7:
		return fmt.Errorf("paging policy indicator %d: %w", q.GetPagingPolicy(), ErrUnsupported)
	}
	for _, bps := range []uint64{q.GetUplinkMbrBps(), q.GetDownlinkMbrBps(), q.GetUplinkGbrBps(), q.GetDownlinkGbrBps()} {
		if bps != 0 && (bps < MinMBR || bps > MaxMBR) {
			return fmt.Errorf("MBR or GBR of %d bit/s: %w", bps, ErrUnsupported)
		}
	}
	for _, r := range []*api.PacketRate{q.GetUplinkPacketRate(), q.GetDownlinkPacketRate()} {
		if r != nil && (r.GetPackets() == 0 || r.GetTimeMs() == 0 || r.GetTimeMs() > maxRateTime) {
			return fmt.Errorf("%d packets in %d ms: %w", r.GetPackets(), r.GetTimeMs(), ErrUnsupported)
		}
	}
	return nil
}

func checkURRs(s *api.Session, has *api.Capabilities) error {
	for _, u := range s.GetUrrs() {
		what := lacks(
			need{true, has.GetUsage(), "usage reporting"},
			need{u.GetBeforeEnforcement(), has.GetBeforeEnforcement(), "measurement before enforcement"},
			need{u.GetDroppedDownlinkPackets() != 0 || u.GetDroppedDownlinkOctets() != 0, has.GetDroppedDownlink(), "dropped DL traffic"},
			need{u.GetMacAddresses(), has.GetEthernet(), "report of MAC addresses"},
		)
		if what != "" {
			return &RuleError{api.RuleType_URR_RULE, u.GetId(), fmt.Errorf("%s: %w", what, ErrUnsupported)}
		}
	}
	return nil
}

func checkBARs(s *api.Session, has *api.Capabilities) error {
	if len(s.GetBars()) > 0 && !has.GetBuffering() {
		return &RuleError{api.RuleType_BAR_RULE, s.GetBars()[0].GetId(), fmt.Errorf("buffering: %w", ErrUnsupported)}
	}
	return nil
}
