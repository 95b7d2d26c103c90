package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
	"github.com/plumbline-upf/plumbline/p4/port"
	"github.com/plumbline-upf/plumbline/p4/target"
	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/upf"
)

// fitsColumns says which lines are wider than 80 columns.
func fitsColumns(t *testing.T, text string) {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		t.Error("nothing is printed")
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > term.Columns {
			t.Errorf("%d columns, want at most %d: %s", n, term.Columns, line)
		}
	}
}

// TestHelpColumns: 80 columns are enough for what any command says of itself.
func TestHelpColumns(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Name("plumb"), kong.BindTo(context.Background(), (*context.Context)(nil)))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	var walk func(n *kong.Node, path []string)
	walk = func(n *kong.Node, path []string) {
		if n.Hidden {
			return
		}
		count++
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			var out bytes.Buffer
			if err := helpOf(&out, path); err != nil {
				t.Fatal(err)
			}
			fitsColumns(t, out.String())
		})
		for _, c := range n.Children {
			if c.Type == kong.CommandNode {
				walk(c, append(append([]string{}, path...), c.Name))
			}
		}
	}
	walk(parser.Model.Node, nil)
	if count < 50 {
		t.Errorf("%d commands, want all", count)
	}
}

// helpOf writes the help of a command as plumb writes it where there is no terminal.
func helpOf(out *bytes.Buffer, path []string) error {
	parser, err := kong.New(&commands{}, kong.Name("plumb"), kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}), kong.Writers(out, out), kong.Exit(func(int) {}),
		kong.BindTo(context.Background(), (*context.Context)(nil)))
	if err != nil {
		return err
	}
	_, _ = parser.Parse(append(append([]string{}, path...), "--help")) // what is missing does not matter: help is printed first
	return nil
}

// TestColumns: 80 columns are enough for what commands print of a UPF whose values are all as wide as they can be.
func TestColumns(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "api")
	drops := &upf.Drops{At: time.Now()}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			drops.Drops = append(drops.Drops, upf.Drop{Reason: r.String(), Text: r.Text(), Packets: widestCount})
		}
	}
	answers := map[string]any{
		"/v1/sessions": widest[upf.SessionPage](), "/v1/sessions/": widest[upf.Session](), "/v1/slices": widest[upf.Slices](),
		"/v1/associations": widest[upf.Associations](), "/v1/peers": widest[upf.Peers](), "/v1/datapath": widest[upf.Datapath](), "/v1/drops": drops,
	}
	answers["/v1/sessions"].(*upf.SessionPage).Next = ""
	serveAnswers(t, socket, answers)
	for _, args := range []string{
		"sessions --limit 0", "show session 0x1", "show slices", "show associations", "show peers", "show datapath", "drops --all",
		"p4switch --check ../../p4/compiled/upf_v1model.json", "p4switch --check " + bridgeProgram + ".json", "pfcp list", "lab duts",
	} {
		t.Run(args, func(t *testing.T) {
			words := strings.Fields(args)
			if strings.Contains("sessions show drops", words[0]) {
				words = append(words, "--socket", socket)
			}
			var out bytes.Buffer
			if err := run(t.Context(), words, &out); err != nil {
				t.Fatal(err)
			}
			fitsColumns(t, out.String())
		})
	}
	t.Run("p4switch, end", func(t *testing.T) {
		r := widest[target.Report]()
		for i := range r.Ports {
			r.Ports[i].Device, r.Ports[i].Mode = "enp101s0f0np0v1", port.ModeZeroCopy
		}
		r.Drops, r.P4Runtime = map[string]uint64{"group_without_replicas": widestCount}, *widest[p4rt.Stats]()
		var out bytes.Buffer
		if err := r.Print(&out); err != nil {
			t.Fatal(err)
		}
		fitsColumns(t, out.String())
	})
	t.Run("gnb, end", func(t *testing.T) {
		var out bytes.Buffer
		if err := widest[gnb.Stats]().Print(&out); err != nil {
			t.Fatal(err)
		}
		fitsColumns(t, out.String())
	})
}

// serveAnswers is the local API of a UPF that says what it is given.
func serveAnswers(t *testing.T, socket string, answers map[string]any) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for path, answer := range answers {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	s := &http.Server{Handler: mux}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

const widestCount = 999_999_999_999_999

// widest is a value in which everything is there, and as wide as it realistically is.
func widest[T any]() *T {
	v := new(T)
	fillWidest(reflect.ValueOf(v).Elem())
	return v
}

func fillWidest(v reflect.Value) {
	switch v.Interface().(type) {
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff")))
		return
	case netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ff00/120")))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 22, 12, 34, 56, 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(99_999_999)
	case reflect.Uint64:
		v.SetUint(widestCount)
	case reflect.Uint, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(1<<min(v.Type().Bits(), 32) - 1)
	case reflect.String:
		v.SetString("internet.mnc001.mcc001.gprs")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillWidest(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillWidest(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillWidest(v.Field(i))
			}
		}
	}
}
