package upf

import (
	"strings"
	"testing"
)

func TestNewLogger(t *testing.T) {
	for _, tc := range []struct {
		log  Log
		want string // contained in what is logged
	}{
		{Log{Level: "info", Format: FormatText}, "level=INFO msg=two n=2\n"},
		{Log{Level: "warn", Format: FormatText}, ""},
		{Log{Level: "info", Format: FormatJSON}, `"level":"INFO","msg":"two","n":2}` + "\n"},
	} {
		var b strings.Builder
		log := NewLogger(&b, tc.log)
		log.Debug("one")
		log.Info("two", "n", 2)
		if got := b.String(); !strings.HasSuffix(got, tc.want) || strings.Contains(got, "one") || tc.want == "" && got != "" {
			t.Errorf("%+v: got %q, want %q", tc.log, got, tc.want)
		}
	}
}
