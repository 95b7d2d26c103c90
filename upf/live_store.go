package upf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/internal/redisconn"
)

// redisPatience is how long [Config.CheckKept] waits for a server.
const redisPatience = 2 * time.Second

// CheckKept checks that what is to outlive the process can be kept: that store.path can be
// written to, that the servers of store.redis and bus.redis answer, and that xdp.pin is in
// a bpffs. Nothing of it is left behind.
//
// Errors: one line each, joined.
func (c *Config) CheckKept(ctx context.Context) error {
	var errs []error
	if dir := c.Store.Path; dir != "" {
		if err := canKeep(dir); err != nil {
			errs = append(errs, fmt.Errorf("store.path: %s: %w", dir, err))
		}
	}
	for _, r := range []struct {
		key string
		to  *Redis
	}{{"store.redis", &c.Store.Redis}, {"bus.redis", &c.Bus.Redis}} {
		if r.to.Address == "" {
			continue
		}
		if err := r.to.answers(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s.address: %s: %w", r.key, r.to.Address, err))
		}
	}
	if dir := c.XDP.Pin; dir != "" && slices.Contains([]string{DatapathAuto, DatapathXDP, DatapathTC}, c.Datapath) {
		if err := xdp.CheckPin(dir); err != nil {
			errs = append(errs, fmt.Errorf("xdp.pin: %w", err))
		}
	}
	return errors.Join(errs...)
}

// canKeep makes a file in dir, and dir, and removes again what was not there.
func canKeep(dir string) error {
	for _, parent := range slices.Backward(missing(dir)) {
		if err := os.Mkdir(parent, 0o700); err != nil {
			return reason(err)
		}
		defer os.Remove(parent) //nolint:errcheck // it is empty, or another's now
	}
	f, err := os.CreateTemp(dir, ".check-")
	if err != nil {
		return reason(err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it was made here
	return reason(f.Close())
}

// missing are the directories of a path that are not there, the deepest first.
func missing(dir string) (all []string) {
	for there := filepath.Clean(dir); there != filepath.Dir(there); there = filepath.Dir(there) {
		if _, err := os.Lstat(there); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		all = append(all, there)
	}
	return all
}

// reason is an error of the file system without what was being done.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// answers asks the server whether it takes commands of ours.
func (r *Redis) answers(ctx context.Context) error {
	client, err := redisconn.Open(r.server())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	return client.Ping(ctx).Err()
}
