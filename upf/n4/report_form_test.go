package n4

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestReportOctets: the report that the SMF of free5GC did not read, octet for octet, which
// had Usage Information since the first URR has MBQE, and what it is without. Usage before
// a Monitoring Time has it.
func TestReportOctets(t *testing.T) {
	start := time.Unix(0xeeb1c894-2208988800, 0)
	usage := session.UsageReport{
		URRID: 1, SEQN: 0, Trigger: session.TriggerVOLTH, Start: start.UnixNano(), End: start.Add(time.Second).UnixNano(),
		Method: session.MeasureVolume, Information: session.InfoMBQE | session.InfoMNOP,
		Usage: session.Counts{UplinkOctets: 0x1974, DownlinkOctets: 0x7a3d0, UplinkPackets: 0x77, DownlinkPackets: 0x172},
	}
	second, before := usage, usage
	second.URRID, second.Information = 2, session.InfoMNOP
	before.Before = true
	const head, information = "213800d6000000000000000195787a0000270001020050006100510004000000010068000400000000003f0003020000" +
		"004b0004eeb1c894004c0004eeb1c895004200313f000000000007bd440000000000001974000000000007a3d000000000000001e9" +
		"00000000000000770000000000000172", "005a000109"
	const rest = "0050005c00510004000000020068000400000000003f0003020000004b0004eeb1c894004c0004eeb1c895" +
		"004200313f000000000007bd440000000000001974000000000007a3d000000000000001e900000000000000770000000000000172"
	without := strings.NewReplacer("213800d6", "213800d1", "00500061", "0050005c").Replace(head)
	noPackets := strings.NewReplacer("213800d1", "213800a1", "0050005c", "00500044", "004200313f", "0042001907",
		"00000000000001e900000000000000770000000000000172", "")
	for _, tc := range []struct {
		name  string
		first session.UsageReport
		leave LeaveOut
		want  string
	}{
		{"MBQE", usage, 0, without + rest},
		{"before a Monitoring Time", before, 0, head + information + rest},
		{"without Usage Information", before, LeaveOutUsageInformation, without + rest},
		{"without packet counts", before, LeaveOutUsageInformation | LeaveOutPacketCounts, noPackets.Replace(without + rest)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := session.Waiting{Reports: []session.UsageReport{tc.first, second}}
			m := reportRequest(&w, &reportJob{reportKey: reportKey{kind: reportUsage}}, tc.leave)
			got, err := pfcp.Append(nil, pfcp.Header{SEID: 1, Sequence: 0x95787a}, m)
			if err != nil || hex.EncodeToString(got) != tc.want {
				t.Errorf("%v\n got %x\nwant %s", err, got, tc.want)
			}
		})
	}
}

// TestLeaveOut: the names in a configuration, and for whom they are meant.
func TestLeaveOut(t *testing.T) {
	var all LeaveOut
	for _, name := range LeaveOutNames() {
		l, ok := ParseLeaveOut(name)
		if !ok || l.String() != name || all&l != 0 {
			t.Errorf("%s: %v, %v", name, l, ok)
		}
		all |= l
	}
	if _, ok := ParseLeaveOut("cause"); ok {
		t.Error("cause can be left out")
	}
	store := newMemoryStore()
	config := Config{Forms: []PeerForm{{Prefix: netip.MustParsePrefix("127.0.0.2/32"), LeaveOut: all}}}
	first := config
	first.Store = store
	b := newBed(t, first)
	b.client(t, "127.0.0.2").associate("127.0.0.2", recoveryTime)
	b.client(t, "127.0.0.3").associate("127.0.0.3", recoveryTime)
	b.Close()
	for _, b := range []*bed{b, store.reopen(t, config)} {
		if list := b.Associations(); len(list) != 2 || list[0].LeaveOut != all || list[1].LeaveOut != 0 {
			t.Errorf("associations %+v", list)
		}
	}
}
