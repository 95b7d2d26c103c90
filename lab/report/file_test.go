package report

import "io"

// readResult takes back what [Write] wrote.
func readResult(in io.Reader) (*Result, error) {
	var r Result
	return &r, read(in, &r)
}

// readComparison is readResult for a comparison.
func readComparison(in io.Reader) (*Comparison, error) {
	var c Comparison
	return &c, read(in, &c)
}

// readSlices is readResult for the slices of UPFs.
func readSlices(in io.Reader) (*Slices, error) {
	var s Slices
	return &s, read(in, &s)
}
