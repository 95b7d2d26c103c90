package floor_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/ran/radio/floor"
	"github.com/plumbline-upf/plumbline/ran/radio/grid"
)

// TestDocs: the tables of docs/nfapi.md are what is computed.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/nfapi.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range append(pingRows(t), boundRows(t)...) {
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/nfapi.md has no row %s", row)
		}
	}
}

func pingRows(t *testing.T) (rows []string) {
	t.Helper()
	for _, pattern := range []string{"DDDDDDDSUU", "DDDSU", "DDSU", "SU"} {
		row := fmt.Sprintf("| %s |", pattern)
		for _, cell := range []struct {
			ahead, k2 int
			standing  bool
		}{{6, 6, false}, {6, 6, true}, {4, 4, false}, {2, 2, false}, {2, 2, true}, {1, 1, true}} {
			c := config(pattern, cell.k2, cell.standing)
			r, err := floor.Ping(c, cell.ahead, 0)
			if err != nil {
				t.Fatal(err)
			}
			row += fmt.Sprintf(" %s / %s / %s |", ms(r.Min), ms(r.Mean), ms(r.Max))
		}
		rows = append(rows, row)
	}
	return rows
}

func ms(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.2f", float64(d)/1e6), "0")
}

func boundRows(t *testing.T) (rows []string) {
	t.Helper()
	for _, cell := range []struct {
		name         string
		prbs, layers int
		table, mcs   uint8
	}{
		{"40 MHz, 106 PRB, 1 layer, 64QAM (MCS 28)", 106, 1, 0, 28},
		{"100 MHz, 273 PRB, 2 layers, 256QAM (MCS 27)", 273, 2, 1, 27},
		{"100 MHz, 273 PRB, 4 layers, 256QAM (MCS 27)", 273, 4, 1, 27},
	} {
		c := config("DDDDDDDSUU", 6, false)
		c.PRBs, c.Layers, c.MCSTable, c.MCS = cell.prbs, cell.layers, cell.table, cell.mcs
		g, err := grid.New(c)
		if err != nil {
			t.Fatal(err)
		}
		down, up := g.Bound()
		block := g.Allocation(g.Slot(0).PDSCH, g.PRBs, g.MCS).TransportBlock()
		rows = append(rows, fmt.Sprintf("| %s | %d | %.0f | %.1f |", cell.name, block, down/1e6, up/1e6))
	}
	return rows
}
