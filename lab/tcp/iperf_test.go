package tcp

import "testing"

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Result
		fails    bool
	}{
		{"done", `{"end": {"sum_sent": {"bits_per_second": 3e9, "retransmits": 7}, "sum_received": {"bits_per_second": 2.5e9, "bytes": 9}}}`,
			Result{BPS: 2.5e9, Octets: 9, Retransmits: 7}, false},
		{"refused", `{"start": {}, "end": {}, "error": "unable to connect to server: Connection refused"}`, Result{}, true},
		{"nothing received", `{"end": {"sum_received": {"bits_per_second": 0}}}`, Result{}, true},
		{"killed", ``, Result{}, true},
		{"not JSON", `iperf3: error - unknown option`, Result{}, true},
	} {
		got, err := parse([]byte(tc.in))
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: got %+v, %v, want %+v, error %v", tc.name, got, err, tc.want, tc.fails)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"end": {"sum_sent": {"retransmits": 7}, "sum_received": {"bits_per_second": 2.5e9}}}`))
	f.Add([]byte(`{"error": "x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if r, err := parse(in); err == nil && !(r.BPS > 0) {
			t.Errorf("%q: no error and %v bit/s", in, r.BPS)
		}
	})
}
