package random

import "github.com/plumbline-upf/plumbline/datapath/api"

// filters gives the PDI filters, now and then.
func (m maker) filters(r *api.Rule) {
	if m.one(3) {
		return
	}
	for range m.IntN(3) {
		r.Detect.Filters = append(r.Detect.Filters, m.filter())
	}
	if m.has.GetHosts() && m.one(10) {
		r.Detect.Filters = append(r.Detect.Filters, m.named())
	}
}

// named makes a filter with the name of a host.
func (m maker) named() *api.Filter {
	f := &api.Filter{Host: pick(m.dice, "*.example.org", "example.org", "video.test", "")}
	if f.Host == "" || m.one(3) {
		f.Path = pick(m.dice, "/hd", "/")
	}
	if m.one(4) {
		f.Protocol = optional(6)
	}
	if m.one(4) {
		f.RemotePorts = m.ports()
	}
	return f
}

func (m maker) filter() *api.Filter {
	f := &api.Filter{}
	if m.one(2) {
		f.Protocol = optional(pick(m.dice, protocols...))
	}
	if m.one(2) {
		f.Remote = prefixOf(pick(m.dice, prefixes...))
	}
	if m.one(6) {
		f.Local = prefixOf(pick(m.dice, prefixes...))
	}
	if m.one(3) {
		f.RemotePorts = m.ports()
	}
	if m.one(6) {
		f.LocalPorts = m.ports()
	}
	if m.one(6) {
		f.Tos, f.TosMask = uint32(pick(m.dice, classes...)), pick(m.dice, uint32(0xfc), 0xff, 0xe0)
	}
	if m.one(10) {
		f.Spi = optional(pick(m.dice, spis...))
	}
	if m.one(10) {
		f.FlowLabel = optional(pick(m.dice, labels...))
	}
	return f
}

func (m maker) ports() (out []*api.PortRange) {
	for range 1 + m.IntN(3) {
		a, b := pick(m.dice, ports...), pick(m.dice, ports...)
		if m.one(2) {
			b = a
		}
		out = append(out, &api.PortRange{First: min(a, b), Last: max(a, b)})
	}
	return out
}
