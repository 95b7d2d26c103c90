package dut

import (
	"context"
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/upf"
)

// api is the local API of our own UPF.
func (d *Instance) api() (*upf.Client, error) {
	if d.client == nil {
		return nil, fmt.Errorf("%s has no API of ours: %w", d.Kind.Name, errors.ErrUnsupported)
	}
	return d.client, nil
}

// Drops returns how many packets the UPF says that it dropped, by reason.
//
// Errors: [errors.ErrUnsupported] of others' UPFs.
func (d *Instance) Drops(ctx context.Context) (map[string]uint64, error) {
	client, err := d.api()
	if err != nil {
		return nil, fmt.Errorf("dut: drops: %w", err)
	}
	answer, err := client.Drops(ctx)
	if err != nil {
		return nil, fmt.Errorf("dut: drops: %w", err)
	}
	drops := make(map[string]uint64, len(answer.Drops))
	for _, r := range answer.Drops {
		drops[r.Reason] = r.Packets
	}
	return drops, nil
}

// Datapath returns what the UPF says forwards its packets. Errors are those of
// Drops.
func (d *Instance) Datapath(ctx context.Context) (*upf.Datapath, error) {
	client, err := d.api()
	if err != nil {
		return nil, fmt.Errorf("dut: datapath: %w", err)
	}
	answer, err := client.Datapath(ctx)
	if err != nil {
		return nil, fmt.Errorf("dut: datapath: %w", err)
	}
	return answer, nil
}

// Session returns what the UPF says of a session of its own, by its SEID there.
// Errors are those of Drops.
func (d *Instance) Session(ctx context.Context, seid uint64) (*upf.Session, error) {
	client, err := d.api()
	if err != nil {
		return nil, fmt.Errorf("dut: session %#x: %w", seid, err)
	}
	answer, err := client.Session(ctx, upf.SEID(seid))
	if err != nil {
		return nil, fmt.Errorf("dut: session %#x: %w", seid, err)
	}
	return answer, nil
}
