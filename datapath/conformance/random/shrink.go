package random

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Shrink returns a script, as small as it finds, for which fails is still true,
// as it is for s. It takes away steps, then parts of changes, until nothing more
// can go.
func Shrink(s Script, fails func(s Script) bool) Script {
	for {
		before := size(s)
		s = shrinkSteps(s, fails)
		s = shrinkChanges(s, fails)
		if size(s) == before {
			return s
		}
	}
}

func size(s Script) (n int) {
	for _, step := range s {
		n += 1 + len(step.Frame) + proto.Size(step.Change)
	}
	return n
}

// shrinkSteps takes away runs of steps, first long ones.
func shrinkSteps(s Script, fails func(s Script) bool) Script {
	for run := max(len(s)/2, 1); run > 0; run /= 2 {
		for at := len(s) - run; at >= 0; at -= run {
			if at+run > len(s) {
				continue
			}
			if less := slices.Delete(slices.Clone(s), at, at+run); fails(less) {
				s = less
			}
		}
	}
	return s
}

// shrinkChanges takes away what it can of each change, the same thing of all of
// them first: what a session is, is mostly said again by each change of it.
func shrinkChanges(s Script, fails func(s Script) bool) Script {
	for i := range s {
		if s[i].Change == nil {
			continue
		}
		for n := 0; ; {
			less, ok := without(s[i].Change, n)
			if !ok {
				break
			}
			shrunk := slices.Clone(s)
			shrunk[i].Change = less
			if fails(shrunk) {
				s = shrunk // what is n now was n+1
			} else {
				n++
			}
		}
	}
	return s
}

// without returns c without its nth part: a field of a message, or an element of
// a list.
func without(c *api.Change, n int) (*api.Change, bool) {
	c = proto.CloneOf(c)
	return c, cut(c.ProtoReflect(), &n)
}

// cut takes away the nth part of m, counted down in n, if it has so many.
func cut(m protoreflect.Message, n *int) bool {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		if f.IsList() {
			if cutList(m, f, n) {
				return true
			}
			continue
		}
		if *n == 0 {
			m.Clear(f)
			return true
		}
		*n--
		if f.Message() != nil && cut(m.Get(f).Message(), n) {
			return true
		}
	}
	return false
}

func cutList(m protoreflect.Message, f protoreflect.FieldDescriptor, n *int) bool {
	list := m.Mutable(f).List()
	for i := range list.Len() {
		if *n == 0 {
			for ; i+1 < list.Len(); i++ {
				list.Set(i, list.Get(i+1))
			}
			list.Truncate(list.Len() - 1)
			return true
		}
		*n--
		if f.Message() != nil && cut(list.Get(i).Message(), n) {
			return true
		}
	}
	return false
}
