package stages

import (
	"strconv"
	"strings"
)

// plainPath returns a path in the form in which paths are compared: what need not
// be percent-encoded is not, and the segments "." and ".." are gone. The query is
// left as it is, but for its encoding.
//
// Source: RFC 3986, 6.2.2.2, 6.2.2.3 and 5.2.4.
func plainPath(path string) string {
	if strings.IndexByte(path, '%') >= 0 {
		path = decoded(path)
	}
	end := len(path)
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		end = i
	}
	if !strings.Contains(path[:end], "/.") {
		return path
	}
	var kept []string
	segments := strings.Split(path[:end], "/")[1:]
	for i, s := range segments {
		switch s {
		case ".", "..":
			if s == ".." && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if i == len(segments)-1 {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/") + path[end:]
}

// decoded decodes the unreserved characters of a path that are percent-encoded, and
// writes the other encodings in upper case.
func decoded(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) {
			b.WriteByte(path[i])
			continue
		}
		v, err := strconv.ParseUint(path[i+1:i+3], 16, 8)
		switch {
		case err != nil:
			b.WriteByte('%')
			continue
		case isUnreserved(byte(v)):
			b.WriteByte(byte(v))
		default:
			b.WriteString(strings.ToUpper(path[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// isUnreserved: RFC 3986, 2.3.
func isUnreserved(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}
