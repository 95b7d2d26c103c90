package generator

import (
	"fmt"
	"os"
	"time"
)

// held returns for how long the calling thread has waited for a CPU so far, because
// something else had it; 0 where the kernel does not say (CONFIG_SCHED_INFO).
//
// Source: Linux Documentation/scheduler/sched-stats.rst (/proc/<pid>/schedstat).
func held() time.Duration {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	var onCPU, waited int64 // ns
	if _, err := fmt.Sscan(string(text), &onCPU, &waited); err != nil {
		return 0
	}
	return time.Duration(waited)
}
