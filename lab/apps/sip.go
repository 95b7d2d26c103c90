package apps

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/lab/scratch"
)

// The scenarios of both ends: a call with RTP for as long as -d says. RTP is
// [audio], which the answering end echoes if it runs with -rtp_echo.
var (
	//go:embed scenario/uac.xml
	Caller []byte
	//go:embed scenario/uas.xml
	Answerer []byte
)

// RTPPort is where the answering end has RTP.
const RTPPort = 7000

// Calls is telephone calls.
type Calls struct {
	PerSecond float64
	Hold      time.Duration // how long each lasts
	Most      int           // at the same time
}

// Called is what both ends say.
type Called struct {
	Made, Successful, Failed int
	EchoedRTP                int           // packets, that came to the answering end; -1: not known
	Answer                   time.Duration // from INVITE to 200 OK, mean
}

// Phone is SIPp at both ends.
type Phone struct {
	caller, answerer *Process
	dir              string
	calls            Calls
}

const (
	counts    = "uac.csv"
	graceTime = 5 * time.Second
)

// StartCalls begins to make calls. End them with [Phone.Stop] or [Phone.Kill].
func StartCalls(ctx context.Context, at Place, c Calls) (phone *Phone, err error) {
	p := &Phone{calls: c}
	if p.dir, err = scratch.Directory("sip"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Kill()
		}
	}()
	for name, scenario := range map[string][]byte{"uac.xml": Caller, "uas.xml": Answerer} {
		if err := os.WriteFile(filepath.Join(p.dir, name), scenario, 0o600); err != nil {
			return nil, err
		}
	}
	local, remote := SIPHost(at.UEAddress), SIPHost(at.DNAddress)
	p.answerer, err = Start(at.DN, p.dir, "sipp", "-sf", "uas.xml", "-i", remote, "-mi", remote, "-p", strconv.Itoa(int(at.ServerPort)),
		"-rtp_echo", "-mp", strconv.Itoa(RTPPort), "-nostdin")
	if err != nil {
		return nil, err
	}
	if err := listening(ctx, at.DN, p.answerer, "udp", at.ServerPort); err != nil {
		return nil, err
	}
	rate, period := callRate(c.PerSecond)
	p.caller, err = Start(at.UE, p.dir, "sipp", "-sf", "uac.xml", netip.AddrPortFrom(at.DNAddress, at.ServerPort).String(), "-i", local, "-mi", local,
		"-r", strconv.Itoa(rate), "-rp", strconv.Itoa(period), "-l", strconv.Itoa(c.Most), "-d", strconv.FormatInt(c.Hold.Milliseconds(), 10),
		"-nostdin", "-trace_stat", "-stf", counts, "-fd", "1")
	if err != nil {
		return nil, err
	}
	return p, nil
}

// callRate is a rate as SIPp takes it: so many calls in so many milliseconds.
func callRate(perSecond float64) (rate, period int) {
	const second = 1000
	if whole := int(perSecond); float64(whole) == perSecond {
		return whole, second
	}
	return int(perSecond*100 + 0.5), 100 * second
}

// SIPHost is how SIPp wants an address.
func SIPHost(a netip.Addr) string {
	if a.Is6() {
		return "[" + a.String() + "]"
	}
	return a.String()
}

// Exited is an error if an end has ended already.
func (p *Phone) Exited() error { return errors.Join(p.caller.Exited(), p.answerer.Exited()) }

// Stop lets the calls end that there are, and returns what came of all.
func (p *Phone) Stop() (Called, error) {
	defer p.Kill()
	if err := p.Exited(); err != nil {
		return Called{}, err
	}
	// SIPp makes no more calls after SIGUSR1, and ends after the last one. The second time
	// it gives up those that there are still, which have then failed.
	if !p.caller.ends(syscall.SIGUSR1, p.calls.Hold+graceTime) {
		if err := p.caller.stop(syscall.SIGUSR1, graceTime); err != nil {
			return Called{}, err
		}
	}
	if err := p.answerer.stop(syscall.SIGTERM, graceTime); err != nil {
		return Called{}, err
	}
	table, err := os.ReadFile(filepath.Join(p.dir, counts))
	if err != nil {
		return Called{}, fmt.Errorf("apps: SIPp left no account: %w", err)
	}
	called, err := ParseCalls(string(table))
	if err != nil {
		return Called{}, err
	}
	called.EchoedRTP = ParseEcho(p.answerer.out.Bytes())
	return called, nil
}

// Kill ends both ends.
func (p *Phone) Kill() {
	for _, end := range []*Process{p.caller, p.answerer} {
		if end != nil {
			end.Kill()
		}
	}
	_ = os.RemoveAll(p.dir)
}

var echoed = regexp.MustCompile(`(\d+) Total echo RTP pckts 1st stream`)

// ParseEcho finds how many packets of RTP were echoed in what SIPp prints at its end;
// -1: it does not say, since it closes the socket now and then before it prints.
func ParseEcho(screen []byte) int {
	all := echoed.FindAllSubmatch(screen, -1)
	if len(all) == 0 {
		return -1
	}
	n, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return -1
	}
	return n
}

// ParseCalls reads the last row of SIPp's statistics: names in the first row, values
// between semicolons.
func ParseCalls(table string) (Called, error) {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	names, values := strings.Split(rows[0], ";"), strings.Split(rows[len(rows)-1], ";")
	if len(rows) < 2 {
		return Called{}, fmt.Errorf("apps: SIPp's statistics have %d rows", len(rows))
	}
	of := map[string]string{}
	for i, name := range names {
		if i < len(values) {
			of[name] = values[i]
		}
	}
	var c Called
	var errs []error
	for name, to := range map[string]*int{"TotalCallCreated": &c.Made, "SuccessfulCall(C)": &c.Successful, "FailedCall(C)": &c.Failed} {
		n, err := strconv.Atoi(of[name])
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("apps: SIPp's statistics: %s of %.50q", name, of[name]))
		}
		*to = n
	}
	answer, err := parseClock(of["ResponseTime1(C)"])
	if err != nil {
		errs = append(errs, err)
	}
	c.Answer = answer
	return c, errors.Join(errs...)
}

// parseClock reads hours:minutes:seconds:microseconds, as SIPp writes times.
func parseClock(s string) (time.Duration, error) {
	units := []time.Duration{time.Hour, time.Minute, time.Second, time.Microsecond}
	most := []uint64{1 << 16, 59, 59, 999_999}
	parts := strings.Split(s, ":")
	if len(parts) != len(units) {
		return 0, fmt.Errorf("apps: SIPp's statistics: a time of %.50q", s)
	}
	var d time.Duration
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || n > most[i] {
			return 0, fmt.Errorf("apps: SIPp's statistics: a time of %.50q", s)
		}
		d += time.Duration(n) * units[i]
	}
	return d, nil
}
