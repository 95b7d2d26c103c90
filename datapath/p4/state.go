package p4

import "github.com/plumbline-upf/plumbline/datapath"

// Target returns how the target is.
func (d *Driver) Target() datapath.TargetState {
	s := datapath.TargetState{DeviceID: localDevice}
	if d.remote != nil {
		s.Address, s.DeviceID = d.remote.target.Address, d.remote.target.DeviceID
	}
	d.tell(d.handed)
	s.Handed = d.handed.all()
	o := d.offload
	o.mu.Lock()
	defer o.mu.Unlock()
	s.Since, s.Away, s.All = o.since, o.away, len(o.sessions)
	for _, one := range o.sessions {
		switch {
		case len(one.keys) > 0 && !one.cpu:
			s.Sessions++
		case one.state == waiting || one.state == busy:
			s.Waiting++
		}
	}
	return s
}
