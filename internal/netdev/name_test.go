package netdev

import "testing"

func TestIsName(t *testing.T) {
	for _, tc := range []struct {
		name    string
		is, new bool
	}{
		{"n3", true, true},
		{".x", true, true},
		{"eth0.100@x-_", true, true},
		{"abcdefghijklmno", true, true},
		{"abcdefghijklmnop", false, false},
		{"", false, false},
		{".", false, false},
		{"..", false, false},
		{"../x", false, false},
		{"a:b", false, false},
		{"a b", false, false},
		{"a\tb", false, false},
		{"a\x00b", false, false},
		{"a\xa0b", false, false},
		{"ü", false, false},
		{"lo", true, false},
		{"all", true, false},
		{"default", true, false},
		{"ue%d", true, false},
	} {
		if is, isNew := IsName(tc.name), IsNewName(tc.name); is != tc.is || isNew != tc.new {
			t.Errorf("%q: got %t, new %t, want %t, new %t", tc.name, is, isNew, tc.is, tc.new)
		}
	}
}
