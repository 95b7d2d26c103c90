package bmv2

import "math/rand/v2"

// hdrState is what a packet has of a header instance.
type hdrState struct {
	raw   int32 // its offset in ctx.data, or -1 if the program created it
	vlPos int32 // offset of its variable part there
	vlLen int32 // octets of that
	valid bool
	dirty bool // a field differs from raw
}

// ctx is one packet on its way through the program, and the memory that this needs. None of it is
// shared.
type ctx struct {
	f    []uint64   // all fields
	h    []hdrState // all headers
	next []int32    // of each stack, how many elements were filled
	loc  []uint64   // parameters of the action that runs
	w    []uint64   // intermediate values of more than 64 bits
	data []byte     // the frame
	pos  int        // octets that were parsed
	s    *Instance
	key  [maxKeyWords]uint64
	wide [maxKeyWords]uint64 // masked keys

	now     int64 // nanoseconds since New
	inLen   int   // octets of the frame as it came in
	length  int   // octets after headers were added and removed
	limit   int   // octets that the frame may have when it leaves
	steps   int   // primitives that may still run
	exit    bool
	dead    bool // why says where
	why     Drop
	parsErr int32
	csumErr bool

	// What primitives ask for, -1 if they do not.
	clone, cloneList, digest, resubmit, recirculate int32

	own []byte // a frame that was recirculated
	rng *rand.Rand
	buf []byte
}

func newCtx(s *Instance) *ctx {
	p := s.p
	return &ctx{
		f: make([]uint64, p.fieldWords), h: make([]hdrState, len(p.headers)), next: make([]int32, len(p.stacks)),
		w: make([]uint64, p.tempWords), s: s, rng: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
}

// reset begins with a frame: no header is valid, all metadata is zero.
func (c *ctx) reset(data []byte, now int64) {
	clear(c.f)
	for i := range c.h {
		c.h[i] = hdrState{raw: -1}
	}
	for i := range c.next {
		c.next[i] = 0
	}
	c.data, c.pos, c.now = data, 0, now
	c.inLen, c.length, c.limit = len(data), len(data), MaxFrame
	c.steps = maxSteps
	c.exit, c.dead, c.csumErr = false, false, false
	c.clearAsked()
}

func (c *ctx) clearAsked() {
	c.clone, c.cloneList, c.digest, c.resubmit, c.recirculate = -1, -1, -1, -1, -1
}

// copyOf makes c the same packet as o.
func (c *ctx) copyOf(o *ctx) {
	copy(c.f, o.f)
	copy(c.h, o.h)
	copy(c.next, o.next)
	c.data, c.pos, c.now = o.data, o.pos, o.now
	c.inLen, c.length, c.limit, c.steps = o.inLen, o.length, o.limit, o.steps
	c.exit, c.dead, c.csumErr, c.parsErr = false, false, o.csumErr, o.parsErr
	c.clearAsked()
}

// set writes standard metadata, if the program has it.
func (c *ctx) set(f stdField, v uint64) {
	if f.off >= 0 {
		c.f[f.off] = v & f.mask
	}
}

// stop ends the packet.
func (c *ctx) stop(why Drop) {
	if !c.dead {
		c.dead, c.why = true, why
	}
}

// addHeader makes a header valid; one that was not has only zeros.
func (c *ctx) addHeader(i int) {
	st := &c.h[i]
	if st.valid {
		return
	}
	h := &c.s.p.headers[i]
	clear(c.f[h.off : h.off+h.words])
	*st = hdrState{raw: -1, valid: true}
	c.length += h.fixed
}

// removeHeader makes a header invalid.
func (c *ctx) removeHeader(i int) {
	st := &c.h[i]
	if st.valid {
		c.length -= c.s.p.headers[i].fixed + int(st.vlLen)
		st.valid = false
	}
}

// copyHeader assigns a header of the same type.
func (c *ctx) copyHeader(dst, src int) {
	if dst == src {
		return
	}
	if !c.h[src].valid {
		c.h[dst].valid = false
		return
	}
	d, s := &c.s.p.headers[dst], &c.s.p.headers[src]
	copy(c.f[d.off:d.off+d.words], c.f[s.off:s.off+s.words])
	c.h[dst] = c.h[src]
}

// push moves the elements of a stack n up; those at the front become invalid.
func (c *ctx) push(s *stack, next *int32, n int) {
	size := len(s.headers)
	n = min(n, size)
	*next = int32(min(size, int(*next)+n))
	for i := size - 1; i >= n; i-- {
		c.copyHeader(s.headers[i], s.headers[i-n])
	}
	for i := 0; i < n; i++ {
		c.h[s.headers[i]].valid = false
	}
}

// pop moves the elements of a stack n down; those at the end become invalid.
func (c *ctx) pop(s *stack, next *int32, n int) {
	size := len(s.headers)
	n = min(n, size)
	*next = int32(max(0, int(*next)-n))
	for i := 0; i < size-n; i++ {
		c.copyHeader(s.headers[i], s.headers[i+n])
	}
	for i := size - n; i < size; i++ {
		c.h[s.headers[i]].valid = false
	}
}
