package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSupervised: a UPF without a terminal tells its service manager when it is up and when it
// stops, and SIGHUP does not end it.
func TestSupervised(t *testing.T) {
	dir := t.TempDir()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := make(chan string, 10)
	go func() {
		b := make([]byte, 100)
		for {
			n, err := manager.Read(b)
			if err != nil {
				return
			}
			told <- string(b[:n])
		}
	}()
	wait := func(want string) {
		t.Helper()
		select {
		case got := <-told:
			if got != want {
				t.Errorf("manager told %q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("manager not told %q", want)
		}
	}
	config := filepath.Join(dir, "upf.yaml")
	const text = "n4: {address: 127.29.9.1}\nn3: {address: 127.29.9.1}\ndatapath: model\n" +
		"sessions: {max: 100}\napi: {socket: \"\"}\nmetrics: {address: \"\"}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command("plumb", "upf", "--config", config)
	c.Env = append(os.Environ(), "NOTIFY_SOCKET="+manager.LocalAddr().String())
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill() //nolint:errcheck // it has ended, as a rule
	wait("READY=1")
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		b, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for end := time.Now().Add(30 * time.Second); !strings.Contains(said(), "SIGHUP does nothing"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no line about SIGHUP: %s", said())
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait("STOPPING=1")
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) || exit != nil {
		t.Errorf("%v; %s", err, said())
	}
}
