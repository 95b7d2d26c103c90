package upf

import (
	"errors"
	"fmt"
	"net"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/p4"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
)

// openP4 opens the datapath on a P4 target, whose ports are AF_XDP sockets, or somewhere else.
func openP4(o opening) (datapath.Driver, error) {
	if err := checkCapabilities(DatapathP4); err != nil {
		return nil, err
	}
	target, err := o.P4.target()
	if err != nil {
		return nil, fmt.Errorf("datapath p4: %w", err)
	}
	d, err := p4.New(p4.Config{Config: afxdpConfig(o), Target: target})
	if err == nil && o.paused {
		err = checkLocked(DatapathP4, d)
	}
	if err != nil {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
		return nil, explainAFXDP(o.Config, err)
	}
	return d, nil
}

// target is a target outside of this process; nil: it is in it.
func (p *P4) target() (*p4.Target, error) {
	if p.Target == "" {
		return nil, nil
	}
	t := &p4.Target{Address: p.Target, DeviceID: p.DeviceID, ElectionID: p.ElectionID, Replace: p.Replace, Ports: map[string]uint32{}}
	for _, one := range p.Ports {
		t.Ports[one.Device] = uint32(one.Port)
	}
	if !p.TLS {
		return t, nil
	}
	host, _, err := net.SplitHostPort(p.Target)
	if err != nil {
		return nil, err
	}
	t.TLS, err = p4rt.ReadClientTLS(host, p.CAFile, p.CertificateFile, p.KeyFile)
	return t, err
}
