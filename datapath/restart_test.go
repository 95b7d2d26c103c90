package datapath_test

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestRestart: nothing is answered before Settle, and no Error Indication is sent while
// it is quiet; that can become longer, not shorter.
func TestRestart(t *testing.T) {
	settled := func(q *datapath.Quiet) *datapath.Restart {
		r := &datapath.Restart{Quiet: q}
		if r.MayAnswer(datapath.DropNoPDR) || r.MayAnswer(datapath.DropGTPUExtType) {
			t.Error("an answer before Settle")
		}
		r.Settle()
		if !r.MayAnswer(datapath.DropGTPUExtType) {
			t.Error("no answer to an extension header that is not known")
		}
		return r
	}
	var q datapath.Quiet
	for _, r := range []*datapath.Restart{settled(nil), settled(&q)} {
		if !r.MayAnswer(datapath.DropNoPDR) {
			t.Error("no Error Indication")
		}
	}
	r := settled(&q)
	now := time.Now()
	q.Until(now.Add(-time.Hour))
	if !r.MayAnswer(datapath.DropNoPDR) {
		t.Error("no Error Indication when it is over")
	}
	q.Until(now.Add(time.Hour))
	q.Until(now)
	if r.MayAnswer(datapath.DropNoPDR) {
		t.Error("an Error Indication while it is quiet")
	}
}
