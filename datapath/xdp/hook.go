package xdp

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Hook is where in the kernel the programs run. All else, from the tables to the slow
// path, is the same, so that a driver on one hook takes over what one on another has
// left.
type Hook string

// Values of [Config.Hook].
const (
	HookXDP Hook = ""   // at the driver of the device, before there is an skb
	HookTC  Hook = "tc" // at the entry of the device for skbs
)

// hook is what differs between the hooks.
type hook struct {
	name string
	// load returns the programs, each under the name of the one of XDP whose place
	// it takes, and their tables.
	load func() (*ebpf.CollectionSpec, error)
	// loadTraced returns their traced twins.
	loadTraced func() (*ebpf.CollectionSpec, error)
	pass       int32 // the verdict of a program that looks at nothing
	// pins are the prefixes of its pinned attachments, and arrays its program arrays.
	pins, arrays []string
	// unused returns the programs that no device of the configuration gets.
	unused func(d *Driver) []string
	// divert lets programs find those to which they go on.
	divert func(d *Driver) error
	// attached returns the pinned attachment of a device, or nil, and attach makes
	// one and says how.
	attached func(d *Driver, dev device) attachment
	attach   func(d *Driver, prog *ebpf.Program, dev device) (attachment, string, error)
}

// attachment is a program on a device.
type attachment interface {
	Update(*ebpf.Program) error // each packet meets the one or the other
	Pin(path string) error      // it outlives the process
	Unpin() error
	Close() error
}

func (h Hook) get() (*hook, error) {
	switch h {
	case HookXDP:
		return &onXDP, nil
	case HookTC:
		return &onTC, nil
	}
	return nil, fmt.Errorf("xdp: hook %q: not known", string(h))
}

// Prefixes of the pins of attachments.
const (
	linkPrefix   = "link-"   // of an XDP program
	tcxPrefix    = "tcx-"    // of a TC program, as a link
	filterPrefix = "filter-" // a directory: of a TC program that is a filter of clsact
	tagsPrefix   = "tags-"   // of the program that tags what the host sends
)

var onXDP = hook{
	name: "xdp", load: loadXDP, loadTraced: loadXDPTraced, pass: xdpVerdictPass, pins: []string{linkPrefix},
	arrays: []string{"ether_program", "ether_cpu_program", "again_program", "again_cpu_program"},
	unused: (*Driver).unusedXDP, divert: (*Driver).divertXDP,
	attached: (*Driver).attachedXDP, attach: (*Driver).attachXDP,
}

// xdpVerdictPass is XDP_PASS.
const xdpVerdictPass = 2

// modeOf returns how an attachment was made, as far as its pin tells.
func modeOf(l attachment) string {
	if _, is := l.(*filter); is {
		return modeClsact
	}
	return ""
}

// pinOf returns the prefix of the pin of an attachment that was made in a mode.
func (h *hook) pinOf(mode string) string {
	if mode == modeClsact {
		return filterPrefix
	}
	return h.pins[0]
}
