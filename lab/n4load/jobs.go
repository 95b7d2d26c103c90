package n4load

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// refusal is what the last response said against a request.
type refusal struct {
	offending pfcp.Optional[pfcp.IEType]
	failed    pfcp.Optional[pfcp.FailedRuleID]
}

// text adds Cause, Offending IE and Failed Rule ID to err.
func (a refusal) text(what string, cause pfcp.Cause, err error) error {
	if cause == 0 || cause.Accepted() {
		return fmt.Errorf("n4load: %s: %w", what, err)
	}
	details := ": " + cause.String()
	if a.offending.Present {
		details += ", Offending IE " + a.offending.Value.String()
	}
	if a.failed.Present {
		details += fmt.Sprintf(", Failed Rule ID %s %d", a.failed.Value.Type, a.failed.Value.ID)
	}
	return fmt.Errorf("n4load: %s%s: %w", what, details, err)
}

// bulk sends n requests of one kind, as many at a time as the window has.
func (c *Client) bulk(ctx context.Context, n int, j job) (*Report, error) {
	return c.bulkOf(ctx, n, c.config.Window, j)
}

// bulkOf is bulk with so many requests at a time.
func (c *Client) bulkOf(ctx context.Context, n, window int, j job) (*Report, error) {
	call := newCall(&bulk{client: c, requests: j, n: n}, 1, 1)
	call.strict = true
	call.start = func(time.Duration) { call.pace = newClosed(window, never, []float64{1}) }
	err := c.group.do(ctx, call)
	report := call.reports[0]
	report.Intended = n
	return report, err
}

// bulk is the source of requests 0 to n-1 of one client.
type bulk struct {
	client   *Client
	requests job
	n, next  int
}

func (b *bulk) pick(int) (*Client, int, bool) {
	b.next++
	return b.client, b.next - 1, b.next <= b.n
}

func (b *bulk) job(*Client, int) job { return b.requests }

func (b *bulk) back(int, int) {}

func (b *bulk) done(int, int, pfcp.Cause) {}

// Establish establishes sessions and fills in RemoteSEID, and ULTEID and N3 if
// the UP function chose them.
//
// Errors: [ErrRefused], [ErrNoResponse], [ErrClosed], or why ctx is done; those
// sessions that were established before that have a RemoteSEID. The report is
// there in any case.
func (c *Client) Establish(ctx context.Context, t *Template, sessions []Session) (*Report, error) {
	c.owns(sessions)
	return c.bulk(ctx, len(sessions), newEstablishing(c, t, sessions))
}

func newEstablishing(c *Client, t *Template, sessions []Session) *establishing {
	return &establishing{
		sessions: sessions, choose: t.ULTEID == 0, m: t.establishment(c.config.NodeID, c.config.Local.Addr()),
	}
}

type establishing struct {
	sessions []Session
	choose   bool // the UP function chooses F-TEIDs
	m        pfcp.SessionEstablishmentRequest
	got      pfcp.SessionEstablishmentResponse
}

func (j *establishing) request(i int) (uint64, pfcp.Message) {
	if j.choose {
		j.sessions[i].ULTEID, j.sessions[i].N3 = 0, netip.Addr{}
	}
	j.sessions[i].fill(&j.m)
	return 0, &j.m
}

func (j *establishing) response(i int, h pfcp.Header, body []byte) (pfcp.Cause, error) {
	if err := j.got.Decode(body); err != nil {
		return 0, err
	}
	s := &j.sessions[i]
	if !j.got.Cause.Accepted() {
		return j.got.Cause, nil
	}
	if h.SEID != s.LocalSEID {
		return j.got.Cause, fmt.Errorf("response for SEID %#x, want %#x: %w", h.SEID, s.LocalSEID, ErrRefused)
	}
	s.RemoteSEID = j.got.UPFSEID.Value.SEID
	for k := range j.got.CreatedPDRs {
		if p := &j.got.CreatedPDRs[k]; p.PDRID == uplinkID && len(p.LocalFTEIDs) > 0 {
			s.ULTEID, s.N3 = p.LocalFTEIDs[0].TEID, p.LocalFTEIDs[0].IPv4
		}
	}
	if s.ULTEID == 0 {
		return j.got.Cause, fmt.Errorf("accepted without an F-TEID: %w", ErrRefused)
	}
	return j.got.Cause, nil
}

func (j *establishing) explain(i int, cause pfcp.Cause, err error) error {
	return refusal{j.got.OffendingIE, j.got.FailedRuleID}.text(fmt.Sprintf("establish session %d", j.sessions[i].LocalSEID), cause, err)
}

// Modify moves the downlink tunnels of sessions to t's gNB and the sessions'
// DLTEID, as a path switch does. Errors are those of Establish.
func (c *Client) Modify(ctx context.Context, t *Template, sessions []Session) (*Report, error) {
	return c.bulk(ctx, len(sessions), newModifying(t, sessions))
}

func newModifying(t *Template, sessions []Session) *modifying {
	return &modifying{sessions: sessions, m: pfcp.SessionModificationRequest{
		UpdateFARs: []pfcp.UpdateFAR{{
			FARID:                      downlinkID,
			UpdateForwardingParameters: pfcp.Some(pfcp.UpdateForwardingParameters{OuterHeaderCreation: t.tunnel()}),
		}},
	}}
}

type modifying struct {
	sessions []Session
	m        pfcp.SessionModificationRequest
	got      pfcp.SessionModificationResponse
}

func (j *modifying) request(i int) (uint64, pfcp.Message) {
	j.m.UpdateFARs[0].UpdateForwardingParameters.Value.OuterHeaderCreation.Value.TEID = j.sessions[i].DLTEID
	return j.sessions[i].RemoteSEID, &j.m
}

func (j *modifying) response(_ int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	err := j.got.Decode(body)
	return j.got.Cause, err
}

func (j *modifying) explain(i int, cause pfcp.Cause, err error) error {
	return refusal{j.got.OffendingIE, j.got.FailedRuleID}.text(fmt.Sprintf("modify session %d", j.sessions[i].LocalSEID), cause, err)
}

// Delete deletes sessions and clears their RemoteSEID. Errors are those of Establish.
func (c *Client) Delete(ctx context.Context, sessions []Session) (*Report, error) {
	return c.bulk(ctx, len(sessions), &deleting{sessions: sessions})
}

type deleting struct {
	sessions []Session
	m        pfcp.SessionDeletionRequest
	got      pfcp.SessionDeletionResponse
}

func (j *deleting) request(i int) (uint64, pfcp.Message) { return j.sessions[i].RemoteSEID, &j.m }

func (j *deleting) response(i int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	err := j.got.Decode(body)
	if err == nil && j.got.Cause.Accepted() {
		j.sessions[i].RemoteSEID = 0
	}
	return j.got.Cause, err
}

func (j *deleting) explain(i int, cause pfcp.Cause, err error) error {
	return refusal{offending: j.got.OffendingIE}.text(fmt.Sprintf("delete session %d", j.sessions[i].LocalSEID), cause, err)
}
