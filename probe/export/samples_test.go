package export

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/plumbline-upf/plumbline/probe"
)

var (
	clock   = Clock{At: start, MonotonicNs: 1_000_000}
	packets = []probe.Sample{
		{UPF: "upf1", Slice: "embb", Direction: probe.Uplink, InNs: 2_000_000, OutNs: 2_012_345, Octets: 1400, TEID: 0xffff_fffe, QFI: 9, CPU: 1},
		{UPF: "upf1", Slice: "=cmd()", Direction: probe.Downlink, InNs: 500_000, OutNs: 500_007, Octets: 40},
		{UPF: "upf1", Slice: "", Direction: probe.Uplink, InNs: 3_000_000, OutNs: 4_000_000, Octets: 84},
	}
)

// written is what a writer makes of the packets.
func written(t *testing.T, open func(*bytes.Buffer) SampleWriter) string {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	for i := range packets {
		if err := w.Write(&packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCSVSamples(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) SampleWriter { return NewCSVSamples(b, clock) })
	want := `time,upf,slice,direction,in_ns,out_ns,delay_ns,octets,teid,qfi,cpu
2026-11-22T12:00:00.001Z,upf1,embb,uplink,2000000,2012345,12345,1400,4294967294,9,1
2026-11-22T11:59:59.9995Z,upf1,'=cmd(),downlink,500000,500007,7,40,0,0,0
2026-11-22T12:00:00.002Z,upf1,,uplink,3000000,4000000,1000000,84,0,0,0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPublishedCSV(t *testing.T) {
	device := func(s *probe.Sample) string { return "eth-" + s.UPF }
	got := written(t, func(b *bytes.Buffer) SampleWriter { return NewPublishedCSV(b, probe.Uplink, device) })
	want := `ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice
2000000,2012345,12.345,1400,eth-upf1,embb
3000000,4000000,1000.000,84,eth-upf1,-
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParquetSamples(t *testing.T) {
	got := written(t, func(b *bytes.Buffer) SampleWriter { return NewParquetSamples(b, clock) })
	rows, err := parquet.Read[SampleRow](bytes.NewReader([]byte(got)), int64(len(got)))
	if err != nil {
		t.Fatal(err)
	}
	want := []SampleRow{clock.row(&packets[0]), clock.row(&packets[1]), clock.row(&packets[2])}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
