package p4rt

import (
	"encoding/binary"
	"testing"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// manyEntries inserts n entries into the first table of the tests, the first with number from.
func manyEntries(election uint64, n, from int) *p4.WriteRequest {
	r := &p4.WriteRequest{DeviceId: 1, ElectionId: &p4.Uint128{Low: election}}
	for i := range n {
		e := &p4.TableEntry{
			TableId: 0x2000001,
			Match: []*p4.FieldMatch{
				{FieldId: 1, FieldMatchType: &p4.FieldMatch_Exact_{Exact: &p4.FieldMatch_Exact{Value: []byte{1}}}},
				{FieldId: 2, FieldMatchType: &p4.FieldMatch_Exact_{Exact: &p4.FieldMatch_Exact{Value: binary.BigEndian.AppendUint32(nil, uint32(from+i))}}},
			},
			Action: &p4.TableAction{Type: &p4.TableAction_Action{Action: &p4.Action{ActionId: 0x1000001, Params: []*p4.Action_Param{
				{ParamId: 1, Value: []byte{2}}, {ParamId: 2, Value: []byte{1, 2, 3, 4, 5, 6}},
			}}}},
		}
		r.Updates = append(r.Updates, &p4.Update{Type: p4.Update_INSERT, Entity: &p4.Entity{Entity: &p4.Entity_TableEntry{TableEntry: e}}})
	}
	return r
}

// nowhere is a state that takes any entry and keeps none, so that a benchmark measures what is in front of it.
type nowhere struct{ *fakeState }

// Update has fn change nothing.
func (n nowhere) Update(fn func(Tx)) { fn(nowhereTx(n)) }

type nowhereTx struct{ *fakeState }

// Insert takes an entry.
func (nowhereTx) Insert(int, *bmv2.Entry) error { return nil }

// BenchmarkWrite inserts entries through a connection within the process, in batches of 1000. The client makes the octets
// of its messages each time, as any client does.
func BenchmarkWrite(b *testing.B) {
	const batch = 1000
	r, _ := primary(b)
	p := r.live.Load()
	p.state = nowhere{p.state.(*fakeState)}
	m := manyEntries(1, batch, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := r.client.Write(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "entries/s")
}
