package stages

import (
	"bytes"
	"strconv"
	"strings"
)

// requests reads the HTTP/1 requests that one side of a connection makes, one
// behind the other, from octets that may be cut anywhere. It follows the length
// of their bodies, so that what is in a body is no request. A stream that an HTTP
// server would not read the same way is invalid, and stays so.
//
// It keeps of a head what decides, in strings of their own, and of a line whose end
// has not come no more than it may need.
//
// Source: RFC 9112, 2.2, 3, 5, 6.3 and 7.1.
type requests struct {
	at     requestPart
	line   []byte // the beginning of a line whose end has not come, or of what of it counts
	octets int    // of that line that have come
	dull   bool   // what else comes of that line does not count
	empty  int    // octets of empty lines before the next request
	skip   uint64 // octets of a body that are still to come
	some   bool   // a request line has come
	head   requestHead
	name   flowName
	ok     bool // the last request whose head has come has a name
}

type requestPart int

const (
	partStart   requestPart = iota // before a request line, or in it
	partHead                       // header fields
	partBody                       // of skip octets
	partChunk                      // the size of a chunk
	partOctets                     // of a chunk: skip octets
	partEnd                        // the end of the line behind a chunk
	partTrailer                    // fields behind the last chunk
	partTunnel                     // behind CONNECT or Upgrade: no requests any more
	partInvalid
)

// requestHead is what the lines of a head have said.
type requestHead struct {
	octets   int
	names    bool   // the target names a host
	target   string // that host
	path     string // of the target, in the form of plainPath, at most maxPath octets
	hosts    int    // fields
	host     string // of the last one
	old      bool   // HTTP/1.0, which need not have a Host
	sized    bool   // there is a Content-Length:
	size     uint64
	chunked  bool
	switches bool // CONNECT or Upgrade: what follows may be no HTTP
}

const (
	maxRequestLine = maxPartialSize
	maxRequestHead = 1 << 16
	maxField       = 1 << 10 // octets of a field that counts, or of the name of any
	maxPath        = 1 << 10 // as in package n4: no filter has a longer one
	maxBody        = 1 << 62
)

// settled reports whether it is known of what request the last octet was.
func (r *requests) settled() bool {
	switch r.at {
	case partStart:
		return len(r.line) == 0
	case partHead:
		return false
	}
	return true
}

// known returns the name of the request of the last octet, if there is one.
func (r *requests) known() (flowName, bool) {
	if !r.ok || !r.settled() || r.at == partInvalid {
		return flowName{}, false
	}
	return r.name, true
}

// ahead is how many octets may come, or be missed, that change nothing.
func (r *requests) ahead() uint64 {
	switch r.at {
	case partBody, partOctets:
		return r.skip
	case partTunnel, partInvalid:
		return maxBody
	}
	return 0
}

// pass steps over octets that have not been seen: no more than ahead.
func (r *requests) pass(n uint64) {
	if r.at != partBody && r.at != partOctets {
		return
	}
	if r.skip -= n; r.skip > 0 {
		return
	}
	if r.at == partBody {
		r.at = partStart
	} else {
		r.at = partEnd
	}
}

// read takes what comes next.
func (r *requests) read(b []byte) {
	for len(b) > 0 && r.at != partTunnel && r.at != partInvalid {
		if r.at == partBody || r.at == partOctets {
			n := min(r.skip, uint64(len(b)))
			b = b[n:]
			r.pass(n)
			continue
		}
		if r.at == partStart && r.octets == 0 {
			if b[0] == '\r' || b[0] == '\n' { // RFC 9112, 2.2: empty lines before a request
				if r.empty++; r.empty > maxEmpty {
					r.fail()
				}
				b = b[1:]
				continue
			}
			if r.some && !isToken(b[0]) {
				r.over()
				return
			}
		}
		b = r.readLine(b)
	}
}

// readLine takes what is there of a line, and returns what is behind it.
func (r *requests) readLine(b []byte) []byte {
	end := bytes.IndexByte(b, '\n')
	more := b
	if end >= 0 {
		more = b[:end]
	}
	r.head.octets += len(more)
	r.octets += len(more)
	if r.octets > maxRequestLine || r.head.octets > maxRequestHead {
		r.fail()
		return nil
	}
	if !r.dull {
		r.line = append(r.line, more...)
	}
	if end < 0 {
		r.shorten()
		return nil
	}
	line, octets := string(bytes.TrimSuffix(r.line, []byte{'\r'})), r.octets
	r.line, r.octets, r.dull = nil, 0, false
	r.take(line, octets)
	return b[end+1:]
}

// shorten keeps of a line whose end has not come what counts.
func (r *requests) shorten() {
	switch {
	case r.dull:
	case r.at == partTrailer && len(r.line) > 1: // it is not empty
		r.line, r.dull = bytes.Clone(r.line[:2]), true
	case r.at == partHead:
		colon := bytes.IndexByte(r.line, ':')
		switch {
		case colon >= 0 && !counts(string(r.line[:colon])):
			r.line, r.dull = bytes.Clone(r.line[:colon+1]), true
		case r.octets > maxField:
			r.fail()
		}
	}
}

// counts reports whether it is to be known what a field says.
func counts(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding":
		return true
	}
	return false
}

// fail makes it invalid.
func (r *requests) fail() { *r = requests{at: partInvalid, some: r.some} }

// over is what comes behind a request and is no HTTP: a tunnel's, which has the
// name of the request that opened it, or is not known.
func (r *requests) over() {
	if r.head.switches {
		*r = requests{at: partTunnel, some: true, name: r.name, ok: r.ok}
	} else {
		r.fail()
	}
}

// take takes a line, which had so many octets.
func (r *requests) take(line string, octets int) {
	ok := true
	switch r.at {
	case partStart:
		ok = r.requestLine(line)
	case partHead:
		if line == "" {
			ok = r.headEnds()
		} else {
			ok = r.field(line, octets)
		}
	case partChunk:
		ok = r.chunk(line)
	case partEnd:
		r.at, ok = partChunk, line == ""
	case partTrailer:
		if line == "" {
			r.at = partStart
		}
	}
	if r.at != partHead {
		r.head.octets = 0
	}
	if !ok {
		r.fail()
	}
}

// requestLine reads one as servers do that take any white space between its words.
func (r *requests) requestLine(line string) bool {
	words := strings.Fields(line)
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		return false
	}
	r.some, r.ok, r.empty, r.at = true, false, 0, partHead
	r.head = requestHead{octets: len(line), old: words[2] == "HTTP/1.0"}
	r.head.aim(words[0] == "CONNECT", words[1])
	return true
}

// aim reads the target of a request. Source: RFC 9112, 3.2.
func (h *requestHead) aim(connect bool, target string) {
	host, path := "", target
	scheme, absolute, ok := strings.Cut(target, "://")
	switch {
	case connect:
		h.names, h.switches, host, path = true, true, target, "/"
	case ok && scheme != "" && scheme[0] != '/':
		i := strings.IndexAny(absolute, "/?#")
		if i < 0 {
			i = len(absolute)
		}
		h.names, host, path = true, absolute[:i], absolute[i:]
		host = host[strings.LastIndexByte(host, '@')+1:]
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path = plainPath(path)
	h.target, h.path = hostField(host), strings.Clone(path[:min(len(path), maxPath)])
}

// hostField returns what may be a host with a port, or what can be none, if it is too
// long for one.
func hostField(value string) string {
	if len(value) > maxField {
		return "/"
	}
	return strings.Clone(value)
}

// field reads a header field. One that is folded, or has a space before its colon,
// is what servers refuse, or read in different ways.
func (r *requests) field(line string, octets int) bool {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t") || len(name) > maxField || counts(name) && octets > maxField {
		return false
	}
	h := &r.head
	value = strings.Trim(value, " \t")
	switch strings.ToLower(name) {
	case "host":
		h.hosts++
		h.host = hostField(value)
	case "content-length":
		size, err := strconv.ParseUint(value, 10, 62)
		if err != nil || h.sized && size != h.size {
			return false
		}
		h.sized, h.size = true, size
	case "transfer-encoding":
		if h.chunked || !strings.EqualFold(value, "chunked") {
			return false
		}
		h.chunked = true
	case "upgrade":
		h.switches = true
	}
	return true
}

// headEnds says of what the request is, and where the next one begins.
//
// Source: RFC 9112, 3.2 (a request with no Host, or with two, is invalid) and 6.3.
func (r *requests) headEnds() bool {
	h := &r.head
	if h.hosts > 1 || h.hosts == 0 && !h.old || h.chunked && h.sized {
		return false
	}
	if r.name, r.ok = h.name(); !r.ok && (h.host != "" || !h.old) {
		return false
	}
	chunked, size := h.chunked, h.size
	r.head = requestHead{switches: h.switches}
	if chunked {
		r.at = partChunk
	} else {
		r.body(partBody, partStart, size)
	}
	return true
}

// name returns the name of a request. Its target, if that names a host, and its Host
// have to agree: servers differ in which of them they take.
//
// Source: RFC 9112, 3.2.
func (h *requestHead) name() (flowName, bool) {
	said, w := named(withoutPort(h.host), h.path)
	if !h.names {
		return said, w == nameFound
	}
	name, v := named(withoutPort(h.target), h.path)
	return name, v == nameFound && (h.hosts == 0 || w == nameFound && said == name)
}

func (r *requests) body(of, behind requestPart, n uint64) {
	r.at, r.skip = of, n
	if n == 0 {
		r.at = behind
	}
}

func (r *requests) chunk(line string) bool {
	size, _, _ := strings.Cut(line, ";")
	n, err := strconv.ParseUint(strings.Trim(size, " \t"), 16, 62)
	if err != nil {
		return false
	}
	r.body(partOctets, partTrailer, n)
	return true
}

// isToken reports whether a method may have c. Source: RFC 9110, 5.6.2.
func isToken(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
