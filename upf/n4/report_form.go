package n4

import (
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// LeaveOut is a set of optional IEs, or parts of IEs, that a CP function is not sent,
// as its decoder refuses a message that has them. Which do is in docs/n4.md.
type LeaveOut uint32

// What can be left out.
const (
	// LeaveOutUsageInformation: Usage Information in Usage Reports.
	LeaveOutUsageInformation LeaveOut = 1 << iota
	// LeaveOutPacketCounts: TONOP, ULNOP and DLNOP of Volume Measurement.
	LeaveOutPacketCounts
	// LeaveOutEventTimeStamps: Event Time Stamp in Usage Reports.
	LeaveOutEventTimeStamps
	// LeaveOutPagingPolicy: the PPI of Downlink Data Service Information.
	LeaveOutPagingPolicy
	// LeaveOutLoadControl: Load and Overload Control Information.
	LeaveOutLoadControl
)

// leaveOutNames are the names of the bits in their order.
var leaveOutNames = [...]string{"usage_information", "packet_counts", "event_time_stamps", "paging_policy_indication", "load_control"}

// LeaveOutNames lists the names of all that can be left out.
func LeaveOutNames() []string { return leaveOutNames[:] }

// ParseLeaveOut returns the set that a name means; it reports false if it means none.
func ParseLeaveOut(name string) (LeaveOut, bool) {
	for i, n := range leaveOutNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Names lists what is in the set.
func (l LeaveOut) Names() (list []string) {
	for i, n := range leaveOutNames {
		if l&(1<<i) != 0 {
			list = append(list, n)
		}
	}
	return list
}

// String is the names, separated by commas.
func (l LeaveOut) String() string { return strings.Join(l.Names(), ",") }

// PeerForm is what the CP functions of a prefix are not sent.
type PeerForm struct {
	Prefix   netip.Prefix
	LeaveOut LeaveOut
}

// leaveOut is what is configured of the CP function at an address.
func (c *Config) leaveOut(addr netip.Addr) (l LeaveOut) {
	for _, f := range c.Forms {
		if f.Prefix.Contains(addr) {
			l |= f.LeaveOut
		}
	}
	return l
}

// reportForms is what a CP function is not sent. It is configured, or learned:
//
//	a usage report is not answered, and is in another form
//	    > suspect: the next one is sent whole once more, others are not
//	        > answered: it was the path; nothing is left out
//	        > not answered: known, until the association ends
//
// So a short failure of the path does not cost a CP function what it can read.
type reportForms struct {
	known atomic.Uint32 // LeaveOut

	mu      sync.Mutex
	suspect LeaveOut
	proving bool // a report that will tell is under way
}

// leave is what is known.
func (f *reportForms) leave() LeaveOut { return LeaveOut(f.known.Load()) }

// learn adds to what is known. It reports false if that is known already.
func (f *reportForms) learn(l LeaveOut) bool { return LeaveOut(f.known.Or(uint32(l)))&l != l }

// reportForm is the form of one usage report.
type reportForm struct {
	leave   LeaveOut // what is left out
	present LeaveOut // what there is to leave out besides what is known
	proof   bool     // its answer says whether what is suspect is right
	steps   int      // how many forms there are
}

// formSteps are the forms in which what is present is tried, in turn.
func formSteps(present LeaveOut) []LeaveOut {
	steps := []LeaveOut{0}
	if first := present & LeaveOutUsageInformation; first != 0 {
		steps = append(steps, first)
	}
	if present&^LeaveOutUsageInformation != 0 {
		steps = append(steps, present)
	}
	return steps
}

// choose returns the form of reports that were given up tries times, and go to where is
// configured that so much is left out.
func (f *reportForms) choose(reports []session.UsageReport, tries int, configured LeaveOut) reportForm {
	f.mu.Lock()
	defer f.mu.Unlock()
	form := reportForm{leave: f.leave() | configured}
	form.present = optionalIn(reports) &^ form.leave
	steps := formSteps(form.present)
	form.steps = len(steps)
	switch suspect := f.suspect & form.present; {
	case tries > 0:
		form.leave |= steps[tries%len(steps)]
	case suspect != 0 && f.proving:
		form.leave |= suspect
	case suspect != 0:
		f.proving, form.proof = true, true
	}
	return form
}

// heard takes that reports were answered in that form, after they had been given up so
// many times.
func (f *reportForms) heard(form *reportForm, tries int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left := form.leave & form.present
	switch {
	case f.suspect != 0 && form.present&f.suspect != 0 && left&f.suspect == 0:
		f.suspect, f.proving = 0, false
	case f.suspect == 0 && tries > 0 && left != 0:
		f.suspect = left
	}
}

// lost takes that reports were not answered in that form, with the path up or not. It
// returns what is known from now on.
func (f *reportForms) lost(form *reportForm, up bool) (learned LeaveOut) {
	if !form.proof {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proving = false
	if !up {
		return 0
	}
	learned = f.suspect & form.present
	f.suspect &^= learned
	if !f.learn(learned) {
		return 0
	}
	return learned
}

// optionalIn is what there is in reports that can be left out.
func optionalIn(reports []session.UsageReport) (l LeaveOut) {
	var out pfcp.UsageReport
	for i := range reports {
		usageReport(&out, &reports[i], 0)
		if out.UsageInformation != 0 {
			l |= LeaveOutUsageInformation
		}
		if out.Volume.Value.TotalPackets.Present {
			l |= LeaveOutPacketCounts
		}
		if len(out.EventTimeStamps) > 0 {
			l |= LeaveOutEventTimeStamps
		}
	}
	return l
}

// leaves logs what a CP function is not sent any more.
func (e *Endpoint) leaves(a *association, l LeaveOut, why string) {
	e.log.Warn("n4: left out of reports from now on", "ies", l.String(), "node", a.node, "addr", a.addr, "why", why)
}
