package bench

import (
	"context"
	"fmt"
	"net/netip"

	"plumbline/lab/generator"
	"plumbline/lab/n4load"
	"plumbline/lab/report"
	"plumbline/pfcp"
)

// qfi is that of all sessions: not 0, so that it can go wrong.
const qfi = 9

// establish brings the sessions up to n, over PFCP from the CP function's
// address in the UPF's namespace, and adds what that took to the result.
func (r *run) establish(ctx context.Context, n int) error {
	if err := r.associate(ctx); err != nil {
		return err
	}
	template := r.template()
	more := template.Sessions(len(r.sessions), n-len(r.sessions))
	report, err := r.n4.Establish(ctx, &template, more)
	if err != nil {
		return err
	}
	r.sessions = append(r.sessions, more...)
	memory, err := r.dut.Memory()
	if err != nil {
		return err
	}
	i := &r.result.Install
	i.Sessions += report.Accepted
	i.DurationNS += report.Duration.Nanoseconds()
	i.SessionsPerSec = float64(i.Sessions) * 1e9 / float64(max(i.DurationNS, 1))
	i.RequestsRepeated += report.Repeated
	i.LatencyNS = latency(report.Latency)
	i.DUTMemoryOctets, i.MapMemoryOctets = memory.ResidentOctets, memory.MapOctets
	return nil
}

// template is what all sessions have in common.
func (r *run) template() n4load.Template {
	return n4load.Template{
		UE:     r.topology.Config.UEPools[0].Addr().Next(), // the network's own address is nobody's
		GNB:    r.topology.N3.Peer.Address.Addr(),
		DLTEID: 1, QFI: qfi, URR: r.Rules.URR, PDRs: 2 * max(r.Rules.PDRs, 1),
		MBR: pfcp.BitRates{UplinkKbps: r.Rules.MBRKbps, DownlinkKbps: r.Rules.MBRKbps},
	}
}

// associate sets up the association, unless it stands.
func (r *run) associate(ctx context.Context) error {
	if r.n4 != nil {
		return nil
	}
	memory, err := r.dut.Memory()
	if err != nil {
		return err
	}
	r.result.Install.DUTMemoryBeforeOctets = memory.ResidentOctets
	c := r.topology.Config
	err = r.topology.UPF.Do(func() error {
		r.n4, err = n4load.Dial(n4load.Config{Local: netip.AddrPortFrom(c.N4SMF, pfcp.Port), Remote: netip.AddrPortFrom(c.N4UPF, 0)})
		return err
	})
	if err != nil {
		return err
	}
	if _, err = r.n4.Associate(ctx); err != nil {
		return fmt.Errorf("%w; the end of the UPF's log:\n%s", err, r.dut.Log())
	}
	return nil
}

// towards is what the generator of direction d must know of the sessions.
func towards(d report.Direction, sessions []n4load.Session) []generator.Session {
	list := make([]generator.Session, len(sessions))
	for i, s := range sessions {
		list[i] = generator.Session{TEID: s.ULTEID, UE: s.UE, QFI: qfi}
		if d == report.Downlink {
			list[i].TEID = s.DLTEID
		}
	}
	return list
}
