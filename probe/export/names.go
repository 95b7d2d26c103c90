package export

// SliceName is what stands where a slice has no name: packets of no known one.
func SliceName(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
