package n4

import (
	"bytes"
	"os"
	"testing"

	"github.com/wmnsk/go-pfcp/message"
)

// TestReportsOverRestart: a report that nobody has answered when the process is
// killed is sent again by the next one, the same in all it says, and what came
// meanwhile is in the one after it. A deletion whose answer was lost is answered
// with the same reports.
func TestReportsOverRestart(t *testing.T) {
	c := newGoCP(t)
	first, second, third := t.TempDir(), t.TempDir(), t.TempDir()
	stop := c.serve(first)
	seid := c.establish()
	c.downlink(3, 400)
	_, before := c.report()
	c.kill(first, second)
	stop()

	c.downlink(2, 150) // nobody looks
	stop = c.serve(second)
	_, after := c.report()
	c.accept(after)
	want := usage{urr: 7, seqn: 0, trigger: "\x02\x00\x00", octets: 1200, packets: 3}
	c.check("before", before.UsageReport[0], want)
	c.check("after", after.UsageReport[0], want)
	if !bytes.Equal(before.UsageReport[0].Payload, after.UsageReport[0].Payload) {
		t.Errorf("the report has changed:\n%x\n%x", before.UsageReport[0].Payload, after.UsageReport[0].Payload)
	}
	if before.SEID() != after.SEID() {
		t.Errorf("SEID %#x, then %#x", before.SEID(), after.SEID())
	}
	eventually(t, "acknowledged", func() bool { return c.endpoint.ReportsWaiting() == 0 })

	// The answer to a deletion is lost with the process.
	d := c.ask(message.NewSessionDeletionRequest(0, 0, seid, c.next(), 0)).(*message.SessionDeletionResponse)
	c.kill(second, third)
	stop()
	stop = c.serve(third)
	defer stop()
	again := c.ask(message.NewSessionDeletionRequest(0, 0, seid, c.seq, 0)).(*message.SessionDeletionResponse)
	if len(d.UsageReport) != 1 || len(again.UsageReport) != 1 {
		t.Fatalf("%d usage reports, then %d", len(d.UsageReport), len(again.UsageReport))
	}
	c.check("deletion", d.UsageReport[0], usage{urr: 7, seqn: 1, trigger: "\x00\x08\x00", octets: 300, packets: 2})
	if !bytes.Equal(d.UsageReport[0].Payload, again.UsageReport[0].Payload) {
		t.Errorf("the last report has changed:\n%x\n%x", d.UsageReport[0].Payload, again.UsageReport[0].Payload)
	}
	if c.endpoint.sessions.Len() != 0 {
		t.Error("the session is back")
	}
}

// kill copies what is on the medium, as a process finds it that follows one which
// was killed now.
func (c *goCP) kill(from, to string) {
	c.t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		c.t.Fatal(err)
	}
}
