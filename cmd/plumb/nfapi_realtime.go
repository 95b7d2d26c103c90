package main

import (
	"log/slog"

	"github.com/plumbline-upf/plumbline/nfapi/clock"
)

// nfapiThreads says how a gNB's process is scheduled. Threads that keep slots and those
// that wait for messages of P7 are real time anyway, if the machine allows that.
type nfapiThreads struct {
	Realtime bool `help:"Give all threads real-time priority, the lowest one; those of the slot clock and of P7 have it anyway. Fewer slots are late on a busy machine, but other programs, also those that measure, have less of its CPUs."`
}

// begin makes it so, or says why not. Call what it returns at the end.
func (t *nfapiThreads) begin(log *slog.Logger) (end func()) {
	if !t.Realtime {
		return func() {}
	}
	release, err := clock.Process()
	if err != nil {
		log.Warn("threads are ordinary ones", "reason", err)
		return func() {}
	}
	return release
}
