package move

import (
	"context"
	"errors"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Capabilities implements [datapath.Driver]: those of the datapath that forwards.
func (m *Mover) Capabilities() *api.Capabilities {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.driver.Capabilities()
}

// Apply implements [datapath.Driver].
func (m *Mover) Apply(ctx context.Context, c *api.Change) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	err := m.driver.Apply(ctx, c)
	switch {
	case err == nil && m.over != nil && m.over.to == m.driver:
		m.over.note(c, nil)
	case err == nil && m.over != nil:
		_ = m.over.apply(ctx, c) // a refusal ends the move
	case c.GetSession() == nil && m.moved && errors.Is(err, datapath.ErrNoSession):
		return nil // it was taken out of the datapath of before, later than out of the store
	}
	return err
}

// Usage implements [datapath.Driver].
func (m *Mover) Usage(seid uint64) (*api.SessionUsage, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	u, err := m.driver.Usage(seid)
	if err != nil || m.over == nil || m.over.to != m.driver {
		return u, err
	}
	before, err := m.over.from.Usage(seid)
	if errors.Is(err, datapath.ErrNoSession) {
		return u, nil
	}
	if err == nil {
		add(u, before)
	}
	return u, err
}

// Next implements [datapath.Driver].
func (m *Mover) Next(ctx context.Context) (*api.Event, error) { return m.events.Next(ctx) }

// Settle implements [datapath.Driver]. What sessions had counted before the start is
// carried over, and the datapath takes packets.
func (m *Mover) Settle(ctx context.Context) error {
	if err := m.inherit(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.driver.Settle(ctx)
}

// inherit ends what [Mover.Inherit] has begun.
func (m *Mover) inherit() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	over := m.over
	if over == nil || over.to != m.driver {
		return nil
	}
	m.over = nil
	if err := over.run(m.log); err != nil {
		return errors.Join(err, over.from.Resume())
	}
	over.carry(m.log, false)
	if err := over.from.Close(); err != nil {
		m.log.Error("what is left of the datapath of before does not end as it should", "error", err)
	}
	return nil
}

// Drops implements [datapath.Driver]: those of datapaths before this one, too.
func (m *Mover) Drops() (map[string]uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.past.drops.with(m.driver.Drops)
}

// Close implements [datapath.Driver].
func (m *Mover) Close() error {
	m.moving.Lock()
	defer m.moving.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events.Close()
	m.pumping()
	return m.driver.Close()
}

// add adds b to a, which have the rules and URRs of one session.
func add(a, b *api.SessionUsage) {
	for _, r := range a.GetRules() {
		for _, x := range b.GetRules() {
			if x.GetPdrId() == r.GetPdrId() {
				r.Packets += x.GetPackets()
				r.Octets += x.GetOctets()
				r.DroppedPackets += x.GetDroppedPackets()
			}
		}
	}
	for _, u := range a.GetUrrs() {
		for _, x := range b.GetUrrs() {
			if x.GetUrrId() == u.GetUrrId() {
				addURR(u, x)
			}
		}
	}
}

func addURR(u, x *api.URRUsage) {
	u.UplinkOctets += x.GetUplinkOctets()
	u.DownlinkOctets += x.GetDownlinkOctets()
	u.UplinkPackets += x.GetUplinkPackets()
	u.DownlinkPackets += x.GetDownlinkPackets()
	u.DroppedDownlinkPackets += x.GetDroppedDownlinkPackets()
	u.DroppedDownlinkOctets += x.GetDroppedDownlinkOctets()
	if u.GetReachedUplinkPackets()+u.GetReachedDownlinkPackets() == 0 {
		u.ReachedUplinkOctets, u.ReachedDownlinkOctets = x.GetReachedUplinkOctets(), x.GetReachedDownlinkOctets()
		u.ReachedUplinkPackets, u.ReachedDownlinkPackets = x.GetReachedUplinkPackets(), x.GetReachedDownlinkPackets()
	}
}

// Buffered is what waits in the datapath for UEs that are idle; all 0: it does not
// say.
func (m *Mover) Buffered() datapath.Buffered {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if d, ok := m.driver.(datapath.BufferReporter); ok {
		return d.Buffered()
	}
	return datapath.Buffered{}
}

// TableUse is how full the tables of the datapath are; nil: it does not say.
func (m *Mover) TableUse() []datapath.TableUse {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if d, ok := m.driver.(datapath.TableReporter); ok {
		return d.TableUse()
	}
	return nil
}
