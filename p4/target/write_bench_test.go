package target

import (
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
)

// BenchmarkInsert inserts entries of the bridge through one connection within the process, in batches of 1000: the client
// encodes its messages, the server decodes and checks them, and the executor stores them. Frames do not come meanwhile.
func BenchmarkInsert(b *testing.B) {
	const batch, most = 1000, 1_000_000
	r := newRig(b, 1)
	m := &p4.WriteRequest{DeviceId: 1, ElectionId: &p4.Uint128{Low: 1}}
	var keys [batch][]byte
	for i := range batch {
		keys[i] = []byte{2, 0, 0, 0, 0, 0}
		m.Updates = append(m.Updates, &p4.Update{Type: p4.Update_INSERT, Entity: &p4.Entity{Entity: &p4.Entity_TableEntry{TableEntry: &p4.TableEntry{
			TableId: r.ids["@table:macs@"],
			Match:   []*p4.FieldMatch{{FieldId: 1, FieldMatchType: &p4.FieldMatch_Exact_{Exact: &p4.FieldMatch_Exact{Value: keys[i]}}}},
			Action: &p4.TableAction{Type: &p4.TableAction_Action{Action: &p4.Action{ActionId: r.ids["@action:forward_tagged@"],
				Params: []*p4.Action_Param{{ParamId: 1, Value: []byte{2}}, {ParamId: 2, Value: []byte{7}}}}}},
		}}}})
	}
	n := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if n == most {
			b.StopTimer()
			n = 0
			if err := r.server.SetPipeline(bridge(b)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		for i := range batch {
			keys[i][2], keys[i][3], keys[i][4], keys[i][5] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
			n++
		}
		if _, err := r.client.Write(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "entries/s")
}
