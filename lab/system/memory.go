package system

import "github.com/plumbline-upf/plumbline/lab/report"

// Memory is what the UPF's processes occupy now; nil of a bed, of an external UPF, or
// where the UPF has ended.
func (s *System) Memory() (*report.Memory, error) {
	d := s.running()
	if d == nil || d.Kind.External {
		return nil, nil
	}
	m, err := d.Memory()
	if err != nil && s.running() != d {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &report.Memory{ResidentOctets: m.ResidentOctets, AnonymousOctets: m.AnonymousOctets, MapOctets: m.MapOctets}, nil
}
