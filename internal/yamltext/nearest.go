package yamltext

import "slices"

// maxName is the longest name, in octets, that others are compared with.
const maxName = 64

// perhaps names the one that is nearest to a misspelt name: ", perhaps address". It is empty
// if none is near: more than one letter in three is another.
func perhaps(name string, names []string) string {
	if len(name) > maxName {
		return ""
	}
	best, least := "", maxName
	for _, one := range names {
		if n := distance(name, one); n < least && n <= max(len(name), len(one))/3 {
			best, least = one, n
		}
	}
	if best == "" {
		return ""
	}
	return ", perhaps " + best
}

// distance is how many letters have to be put in, left out, changed, or swapped with the
// next one, to make b of a.
func distance(a, b string) int {
	var before, last []int // rows of the table, for the first letters of a but two, but one
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last = last, slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
