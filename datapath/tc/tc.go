// Package tc is the datapath on socket buffers: the stages of package xdp as programs
// at the entry of devices (tcx, or clsact on kernels before 6.6), for any device in any
// namespace, beside the programs of others.
//
// Programs differ in bpf/upf/ctx_skb.h and bpf/upf/upf_tc.bpf.c alone; tables, slow path, next
// hops and pins are those of package xdp, so that either takes over what the other has
// left. What TC has more are super-packets: a TCP segment of up to 64 kbyte, which a
// sender on this machine or the kernel made of many packets, goes through whole and
// counts as what it stands for. What cannot leave whole the kernel cuts first, on a
// pair of devices that the driver makes (plumbcutN, plumbwholeN).
//
// What it has less: spreading over CPUs, which a queue discipline or RPS does, and
// traces.
package tc

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
)

// Config is that of package xdp. Hook and Mode are not looked at.
type Config = xdp.Config

// Driver is a running datapath.
type Driver = xdp.Driver

// New loads the programs, attaches them and starts the slow path, in the network
// namespace of the caller.
//
// Errors: those of the kernel with what to do about them; [errors.ErrUnsupported] is
// wrapped where this machine or device cannot do it at all.
func New(cfg Config) (*Driver, error) {
	cfg.Hook = xdp.HookTC
	d, err := xdp.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("tc: %w", err)
	}
	return d, nil
}
