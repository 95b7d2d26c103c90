package system

import "github.com/plumbline-upf/plumbline/lab/generator"

// refusal is what the sender's device had no room for.
type refusal struct {
	before uint64 // when what is measured began
	frames uint64 // since
	told   bool   // the device says so
}

// beginRefusals notes what the senders' devices have refused so far.
func (t *trial) beginRefusals() error {
	for _, p := range t.passes {
		if t.system.config.Sender != generator.Live {
			p.refused.told = true // sockets say at once what they do not take, and the generator counts the others only
			continue
		}
		var err error
		if p.refused.before, p.refused.told, err = t.system.sendsBy(p).Refused(); err != nil {
			return err
		}
	}
	return nil
}

// endRefusals notes what they have refused since.
func (t *trial) endRefusals() error {
	for _, p := range t.passes {
		if !p.refused.told || t.system.config.Sender != generator.Live {
			continue
		}
		now, _, err := t.system.sendsBy(p).Refused()
		if err != nil {
			return err
		}
		if now > p.refused.before {
			p.refused.frames = min(now-p.refused.before, p.sent.Sent) // there may be a frame of the warm-up among them
		}
	}
	return nil
}
