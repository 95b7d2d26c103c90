package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Schema names the form of a [Report] in JSON.
const Schema = "plumbline.nfapi-conformance/1"

// Report has the results of all cases.
type Report struct {
	Schema  string        `json:"schema"`
	Peer    Peer          `json:"peer"`
	Address string        `json:"address"`
	Profile string        `json:"profile"`
	Seed    uint64        `json:"seed"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took_ns"`
	Passed  int           `json:"passed"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
	NotRun  int           `json:"not_run"`
	Results []Result      `json:"results"`
}

func (r *Report) add(one Result) {
	switch one.Verdict {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	case NotRun:
		r.NotRun++
	}
	r.Results = append(r.Results, one)
}

// OK reports whether no case failed, and all were run.
func (r *Report) OK() bool { return r.Failed == 0 && r.NotRun == 0 }

// Print writes a line for each case, and then what each one that failed says, sent,
// expected and got.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "CASE\tVERDICT\tMS\tREASON")
	for _, one := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", one.Name, one.Verdict, one.Took.Milliseconds(), one.Reason)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, one := range r.Results {
		if one.Verdict == Failed {
			fmt.Fprintf(w, "\n%s\n  rule      %s\n%s", one.Name, one.Says, one.failures("  "))
		}
	}
	_, err := fmt.Fprintf(w, "\n%s, %s: %d passed, %d failed, %d skipped, %d not run, in %v\n",
		strings.ToUpper(string(r.Peer)), r.Profile, r.Passed, r.Failed, r.Skipped, r.NotRun, r.Took.Round(time.Millisecond))
	return err
}

// failures are the steps that were not as expected.
func (r *Result) failures(indent string) string {
	var b strings.Builder
	for _, s := range r.Steps {
		if !s.OK {
			fmt.Fprintf(&b, "%ssent      %s\n%sexpected  %s\n%scame      %s\n", indent, s.Sent, indent, s.Expected, indent, s.Came)
		}
	}
	return b.String()
}

// junit is the form that CI servers read. Source: the schema of Apache Ant's JUnit task,
// as Jenkins and GitLab read it.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Error   *junitText `xml:"error"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML. What was not run is an error there.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "nfapi " + string(r.Peer) + " " + r.Profile, Tests: len(r.Results), Failures: r.Failed, Skipped: r.Skipped, Errors: r.NotRun,
		Time: seconds(r.Took), Stamp: r.Began.Format("2006-01-02T15:04:05"),
	}
	for _, one := range r.Results {
		group, _, _ := strings.Cut(one.Name, "/")
		c := junitCase{Name: one.Name, Class: "nfapi." + string(r.Peer) + "." + group, Time: seconds(one.Took)}
		switch one.Verdict {
		case Failed:
			c.Failure = &junitText{one.Reason, "\n" + one.Says + "\n" + one.failures("")}
		case Skipped:
			c.Skipped = &junitText{one.Reason, ""}
		case NotRun:
			c.Error = &junitText{one.Reason, ""}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
