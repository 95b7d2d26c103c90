package n4

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestLogSession: at the level debug each request of a session is a line; else it is none.
func TestLogSession(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		var log bytes.Buffer
		b := newBed(t, Config{Sockets: 1, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
		c := b.client(t, "127.0.0.1")
		c.associate("127.0.0.1", recoveryTime)
		r := c.establish(usual("127.0.0.1", "10.45.0.2"))
		seid := r.UPFSEID.Value.SEID
		c.do(seid, &pfcp.SessionModificationRequest{}, &pfcp.SessionModificationResponse{})
		c.do(seid, &pfcp.SessionDeletionRequest{}, &pfcp.SessionDeletionResponse{})
		b.Close()
		said := log.String()
		for _, done := range []string{"established", "modified", "deleted"} {
			want := fmt.Sprintf(`msg="n4: session %s" node=127.0.0.1 seid=%#x`, done, seid)
			if got := strings.Count(said, want); got != 1 && level == slog.LevelDebug || got != 0 && level != slog.LevelDebug {
				t.Errorf("%v: %q is %d times in %s", level, want, got, said)
			}
		}
		if want := "ue=[10.45.0.2] pdrs=2 fars=2"; level == slog.LevelDebug && !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}
