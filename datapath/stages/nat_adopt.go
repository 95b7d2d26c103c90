package stages

// Adopt takes a mapping that is in the store already, from before the start.
//
// It returns false, and has changed nothing, if the NAT cannot have made it as it
// is configured: the mapping is nobody's then.
func (n *NAT) Adopt(m *Mapping) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	address, block, ok := n.fits(m)
	if ok {
		n.hold(m, address, block)
	}
	return ok
}

// fits says where a mapping belongs, and whether there is no other one there and its
// UE may have the block.
func (n *NAT) fits(m *Mapping) (address, block int, ok bool) {
	address, block, ok = n.place(m)
	if !ok || n.out[m.inside()] != nil || n.in[m.outside()] != nil {
		return 0, 0, false
	}
	ue := n.ues[m.UE]
	switch owner := n.blocks[address].owner[block]; {
	case owner != 0 && owner != m.UE, ue != nil && ue.address != address:
		return 0, 0, false
	case owner == 0 && ue != nil && len(ue.blocks) >= n.cfg.BlocksPerUE:
		return 0, 0, false
	}
	return address, block, true
}

// hold takes a mapping that fits, which is in the store.
func (n *NAT) hold(m *Mapping, address, block int) {
	b, ue := &n.blocks[address], n.ues[m.UE]
	if ue == nil {
		ue = n.newUE(m.UE, address)
	}
	if b.owner[block] == 0 {
		b.owner[block] = m.UE
		b.free--
		ue.blocks = append(ue.blocks, block)
	}
	b.used[block]++
	ue.mappings[m] = true
	n.out[m.inside()], n.in[m.outside()] = m, m
}

// inherit takes copies of the mappings of a NAT that is not in use any more. lost is
// how many found no place. Who keeps a log of blocks was told of theirs already.
func (n *NAT) inherit(from *NAT, now clocks) (kept, lost int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, m := range from.out {
		if n.out[k] != nil { // sessions go back to where they came from
			continue
		}
		lost++
		address, block, ok := n.fits(m)
		if !ok {
			continue
		}
		one := *m
		one.Last = now.at(m.Last)
		if made := n.store.Add(one); made != nil {
			n.hold(made, address, block)
			kept, lost = kept+1, lost-1
		}
	}
	return kept, lost
}

func (m *Mapping) inside() natKey { return natKey{m.UE, m.UEPort, m.Protocol} }

func (m *Mapping) outside() natKey { return natKey{m.Outside, m.OutsidePort, m.Protocol} }

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
