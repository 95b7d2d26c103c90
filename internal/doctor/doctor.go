// Package doctor says what this machine, its kernel and its network devices
// can do for a UPF and for the laboratory, and what to do about the rest.
//
// [Examine] looks at files, and tries features where they can be tried without
// touching anything: eBPF programs and maps are loaded and let go, links are
// made in a network namespace that nobody else sees and that ends with the
// thread that made it. Devices of the machine are only read, except those
// named in [Options].Attach.
package doctor

import (
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Schema names the form of a [Report] in JSON.
const Schema = "plumbline.doctor/1"

// Status is the outcome of one check.
type Status string

// The three outcomes of a check.
const (
	// OK: there, and as it should be.
	OK Status = "ok"
	// Warn: something works less well, or a part that few need is absent.
	Warn Status = "warn"
	// Missing: what needs it does not work.
	Missing Status = "missing"
)

// Area groups checks in a report.
type Area string

// The areas, in the order of a report.
const (
	AreaMachine  Area = "machine"
	AreaRights   Area = "rights"
	AreaKernel   Area = "kernel"
	AreaEBPF     Area = "ebpf"
	AreaPrograms Area = "programs"
	AreaNetwork  Area = "network"
	AreaDevice   Area = "device"
	AreaTool     Area = "tool"
)

// Check is one thing that was looked at.
type Check struct {
	Area   Area   `json:"area"`
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what there is, or the error that says why not.
	Found string `json:"found"`
	// NeededFor names what of Plumbline uses it.
	NeededFor string `json:"needed_for"`
	// Advice is what to do; empty when Status is OK.
	Advice string `json:"advice,omitempty"`
	// Required: the UPF does not run without it.
	Required bool `json:"required"`
}

// Report is the result of [Examine].
type Report struct {
	Schema string `json:"schema"`
	// UPFRunsHere: no required check is missing, and a datapath runs, or would with a device:
	// the one that is asked for, if one is.
	UPFRunsHere bool `json:"upf_runs_here"`
	// Wanted is the datapath that is asked for; empty: any.
	Wanted string `json:"wanted,omitempty"`
	// Running is the datapath with which the UPF runs already; empty: it does not, or it
	// is not known.
	Running string  `json:"running,omitempty"`
	Checks  []Check `json:"checks"`
	// Datapaths are those of the UPF, the best one for this machine first.
	Datapaths []Datapath `json:"datapaths"`
}

// Options of [Examine].
type Options struct {
	// Attach names devices to attach an XDP program to, for a moment: it passes
	// every packet, but some drivers reset the link for it.
	Attach []string
	// Configured: it is about one UPF. What says nothing about that is left out: other
	// devices than its own, other datapaths' features, what other commands need.
	Configured bool
	// Devices are those of the UPF; none: any that is up.
	Devices []string
	// Datapath is the one that the UPF is to have; empty: any that runs.
	Datapath string
	// Running is the datapath with which the UPF of these devices runs now; empty: it
	// does not. Its programs on the devices are then no obstacle.
	Running string
	// Objects are those whose programs are loaded, to see whether this kernel takes them;
	// those called "xdp", "tc" and "afxdp" decide about the datapaths.
	Objects []verifier.Object
}

// Examine looks at the machine that it runs on and at the network namespace of
// the calling thread. It never fails: what could not be looked at is a check
// whose Found says why.
func Examine(o Options) *Report {
	r := &Report{Schema: Schema, Wanted: o.Datapath, Running: o.Running}
	r.add(machine()...)
	r.add(rights()...)
	r.add(kernel()...)
	r.add(ebpfFeatures()...)
	var tried []loading
	if len(MissingCapabilities()) == 0 { // else the rows of rights say it
		tried = tryObjects(o.Objects)
	}
	r.add(programChecks(tried)...)
	r.add(network()...)
	r.add(forwarding()...)
	r.add(devices(&o)...)
	r.add(tools()...)
	if o.Configured {
		r.Checks = slices.DeleteFunc(r.Checks, func(c Check) bool { return !c.asked(o.Datapath) })
	}
	f := gather(append(o.Devices, o.Attach...), false)
	f.refused, f.own, f.running = refusals(tried), ownNames(o.Objects), o.Running
	r.Datapaths = judge(f)
	r.UPFRunsHere = len(r.missing()) == 0 && (r.runs() || f.noDevice())
	return r
}

func (r *Report) add(checks ...Check) { r.Checks = append(r.Checks, checks...) }

// runs reports whether a datapath does that will do.
func (r *Report) runs() bool {
	return slices.ContainsFunc(r.Datapaths, func(d Datapath) bool { return d.Runs && (r.Wanted == "" || r.Wanted == d.Name) })
}

// missing returns the required checks that are missing.
func (r *Report) missing() []Check {
	var missing []Check
	for _, c := range r.Checks {
		if c.Required && c.Status == Missing {
			missing = append(missing, c)
		}
	}
	return missing
}

// Summary says in one sentence whether the UPF runs here, and why not.
func (r *Report) Summary() string {
	missing := r.missing()
	switch {
	case r.UPFRunsHere && !r.runs():
		return "the UPF would run here: no device is up"
	case r.UPFRunsHere && r.Running != "":
		return "the UPF runs here already, with datapath " + r.Running
	case r.UPFRunsHere:
		return "the UPF runs here"
	case len(missing) == 0 && r.Wanted != "":
		return "the UPF does not run here: datapath " + r.Wanted + " does not"
	case len(missing) == 0:
		return "the UPF does not run here: no datapath does"
	}
	names := make([]string, len(missing))
	for i, c := range missing {
		names[i] = c.Name
	}
	return "the UPF does not run here: missing " + strings.Join(names, ", ")
}

// tried fills in the outcome of a check that is a try: done when err is nil,
// else otherwise (Warn or Missing), with advice.
func (c Check) tried(err error, done string, otherwise Status, advice string) Check {
	if err == nil {
		c.Status, c.Found = OK, done
		return c
	}
	c.Status, c.Found, c.Advice = otherwise, firstLine(err), advice
	return c
}

// firstLine keeps out of the table a verifier's log, a hint at a limit that has
// a row of its own, and what only repeats the name of the check.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line, _, _ = strings.Cut(line, " (MEMLOCK may be too low")
	for strings.HasPrefix(line, "detect support for ") {
		_, line, _ = strings.Cut(line, ": ")
	}
	return line
}
