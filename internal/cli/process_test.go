package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestMemory: the limit is that of the cgroup, without the tables, and follows it; it is logged
// when it changes.
func TestMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	var log bytes.Buffer
	m := memory{log: slog.New(slog.NewTextHandler(&log, nil))}
	const mib = 1 << 20
	for _, tc := range []struct {
		name   string
		cgroup uint64
		err    error
		tables uint64
		want   int64
		told   string
	}{
		{"no limit", 0, memlimit.ErrNoLimit, 0, before, ""},
		{"no cgroup", 0, errors.New("none"), 0, before, ""},
		{"a limit", 1000 * mib, nil, 0, 900 * mib, "gomemlimit_octets=943718400 from=cgroup"},
		{"the same", 1000 * mib, nil, 0, 900 * mib, ""},
		{"not known once", 0, errors.New("none"), 0, 900 * mib, ""},
		{"tables", 1000 * mib, nil, 100 * mib, 810 * mib, "tables_octets=104857600"},
		{"much of tables", 1000 * mib, nil, 2000 * mib, 250 * mib, "gomemlimit_octets=262144000"},
		{"no limit any more", 0, memlimit.ErrNoLimit, 0, math.MaxInt64, "gomemlimit_octets=none"},
		{"a limit above all", math.MaxUint64, nil, 0, math.MaxInt64 - math.MaxInt64/10, "from=cgroup"},
	} {
		log.Reset()
		m.cgroup = func() (uint64, error) { return tc.cgroup, tc.err }
		m.tables = func() uint64 { return tc.tables }
		m.look()
		if got := debug.SetMemoryLimit(-1); got != tc.want {
			t.Errorf("%s: limit %d, want %d", tc.name, got, tc.want)
		}
		if told := log.String(); !strings.Contains(told, tc.told) || (tc.told == "") != (told == "") {
			t.Errorf("%s: told %q, want %q", tc.name, told, tc.told)
		}
	}
}
