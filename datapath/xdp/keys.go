package xdp

import (
	"fmt"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Keys returns what leads to the rules of a session, framed routes apart.
//
// Errors: [datapath.ErrNoSession].
func (d *Driver) Keys(seid uint64) ([]datapath.Key, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := d.sessions.get(seid)
	if s == nil {
		return nil, fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	var keys []datapath.Key
	for _, h := range s.held {
		if !h.isRule() {
			continue
		}
		key := atomic.LoadUint64(&d.table(h.kind()).slots[h.slot()].Key)
		switch {
		case key == 0 || h.kind() == ruleByUE && key == routesKey(seid):
		case h.kind() == ruleByTEID:
			keys = append(keys, datapath.Key{TEID: uint32(key), Local: datapath.LocalOf(d.cfg.Endpoints, uint32(key>>32))})
		case key>>32 == 1: // as rule_key_ip4 of bpf/upf/rules.h
			keys = append(keys, datapath.Key{IPv4: uint32(key)})
		default:
			keys = append(keys, datapath.Key{IPv6: key})
		}
	}
	return keys, nil
}
