package xdp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf/link"
)

// attachedXDP returns what an earlier process has left on the device, or nil.
func (d *Driver) attachedXDP(dev device) attachment {
	l, err := link.LoadPinnedLink(d.pins.attachment(linkPrefix, dev.name), nil)
	if err != nil {
		return nil
	}
	info, err := l.Info()
	if err == nil && info.XDP() != nil && int(info.XDP().Ifindex) == dev.index {
		return l
	}
	// Of a device that went, under a name that another has now.
	_ = errors.Join(l.Unpin(), l.Close())
	return nil
}

// attachmentPrefixes are those of pins of attachments, of any hook.
var attachmentPrefixes = []string{linkPrefix, tcxPrefix, filterPrefix, tagsPrefix}

// cutAttachment returns the device of a pin, and the prefix, if it is that of an
// attachment.
func cutAttachment(pin string) (prefix, device string, is bool) {
	for _, prefix := range attachmentPrefixes {
		if device, is := strings.CutPrefix(pin, prefix); is {
			return prefix, device, true
		}
	}
	return "", "", false
}

// leaveHooks ends the attachments of other hooks, in whose place ours are.
func (p *pins) leaveHooks() error {
	if p == nil {
		return nil
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return fmt.Errorf("xdp: directory of pins: %w", err)
	}
	var errs []error
	for _, e := range entries {
		prefix, device, is := cutAttachment(e.Name())
		if is && prefix != tagsPrefix && !slices.Contains(p.hook.pins, prefix) {
			errs = append(errs, removeAttachment(p.dir, prefix, device))
		}
	}
	return errors.Join(errs...)
}

// removeStale ends what is pinned and belongs to nobody any more: attachments to
// devices that are not ours, and tables that we have replaced.
func (p *pins) removeStale(ours []string) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return fmt.Errorf("xdp: directory of pins: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if prefix, device, is := cutAttachment(e.Name()); is && !slices.Contains(ours, device) {
			errs = append(errs, removeAttachment(p.dir, prefix, device))
		}
	}
	for _, e := range entries {
		if path := filepath.Join(p.dir, e.Name()); strings.HasPrefix(e.Name(), n6Prefix) && path != p.n6 {
			p.others = append(p.others, path)
		}
	}
	if !p.nat {
		for _, name := range pinnedNAT {
			p.others = append(p.others, filepath.Join(p.n6, name))
		}
	}
	for _, path := range slices.Concat(p.others, p.left) {
		errs = append(errs, os.RemoveAll(path))
	}
	p.others, p.left = nil, nil
	return errors.Join(errs...)
}

// removeAttachment ends a pinned attachment, and the device if it was there for that
// alone.
func removeAttachment(dir, prefix, device string) error {
	path := filepath.Join(dir, prefix+device)
	if prefix == filterPrefix {
		return errors.Join(removeFilter(path, device), removeCutter(device))
	}
	l, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		return errors.Join(os.Remove(path), removeCutter(device))
	}
	return errors.Join(l.Unpin(), l.Close(), removeCutter(device))
}
