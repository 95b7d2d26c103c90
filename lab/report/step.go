package report

import "time"

// Step is a part of a run, for those who wait for it.
type Step struct {
	Name     string
	Expected time.Duration // of this step
	Before   time.Duration // expected of all steps before it
	Total    time.Duration // expected of the whole run
}
