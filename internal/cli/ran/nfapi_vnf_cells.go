package rancmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
)

// vnfCells are the MACs of a VNF's PHYs with the cores behind them.
type vnfCells struct {
	phys []nfapiPHYName
	of   map[nfapiPHYName]*nfapiL2
}

// open opens the cores and makes the MACs. End it with run, which has to be called.
func (f *nfapiVNFFile) open(ctx context.Context, log *slog.Logger) (*vnfCells, error) {
	cells := f.cells(&yamltext.Checks{}) // it has been checked
	v := &vnfCells{phys: f.phys(), of: make(map[nfapiPHYName]*nfapiL2, len(cells))}
	for i, name := range v.phys {
		gnb := cells[name]
		l2, err := gnb.open(ctx, log)
		if err != nil {
			v.phys = v.phys[:i]
			ended, cancel := context.WithCancel(ctx)
			cancel()
			return nil, errors.Join(err, v.run(ended))
		}
		v.of[name] = l2
	}
	return v, nil
}

// newMAC is the MAC of a PHY, which may ask again.
func (v *vnfCells) newMAC(pnf string, phy uint16) (fapi.MAC, error) {
	name := nfapiPHYName{pnf, phy}
	l2, ok := v.of[name]
	if !ok {
		return nil, fmt.Errorf("no cell for %v", name)
	}
	return l2.mac, nil
}

// run carries packets between cores and MACs until ctx ends, or one of the cores is lost,
// and closes all.
func (v *vnfCells) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(v.phys))
	for _, name := range v.phys {
		go func() {
			ended <- v.of[name].run(ctx)
			cancel()
		}()
	}
	var err error
	for range v.phys {
		err = errors.Join(err, <-ended)
	}
	return err
}

// collectors are the metrics of the MACs; those of several have labels pnf and phy.
func (v *vnfCells) collectors() (all []prometheus.Collector) {
	if len(v.phys) == 1 {
		return append(all, v.of[v.phys[0]].mac)
	}
	for _, name := range v.phys {
		labels := prometheus.Labels{"pnf": name.pnf, "phy": strconv.Itoa(int(name.phy))}
		all = append(all, prometheus.WrapCollectorWith(labels, v.of[name].mac))
	}
	return all
}

// print writes what the MACs have counted as text.
func (v *vnfCells) print(w io.Writer) error {
	var err error
	for _, name := range v.phys {
		if len(v.phys) > 1 {
			fmt.Fprintf(w, "MAC of %v\n", name)
		}
		stats := v.of[name].mac.Stats()
		err = errors.Join(err, stats.Print(w))
	}
	return err
}
