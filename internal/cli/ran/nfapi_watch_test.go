package rancmd

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// watched is a stopwatch of two PHYs with something of everything.
func watched(t *testing.T, f *nfapiWatchFlags) *nfapiWatch {
	t.Helper()
	w, err := f.watch(t.Context(), "pnf")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"phy 1", "phy 2"} {
		s := w.of(name)
		for n := range 1000 {
			s.Request(nfapi.MsgDLTTIRequest, stopwatch.OnTime, 2*time.Millisecond+time.Duration(n)*time.Microsecond)
			s.Delay(stopwatch.ToPNF, nfapi.MsgDLTTIRequest, 20*time.Microsecond)
			s.Handled(&nfapi.DLTTIRequest{PDUs: []nfapi.DLTTIPDU{{Type: 1}}}, 25*time.Microsecond)
			s.Tick(10*time.Microsecond, 0)
			s.Sequence(stopwatch.ToPNF, 1, uint8(n))
		}
		s.Request(nfapi.MsgTXDataRequest, stopwatch.Late, -time.Duration(i+1)*time.Millisecond)
		s.Execution(stopwatch.StepPHY, stopwatch.OfSlot, 7*time.Microsecond)
	}
	return w
}

// TestNFAPIWatchFiles: tables on standard output, JSON that can be read again and a
// page, with the same figures.
func TestNFAPIWatchFiles(t *testing.T) {
	dir := t.TempDir()
	f := &nfapiWatchFlags{JSON: filepath.Join(dir, "w.json"), HTML: filepath.Join(dir, "w.html")}
	w := watched(t, f)
	if one := w.of("phy 1"); one != w.of("phy 1") || one == w.of("phy 2") {
		t.Error("a name is not one watch")
	}
	var out bytes.Buffer
	if err := w.finish(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pnf phy 1: ", "pnf phy 2: ", "to the PNF: 1000 messages, 0 lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	file, err := os.Open(f.JSON)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result, err := stopwatch.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	all := result.Merged()
	if got := all.Message(nfapi.MsgTXDataRequest); len(result.Watches) != 2 || got.Counts.Late != 2 || got.Lead.Min != -2_000_000 {
		t.Errorf("got %+v of %d watches", got, len(result.Watches))
	}
	page, err := os.ReadFile(f.HTML)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 of 2002 requests were late", "pnf phy 2", "Beside OpenAirInterface", "<svg"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the page", want)
		}
	}
}

// TestNFAPIWatchJSONToStdout: instead of the tables, not beside them.
func TestNFAPIWatchJSONToStdout(t *testing.T) {
	var out bytes.Buffer
	if err := watched(t, &nfapiWatchFlags{JSON: "-"}).finish(&out); err != nil {
		t.Fatal(err)
	}
	if r, err := stopwatch.Read(&out); err != nil || len(r.Watches) != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestNFAPIWatchBounded: names of strangers take no memory without end, and what
// cannot be written is an error before anything runs.
func TestNFAPIWatchBounded(t *testing.T) {
	w := watched(t, &nfapiWatchFlags{})
	for i := range 2 * maxNFAPIWatches {
		w.of(strings.Repeat("x", i)).Tick(0, 0)
	}
	if got := len(w.snapshots()); got != maxNFAPIWatches {
		t.Errorf("got %d watches, want %d", got, maxNFAPIWatches)
	}
	if err := w.discard(); err != nil {
		t.Error(err)
	}
	if _, err := (&nfapiWatchFlags{HTML: filepath.Join(t.TempDir(), "no", "dir")}).watch(context.Background(), "pnf"); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("got %v, want a usage error", err)
	}
}

// TestNFAPIScreen: what is shown fits, has the figures of the last seconds and the
// counts since the beginning.
func TestNFAPIScreen(t *testing.T) {
	w := watched(t, &nfapiWatchFlags{})
	s := nfapiScreen{command: "pnf"}
	s.add(w.snapshots())
	for range 9 {
		w.of("phy 1").Request(nfapi.MsgDLTTIRequest, stopwatch.OnTime, time.Millisecond)
	}
	w.of("phy 1").Request(nfapi.MsgDLTTIRequest, stopwatch.Late, -time.Millisecond)
	now := w.snapshots()
	for _, one := range now {
		one.At = one.At.Add(2 * time.Second) // of which the 10 requests are
	}
	s.past[0][0].At = now[0].At.Add(-2 * time.Second)
	s.add(now)
	text := strings.Join(s.render(200, 60, []string{"level=INFO msg=x"}), "\n")
	for _, want := range []string{
		`pnf phy 1 .*1000 slots, 0 left out  clock late`,
		`DL_TTI.request +5\.0 +1 +0 +0 +-1000 +100[01] +- +- +0\.00`,
		`to the PNF: 1000 messages, 0 lost`, `pnf phy 2`, `level=INFO msg=x`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for width, want := range map[int]string{
		200: `(?m)^  message, µs .*way p50     p99  jitter waited p99 handled p50     p99$`,
		80:  `(?m)^  message, µs +per s  late early other lead min     p50 way p50  jitter$`,
		60:  `(?m)^pnf phy 1  \d+s\n  1000 slots, 0 left out  clock late .*, max \S+$`,
	} {
		if narrow := strings.Join(s.render(width, 24, nil), "\n"); !regexp.MustCompile(want).MatchString(narrow) {
			t.Errorf("%d columns: no %s in\n%s", width, want, narrow)
		}
	}
	for _, size := range [][2]int{{40, 5}, {80, 24}, {10, 1}} {
		lines := s.render(size[0], size[1], []string{"a\x1b[2Jb"})
		if len(lines) > size[1] {
			t.Errorf("%d lines in %d", len(lines), size[1])
		}
		for _, line := range lines {
			if len([]rune(line)) > size[0] || strings.Contains(line, "\x1b") {
				t.Errorf("%q in %d columns", line, size[0])
			}
		}
	}
	if got := (&nfapiScreen{command: "vnf"}).render(80, 24, nil); len(got) != 1 {
		t.Errorf("got %q of nothing", got)
	}
}

// TestNFAPIWatchMetrics: they are served while it runs.
func TestNFAPIWatchMetrics(t *testing.T) {
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = log
	w := watched(t, &nfapiWatchFlags{Metrics: "127.0.0.1:0"})
	os.Stderr = stderr
	defer func() { _ = w.discard() }()
	text, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`address=(\S+)`).FindSubmatch(text)
	if address == nil {
		t.Fatalf("no address in %s", text)
	}
	response, err := http.Get("http://" + string(address[1]) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `nfapi_requests_total{message="TX_DATA.request",name="pnf phy 2",verdict="late"} 1`; !bytes.Contains(page, []byte(want+"\n")) {
		t.Errorf("no %s in\n%.3000s", want, page)
	}
}
