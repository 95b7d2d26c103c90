package upf

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPISession(t *testing.T) {
	s, client, _ := startUPF(t, loopbackConfig(t))
	made := establish(t, s, 7)
	got, err := client.Session(t.Context(), SEID(made.SEID))
	if err != nil {
		t.Fatal(err)
	}
	teid, dscp, up, down := TEID(0x78), uint8(46), uint64(50_000_000), uint64(100_000_000)
	fars := map[int]*uint32{1: new(uint32), 2: new(uint32)}
	*fars[1], *fars[2] = 1, 2
	want := &Session{
		SessionRow: SessionRow{SEID: SEID(made.SEID), CPSEID: 1007, NodeID: got.NodeID,
			UEAddresses: []string{"10.45.0.7"}, TEIDs: []TEID{7}, PDRs: 2, FARs: 2, QERs: 1},
		Rules: Rules{
			PDRs: []PDR{
				{ID: 1, Precedence: 32, SourceInterface: "Access", FTEID: &FTEID{TEID: 7, IPv4: s.config.N3.Address},
					UEAddresses: []string{"10.45.0.7"}, QFIs: []uint16{9}, OuterHeaderRemoval: "GTP-U/UDP/IP", FARID: fars[1], QERIDs: []uint32{1}},
				{ID: 2, Precedence: 64, SourceInterface: "Core", UEAddresses: []string{"10.45.0.7"},
					NetworkInstance: "internet", FARID: fars[2], QERIDs: []uint32{1}},
			},
			FARs: []FAR{
				{ID: 1, ApplyAction: "FORW", DestinationInterface: "Core"},
				{ID: 2, ApplyAction: "FORW", DestinationInterface: "Access", DSCP: &dscp,
					OuterHeaderCreation: &OuterHeaderCreation{
						Description: "GTP-U/UDP/IP", TEID: &teid, IPv4: netip.MustParseAddr("10.3.0.2")}},
			},
			QERs: []QER{{ID: 1, QFI: 9, UplinkMBR: &up, DownlinkMBR: &down}},
			URRs: []URR{}, BARs: []BAR{},
		},
	}
	if diff := cmp.Diff(want, got, netips); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, err := client.Session(t.Context(), SEID(made.SEID)+1); !errors.Is(err, ErrNotFound) {
		t.Errorf("another SEID: got %v, want ErrNotFound", err)
	}
}

func TestAPISessionPages(t *testing.T) {
	s, client, _ := startUPF(t, loopbackConfig(t))
	want := make([]SEID, 25)
	for i := range want {
		want[i] = SEID(establish(t, s, uint8(i+1)).SEID)
	}
	slices.Sort(want)
	var got []SEID
	q := SessionQuery{Limit: 10}
	for pages := 1; ; pages++ {
		page, err := client.Sessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != len(want) || len(page.Sessions) > q.Limit {
			t.Errorf("page %d: total %d, %d sessions", pages, page.Total, len(page.Sessions))
		}
		for _, s := range page.Sessions {
			got = append(got, s.SEID)
		}
		if q.Start = page.Next; q.Start == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestAPISessionFilters(t *testing.T) {
	s, client, _ := startUPF(t, loopbackConfig(t))
	seven, eight := establish(t, s, 7), establish(t, s, 8)
	for _, tc := range []struct {
		name string
		q    SessionQuery
		want []SEID
	}{
		{"UE address", SessionQuery{UEAddress: netip.MustParseAddr("10.45.0.7")}, []SEID{SEID(seven.SEID)}},
		{"TEID", SessionQuery{TEID: 8}, []SEID{SEID(eight.SEID)}},
		{"SEID", SessionQuery{SEID: SEID(eight.SEID)}, []SEID{SEID(eight.SEID)}},
		{"two that agree", SessionQuery{TEID: 7, UEAddress: netip.MustParseAddr("10.45.0.7")}, []SEID{SEID(seven.SEID)}},
		{"two that do not", SessionQuery{TEID: 8, UEAddress: netip.MustParseAddr("10.45.0.7")}, nil},
		{"nobody's", SessionQuery{UEAddress: netip.MustParseAddr("2001:db8::1")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page, err := client.Sessions(t.Context(), tc.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []SEID
			for _, s := range page.Sessions {
				got = append(got, s.SEID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestAPIRefuses: requests that are wrong get an answer that says so.
func TestAPIRefuses(t *testing.T) {
	_, client, _ := startUPF(t, loopbackConfig(t))
	for _, tc := range []struct {
		method, path string
		status       int
		problem      string
	}{
		{"GET", "/v1/sessions?limit=0", 400, "bad request: limit=0: want 1 to 10000"},
		{"GET", "/v1/sessions?limit=many", 400, `bad request: limit="many": strconv.Atoi: parsing "many": invalid syntax`},
		{"GET", "/v1/sessions?eu=10.45.0.1", 400, `bad request: eu="10.45.0.1": no such filter`},
		{"GET", "/v1/sessions?start=x", 400, `bad request: start: SEID "x": want a number of 64 bits, such as 0x1 or 17`},
		{"GET", "/v1/sessions/zero", 400, `bad request: SEID "zero": want a number of 64 bits, such as 0x1 or 17`},
		{"GET", "/v1/sessions/1", 404, "session 0x0000000000000001: not found"},
		{"GET", "/v2/sessions", 404, "/v2/sessions: not found"},
		{"DELETE", "/v1/sessions/1", 405, ""},
		{"POST", "/v1/config", 405, ""},
	} {
		t.Run(tc.method+tc.path, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://upf"+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			var p problem
			if err := json.Unmarshal(body, &p); err != nil && tc.problem != "" {
				t.Errorf("body %q: %v", body, err)
			}
			if resp.StatusCode != tc.status || p.Error != tc.problem {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, p.Error, tc.status, tc.problem)
			}
		})
	}
}

func TestAPIConfig(t *testing.T) {
	c := loopbackConfig(t)
	_, client, _ := startUPF(t, c)
	got, err := client.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, netips); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestClientNotRunning: the error says what to do.
func TestClientNotRunning(t *testing.T) {
	path := t.TempDir() + "/none.sock"
	_, err := NewClient(path).Drops(context.Background())
	want := "no UPF answers at " + path + ": start one (plumb upf --config FILE) or give its api.socket with --socket"
	if !errors.Is(err, ErrNotRunning) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// FuzzParseQuery: what is accepted is what a client could have asked.
func FuzzParseQuery(f *testing.F) {
	f.Add("ue=10.45.0.1&teid=0x1&seid=2&limit=10")
	f.Add("ue=2001:db8::1%25eth0&limit=10000")
	f.Add("start=0xffffffffffffffff&start=1&limit=")
	f.Fuzz(func(t *testing.T, in string) {
		values, err := url.ParseQuery(in)
		if err != nil {
			return
		}
		q, err := parseQuery(values)
		if err != nil {
			return
		}
		if q.Limit < 1 || q.Limit > MaxPage {
			t.Errorf("limit %d", q.Limit)
		}
		again, err := parseQuery(q.values())
		if err != nil || again != q {
			t.Errorf("got %+v, %v\nwant %+v", again, err, q)
		}
	})
}
