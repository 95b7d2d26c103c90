package topology

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// takenLink is an XDP link of another process that runs our program for a while.
type takenLink struct {
	link link.Link
	own  *ebpf.Program // what the link ran before
}

// takeOver puts program in the place of the one that another process has linked
// to the port, until it is closed. Device, link and mode stay as they are, and
// no frame passes in between: so bed and UPF can take turns on the same devices
// while the UPF keeps all that it holds. If the other process ends meanwhile,
// its link goes, and program with it.
//
// bpf_xdp_link_update came with Linux 5.9.
func (p Port) takeOver(program *ebpf.Program) (io.Closer, error) {
	id, err := p.XDPProgram()
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return nil, fmt.Errorf("%s of %s: no XDP program to take over", p.Device, p.Namespace.Name)
	}
	l, err := findXDPLink(id, uint32(p.Index))
	if err != nil {
		return nil, fmt.Errorf("program %d on %s of %s: %w", id, p.Device, p.Namespace.Name, err)
	}
	own, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("program %d: %w", id, err), l.Close())
	}
	if err := l.Update(program); err != nil {
		return nil, errors.Join(fmt.Errorf("take over %s of %s: %w", p.Device, p.Namespace.Name, err), l.Close(), own.Close())
	}
	return &takenLink{link: l, own: own}, nil
}

// Close gives the link back.
func (t *takenLink) Close() error {
	return errors.Join(t.link.Update(t.own), t.own.Close(), t.link.Close())
}

// XDPProgram returns the id of the program that is attached to the port, 0 if
// there is none.
func (p Port) XDPProgram() (ebpf.ProgramID, error) {
	device, err := p.Namespace.links.LinkByName(p.Device)
	if err != nil {
		return 0, fmt.Errorf("%s of %s: %w", p.Device, p.Namespace.Name, err)
	}
	xdp := device.Attrs().Xdp
	if xdp == nil || !xdp.Attached {
		return 0, nil
	}
	return ebpf.ProgramID(xdp.ProgId), nil
}

var errNoLink = errors.New("attached without a link: the process that owns it must take it off")

// findXDPLink searches the links of all processes. An interface index alone
// means nothing outside its namespace, so the program must be the right one too.
func findXDPLink(program ebpf.ProgramID, device uint32) (link.Link, error) {
	it := new(link.Iterator)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil {
			return nil, err
		}
		if x := info.XDP(); x != nil && info.Program == program && x.Ifindex == device {
			return it.Take(), nil
		}
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return nil, errNoLink
}
