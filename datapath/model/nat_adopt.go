package model

// Adopt takes a mapping that is in the store already, from before the start.
//
// It returns false, and has changed nothing, if the NAT cannot have made it as it
// is configured: the mapping is nobody's then.
func (n *NAT) Adopt(m *Mapping) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	address, block, ok := n.place(m)
	inside, outside := natKey{m.UE, m.UEPort, m.Protocol}, natKey{m.Outside, m.OutsidePort, m.Protocol}
	if !ok || n.out[inside] != nil || n.in[outside] != nil {
		return false
	}
	b, ue := &n.blocks[address], n.ues[m.UE]
	switch owner := b.owner[block]; {
	case owner != 0 && owner != m.UE, ue != nil && ue.address != address:
		return false
	case owner == 0 && ue != nil && len(ue.blocks) >= n.cfg.BlocksPerUE:
		return false
	case ue == nil:
		ue = &natUE{address: address}
		n.ues[m.UE] = ue
	}
	if b.owner[block] == 0 {
		b.owner[block] = m.UE
		b.free--
		ue.blocks = append(ue.blocks, block)
	}
	b.used[block]++
	n.out[inside], n.in[outside] = m, m
	return true
}

// place returns where the end outside of a mapping belongs: the index of its
// address and of its block of ports.
func (n *NAT) place(m *Mapping) (address, block int, ok bool) {
	if m.UE == 0 || m.OutsidePort < n.cfg.FirstPort {
		return 0, 0, false
	}
	block = int(m.OutsidePort-n.cfg.FirstPort) / n.cfg.BlockPorts
	for i := range n.blocks {
		if n.blocks[i].address == m.Outside {
			return i, block, block < len(n.blocks[i].owner)
		}
	}
	return 0, 0, false
}
