package upf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// traced collects what a trace shows.
type traced struct {
	lines  chan *TraceLine
	cancel context.CancelFunc
	done   chan error
}

// startTrace begins a trace and returns when it runs.
func startTrace(t *testing.T, c *Client, q *TraceQuery) *traced {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	x := &traced{lines: make(chan *TraceLine, 1000), cancel: cancel, done: make(chan error, 1)}
	go func() {
		x.done <- c.Trace(ctx, q, func(l *TraceLine) error {
			x.lines <- l
			return nil
		})
		close(x.lines)
	}()
	t.Cleanup(cancel)
	if l := x.next(t); l.Counts == nil || l.Counts.Wanted != 0 {
		t.Fatalf("first line: %+v, want counts", l)
	}
	return x
}

func (x *traced) next(t *testing.T) *TraceLine {
	t.Helper()
	select {
	case l, ok := <-x.lines:
		if !ok {
			t.Fatalf("the trace ended: %v", <-x.done)
		}
		return l
	case <-time.After(20 * time.Second):
		t.Fatal("nothing more")
		return nil
	}
}

// find returns the first packet that is wanted.
func (x *traced) find(t *testing.T, want func(*TracePacket) bool) *TracePacket {
	t.Helper()
	var seen []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if p := x.next(t).Packet; p != nil {
			if want(p) {
				return p
			}
			seen = append(seen, p.Verdict+" "+p.Reason+" "+p.Flow)
		}
	}
	t.Fatalf("not among %q", seen)
	return nil
}

// end ends the trace and waits until the UPF has noticed.
func (x *traced) end(t *testing.T, b *bed) {
	t.Helper()
	x.cancel()
	if err := <-x.done; !errors.Is(err, context.Canceled) {
		t.Errorf("trace: %v", err)
	}
	b.untilFree(t)
}

// TestTrace pings through a UPF with each datapath and has packets dropped for several
// reasons: each is shown with the rules that it met.
func TestTrace(t *testing.T) {
	for _, datapath := range []string{DatapathXDP, DatapathTC, DatapathAFXDP, DatapathTUN, DatapathTAP, DatapathP4} {
		t.Run(datapath, func(t *testing.T) { testTrace(t, datapath) })
	}
}

// shown is how a datapath shows frames.
type shown struct {
	n3, n6   string // its devices
	ethernet int    // octets of Ethernet header
	hop      bool   // and next hops
}

func testTrace(t *testing.T, datapath string) {
	b := newNamedBed(t, "plt-trace")
	b.config.Datapath = datapath
	at := shown{n3: b.N3.UPF.Device, n6: b.N6.UPF.Device}
	switch datapath {
	case DatapathXDP, DatapathTC:
		at.ethernet, at.hop = 14, true
	case DatapathTUN, DatapathTAP:
		at.n6 = b.config.TUN.Device + "0"
	}
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	s := b.smf.establish(t)
	ue := gnb.UE{
		Name: "trace", Namespace: namespace(t, "trace"), Addresses: []netip.Addr{ueAddress1},
		UplinkTEID: uint32(s.teid), DownlinkTEID: gnbTEID, QFI: 9,
	}
	(&chain{relay: b}).startGNB(t, []gnb.UE{ue})
	pingOnce(t, ue.Namespace, "10.6.0.2", "56") // neighbours are known from then on
	x := startTrace(t, b.api, &TraceQuery{SEID: s.seid, Snap: 2000})
	pingOnce(t, ue.Namespace, "10.6.0.2", "100")
	way := ""
	if at.hop {
		way = " by way of 10.6.0.2"
	}
	t.Run("uplink", func(t *testing.T) {
		checkPacket(t, x.find(t, forwarded("uplink")), s, 1, "icmp 10.64.0.1 > 10.6.0.2", []string{
			"parse: G-PDU 10.3.0.2 > 10.3.0.1, TEID " + s.teid.String() + ", QFI 9 on " + at.n3 + ", user packet of 128 octets",
			"detect: PDR 1 by F-TEID " + s.teid.String() + ", precedence 100, session " + s.seid.String(),
			"forward: FAR 1 FORW to Core",
			"enforce: QER 1 gate open, QFI 9",
			"measure: 128 octets",
			fmt.Sprintf("emit: %d octets on %s%s", 128+at.ethernet, at.n6, way),
		})
	})
	t.Run("downlink", func(t *testing.T) {
		checkPacket(t, x.find(t, forwarded("downlink")), s, 2, "icmp 10.6.0.2 > 10.64.0.1", []string{
			fmt.Sprintf("parse: %d octets on %s", 128+at.ethernet, at.n6),
			"detect: PDR 2 by UE address 10.64.0.1, precedence 100, session " + s.seid.String(),
			"forward: FAR 2 FORW to Access, GTP-U 0x00001234 at 10.3.0.2",
			"enforce: QER 1 gate open, QFI 9",
			"measure: 128 octets",
			fmt.Sprintf("emit: %d octets on %s to 10.3.0.2, TEID 0x00001234, QFI 9", 172+at.ethernet, at.n3),
		})
	})
	x.end(t, b)
	b.traceDrops(t, s)
}

// forwarded wants a packet that the program sent.
func forwarded(direction string) func(*TracePacket) bool {
	return func(p *TracePacket) bool {
		return p.Verdict == "forwarded" && p.Place == "program" && p.Direction == direction
	}
}

func checkPacket(t *testing.T, p *TracePacket, s established, pdr uint16, flow string, stages []string) {
	t.Helper()
	if p.PDR != pdr || p.SEID != s.seid || p.UE != ueAddress1.String() || p.Flow != flow || p.Octets != 128 || p.TookNs <= 0 {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(p.Stages, stages) {
		t.Errorf("stages\n got %s\nwant %s", strings.Join(p.Stages, "\n     "), strings.Join(stages, "\n     "))
	}
	if p.Arrived == nil || p.Left == nil || len(p.Arrived.Data) != p.Arrived.Octets || len(p.Left.Data) != p.Left.Octets {
		t.Errorf("frames: %+v, %+v", p.Arrived, p.Left)
	}
}

// traceDrops has packets dropped, each for another reason.
func (b *bed) traceDrops(t *testing.T, s established) {
	t.Helper()
	n3 := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.n3, gtpu.Port))
	gnb := listen(t, b.GNB, netip.AddrPortFrom(b.Config.N3GNB.Addr(), 0))
	right := udpPacket(ueAddress1, b.Config.N6DN.Addr(), "x")
	for _, tc := range []struct {
		reason, last string
		prepare      []*ie.IE
		message      []byte
	}{
		{"no_pdr", "detect: dropped: no PDR matches the F-TEID (no_pdr)", nil, gpdu(uint32(s.teid)^0x10000, 9, right)},
		{"ue_address", "detect: dropped: source is not the UE IP address of the PDI (ue_address)", nil,
			gpdu(uint32(s.teid), 9, udpPacket(netip.MustParseAddr("10.64.0.77"), b.Config.N6DN.Addr(), "x"))},
		{"qfi", "detect: dropped: QFI is not one of the PDI, or there is none (qfi)", nil, gpdu(uint32(s.teid), 5, right)},
		{"ip_version", "parse: G-PDU 10.3.0.2 > 10.3.0.1, TEID " + s.teid.String() + ", QFI 9 on " + b.N3.UPF.Device +
			", user packet of 0 octets: dropped: T-PDU is neither IPv4 nor IPv6 (ip_version)", nil, gpdu(uint32(s.teid), 9, make([]byte, 20))},
		{"gate", "enforce: QER 1 gate closed, QFI 9: dropped: QER gate is closed (gate)",
			[]*ie.IE{ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(ie.GateStatusClosed, ie.GateStatusClosed))}, gpdu(uint32(s.teid), 9, right)},
		{"far", "forward: FAR 1 DROP to Core: dropped: FAR says DROP (far)",
			[]*ie.IE{ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(1))}, gpdu(uint32(s.teid), 9, right)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if tc.prepare != nil {
				r := ask[*message.SessionModificationResponse](t, b.smf,
					message.NewSessionModificationRequest(0, 0, uint64(s.seid), b.smf.next(), 0, tc.prepare...))
				accepted(t, r.Cause)
			}
			x := startTrace(t, b.api, &TraceQuery{Drops: []string{tc.reason}})
			if _, err := gnb.WriteTo(tc.message, n3); err != nil {
				t.Fatal(err)
			}
			p := x.find(t, func(*TracePacket) bool { return true })
			if p.Verdict != "dropped" || p.Reason != tc.reason || p.Left != nil || p.Stages[len(p.Stages)-1] != tc.last {
				t.Errorf("%+v\nwant at the end %q", p, tc.last)
			}
			x.end(t, b)
		})
	}
}

// TestTraceBounds: who may trace, how often, and what a trace costs when its
// caller is killed.
func TestTraceBounds(t *testing.T) {
	b := newNamedBed(t, "plt-trace")
	b.start(t)
	all := &TraceQuery{All: true}
	x := startTrace(t, b.api, all)
	if err := b.api.Trace(t.Context(), all, nil); err == nil || !strings.Contains(err.Error(), "has a trace already") {
		t.Errorf("a second one: %v", err)
	}
	if err := b.api.Trace(t.Context(), &TraceQuery{SEID: 1}, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such session: %v", err)
	}
	x.end(t, b)
	t.Run("another user", func(t *testing.T) {
		// The socket is open to all, which it is not by itself.
		if err := os.Chmod(b.config.API.Socket, 0o666); err != nil {
			t.Fatal(err)
		}
		path := b.config.API.Socket
		for dir := path; dir != "/" && dir != "/tmp"; dir = dir[:max(1, strings.LastIndex(dir, "/"))] {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		out, err := curl(path, all, &syscall.Credential{Uid: 65534, Gid: 65534}).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "root and to the user of the UPF only") {
			t.Errorf("nobody: %v\n%s", err, out)
		}
	})
	t.Run("killed", func(t *testing.T) {
		for range 6 { // more than there can be at once
			cmd := curl(b.config.API.Socket, all, nil)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 1)); err != nil { // it runs
				t.Fatal(err)
			}
			cmd.Process.Kill()
			cmd.Wait()
			b.untilFree(t)
		}
	})
	y := startTrace(t, b.api, all)
	b.stop(t)
	for range y.lines { // until it ends with the UPF
	}
	if err := <-y.done; err != nil {
		t.Errorf("at the end of the UPF: %v", err)
	}
}

// untilFree waits until this process may trace again, and there is room.
func (b *bed) untilFree(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := b.api.Trace(t.Context(), &TraceQuery{All: true}, func(*TraceLine) error { return errors.ErrUnsupported })
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		log := b.log.String()
		if strings.Count(log, "msg=trace ") == strings.Count(log, `msg="trace ended"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a trace goes on")
		}
	}
}

// curl asks for a trace as another process.
func curl(socket string, q *TraceQuery, as *syscall.Credential) *exec.Cmd {
	cmd := exec.Command("curl", "-sN", "--unix-socket", socket, "http://upf"+pathTrace+"?"+q.values().Encode())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return cmd
}

// TestTraceUnsupported: a datapath that shows no packets says so.
func TestTraceUnsupported(t *testing.T) {
	_, client, _ := startUPF(t, loopbackConfig(t))
	if err := client.Trace(t.Context(), &TraceQuery{All: true}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("model: %v", err)
	}
}

// FuzzParseTrace: what is accepted is what a client could have asked, and within
// bounds.
func FuzzParseTrace(f *testing.F) {
	f.Add("ue=10.45.0.1&sample=10")
	f.Add("teid=0x11&snap=2048&rate=20000")
	f.Add("seid=1&drops=mbr,gate")
	f.Add("drops=all&all=true")
	f.Add("all=false&sample=0")
	f.Fuzz(func(t *testing.T, in string) {
		values, err := url.ParseQuery(in)
		if err != nil {
			return
		}
		q, err := parseTrace(values)
		if err != nil {
			return
		}
		if q.Sample < 1 || q.Snap < 1 || q.Snap > 2048 || q.Rate < 1 || q.Rate > 20000 {
			t.Errorf("%+v", q)
		}
		again, err := parseTrace(q.values())
		if err != nil || again.UE != q.UE || again.TEID != q.TEID || again.SEID != q.SEID || again.All != q.All ||
			!slices.Equal(again.Drops, q.Drops) || again.Sample != q.Sample || again.Rate != q.Rate || again.Snap != q.Snap {
			t.Errorf("got %+v, %v\nwant %+v", again, err, q)
		}
	})
}
