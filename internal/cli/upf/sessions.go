package upfcmd

import (
	"context"
	"fmt"
	"io"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/upf"
)

// upfFlags are those of every command that asks a running UPF.
type upfFlags struct {
	Socket string `default:"/run/plumbline/upf.sock" placeholder:"PATH" help:"The UPF's api.socket (default ${default})."`
	JSON   bool   `name:"json" help:"JSON instead of a table."`
}

// Sessions is plumb sessions: the PFCP sessions of the running UPF.
type Sessions struct {
	upfFlags
	UE    netip.Addr `name:"ue" placeholder:"ADDRESS" help:"Only the session of this UE address (IPv4 or IPv6)."`
	TEID  upf.TEID   `name:"teid" placeholder:"TEID" help:"Only the session that owns this local TEID (0x… or decimal)."`
	SEID  upf.SEID   `name:"seid" placeholder:"SEID" help:"Only the session of this SEID of the UPF (0x… or decimal)."`
	Limit int        `default:"100" help:"At most so many; 0: all."`
}

// Help is shown by plumb sessions --help.
func (Sessions) Help() string {
	return `Lists the PFCP sessions of the UPF that runs on this machine.

Examples:

    plumb sessions
    plumb sessions --ue 10.45.0.2
    plumb sessions --limit 0 --json | jq '.sessions[].teids'
`
}

// Run prints one line per session.
func (c *Sessions) Run(ctx context.Context, stdout io.Writer) error {
	if c.Limit < 0 {
		return fmt.Errorf("%w: --limit %d: want 0 (all) or more", cli.ErrUsage, c.Limit)
	}
	page, err := c.fetch(ctx, upf.NewClient(c.Socket))
	if err != nil {
		return err
	}
	if c.JSON {
		return plainjson.Write(stdout, page)
	}
	t := term.NewTable(stdout, "SEID", "CP SEID", "CP NODE ID", "UE ADDRESS", "TEID", "SLICE", "PDR", "FAR", "QER", "URR")
	for _, s := range page.Sessions {
		t.Row(s.SEID, s.CPSEID, s.NodeID, term.Words(s.UEAddresses), term.Words(s.TEIDs), s.Slice, s.PDRs, s.FARs, s.QERs, s.URRs)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d of %d sessions\n", len(page.Sessions), page.Total)
	return err
}

// fetch asks for pages until it has as many sessions as wanted.
func (c *Sessions) fetch(ctx context.Context, client *upf.Client) (*upf.SessionPage, error) {
	all := &upf.SessionPage{Sessions: []upf.SessionRow{}}
	q := upf.SessionQuery{UEAddress: c.UE, TEID: c.TEID, SEID: c.SEID}
	for {
		q.Limit = upf.MaxPage
		if c.Limit > 0 {
			q.Limit = min(upf.MaxPage, c.Limit-len(all.Sessions))
		}
		page, err := client.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		all.Sessions = append(all.Sessions, page.Sessions...)
		all.Total, all.Next = page.Total, page.Next
		if page.Next == "" || len(all.Sessions) == c.Limit {
			return all, nil
		}
		q.Start = page.Next
	}
}
