package n4

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// lossyCP loses reports and answers, and adds up what it hears of each session.
type lossyCP struct {
	*goCP
	r     *rand.Rand
	heard map[[2]uint64]usage // by CP SEID and UR-SEQN
	again int                 // heard once more
	lost  int                 // exchanges that failed
}

// hear takes the Usage Reports of a message: each UR-SEQN counts once. One that was given
// up comes again in another form, which may be without numbers of packets.
func (c *lossyCP) hear(cpSEID uint64, reports []*ie.IE) {
	c.t.Helper()
	for _, r := range reports {
		u := c.usage(r)
		k := [2]uint64{cpSEID, uint64(u.seqn)}
		if was, ok := c.heard[k]; ok {
			c.again++
			if was.packets == 0 || u.packets == 0 {
				was.packets, u.packets = 0, 0
			}
			if was != u {
				c.t.Errorf("UR-SEQN %d of session %#x: %+v, then %+v", u.seqn, cpSEID, was, u)
			}
		}
		c.heard[k] = u
	}
}

// answerReports hears the reports that come within a time: of three one is lost,
// and of one the answer is.
func (c *lossyCP) answerReports(wait time.Duration) {
	c.t.Helper()
	buf := make([]byte, 65536)
	if err := c.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		c.t.Fatal(err)
	}
	for {
		n, err := c.conn.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			c.t.Fatal(err)
		}
		m, err := message.Parse(buf[:n])
		if err != nil {
			c.t.Fatal(err)
		}
		r, ok := m.(*message.SessionReportRequest)
		if !ok {
			continue
		}
		what := c.r.IntN(3)
		if what > 0 {
			c.hear(r.SEID(), r.UsageReport)
		}
		if what < 2 {
			c.lost++
			continue
		}
		c.accept(r)
	}
}

// TestReportsWithLoss: what a CP function hears of several sessions is what they
// have used, though two of three exchanges fail.
func TestReportsWithLoss(t *testing.T) {
	const sessions = 12
	c := &lossyCP{goCP: newGoCP(t), r: rand.New(rand.NewPCG(5, 5)), heard: map[[2]uint64]usage{}}
	c.t1 = 30 * time.Millisecond
	defer c.serve(t.TempDir())()
	c.associate()
	seids, sent := make([]uint64, sessions), make([]uint64, sessions)
	ue := func(i int) net.IP { return net.IPv4(10, 60, 1, byte(i)) }
	for i := range seids {
		seids[i] = c.session(ue(i), uint64(i))
	}
	for range 15 {
		for i := range seids {
			n, octets := c.r.IntN(4), 40+c.r.IntN(900)
			c.downlinkTo(ue(i), n, octets)
			sent[i] += uint64(n * octets)
		}
		c.answerReports(20 * time.Millisecond)
	}
	eventually(t, "all is told", func() bool {
		c.answerReports(20 * time.Millisecond)
		return c.endpoint.ReportsWaiting() == 0
	})
	for i, seid := range seids {
		d := c.ask(message.NewSessionDeletionRequest(0, 0, seid, c.next(), 0)).(*message.SessionDeletionResponse)
		c.hear(uint64(i), d.UsageReport)
	}
	got := make([]uint64, sessions)
	for k, u := range c.heard {
		got[k[0]] += u.octets
	}
	for i := range got {
		if got[i] != sent[i] {
			t.Errorf("session %d: %d octets heard, %d sent", i, got[i], sent[i])
		}
	}
	if c.again < 10 || c.lost < 20 || len(c.heard) < 2*sessions {
		t.Errorf("%d reports, %d heard again, %d exchanges failed: the test does not test", len(c.heard), c.again, c.lost)
	}
}
