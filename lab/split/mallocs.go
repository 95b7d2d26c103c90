package split

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// metricsAddress is where processes that only keep the slot have their metrics, each in
// its own namespace.
const metricsAddress = "127.0.0.1:9106"

// mallocsMetric counts the objects that a process of Go has allocated.
const mallocsMetric = "go_memstats_mallocs_total"

// mallocs asks a process in a namespace how many objects it has allocated so far.
func mallocs(ctx context.Context, ns *topology.Namespace) (float64, error) {
	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = ns.Do(func() error {
			conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 5 * time.Second}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAddress+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return parseMallocs(answer.Body)
}

// parseMallocs finds the count among the metrics of a process.
func parseMallocs(r io.Reader) (float64, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), mallocsMetric+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("split: no %s among the metrics: %w", mallocsMetric, lines.Err())
}
