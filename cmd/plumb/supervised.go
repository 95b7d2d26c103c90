package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
)

// hangUp has SIGHUP do nothing until ctx is done but leave a line in the log: nothing is
// read anew. In a terminal it ends the process, as the terminal is closed then.
func hangUp(ctx context.Context, log *slog.Logger) {
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
		return
	}
	signal.Ignore(syscall.SIGHUP) // no command's handler any more
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				log.Warn("SIGHUP does nothing: a configuration is read at the start alone")
			}
		}
	}()
}

// tellManager tells systemd, or whoever NOTIFY_SOCKET names, how far we are.
// Source: sd_notify(3).
func tellManager(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("service manager not told", "state", state, "error", err)
	}
}
