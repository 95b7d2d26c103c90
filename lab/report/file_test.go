package report

import "io"

// readSlices takes back the slices of UPFs.
func readSlices(in io.Reader) (*Slices, error) {
	var s Slices
	return &s, read(in, &s)
}
