package session

import (
	"context"
	"testing"
	"time"
)

// TestInactivityOverRestart: that a session is inactive is told again after a restart, as
// nobody may have heard it; if packets have come meanwhile, not before its time is over
// again.
func TestInactivityOverRestart(t *testing.T) {
	for _, tc := range []struct {
		name    string
		packets uint64        // that have come meanwhile
		want    time.Duration // after the restart
	}{{"inactive still", 0, 0}, {"packets have come", 3, 40 * time.Second}} {
		t.Run(tc.name, func(t *testing.T) {
			now, store := time.Unix(1_000_000_000, 0), newMemoryStore()
			config := loadConfig(store)
			config.Now = func() time.Time { return now }
			var seid uint64
			// told looks at the session, and reports whether that tells of inactivity.
			told := func(m *Manager) (yes bool) {
				t.Helper()
				m.usages.tell = func(n Notice) { yes = yes || n.Kind == UserPlaneInactivity && n.SEID == seid && n.Owner == 1 }
				m.look(context.Background(), hint{seid: seid, due: true})
				if err := m.settle(context.Background()); err != nil {
					t.Fatal(err)
				}
				return yes
			}
			m, dp := newManagerOf(t, config)
			req := usual()
			setUE(req, 1)
			req.InactivityTimer = 40
			seid = must(t, m, req).SEID
			dp.usage = Usage{Packets: 5}
			if told(m) {
				t.Error("told at once")
			}
			now = now.Add(40 * time.Second)
			if !told(m) || told(m) {
				t.Error("not told once")
			}
			mustModify(t, m, seid, Modification{}) // which the store has

			again, dp2 := newManagerOf(t, config)
			dp2.usage = Usage{Packets: 5 + tc.packets}
			if l, err := again.Load(t.Context(), store.load); err != nil || l.Sessions != 1 {
				t.Fatalf("%+v, %v", l, err)
			}
			restart := now
			for !told(again) && now.Sub(restart) < time.Minute {
				now = now.Add(time.Second)
			}
			if got := now.Sub(restart); got != tc.want || told(again) {
				t.Errorf("told %v after the restart, want %v and once", got, tc.want)
			}
		})
	}
}
