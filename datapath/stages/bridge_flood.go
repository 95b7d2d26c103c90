package stages

// floods bounds the copies of frames to groups: half of them are of what comes from
// data networks, half of what comes from UEs. Each data network that sends such
// frames has an equal share of the one half, each session of the other, so that none
// takes that of another.
type floods struct {
	outside, ofUEs flooders
}

func newFloods() floods {
	return floods{outside: newFlooders(copiesPerSecond / 2), ofUEs: newFlooders(copiesPerSecond / 2)}
}

// flooders share copies.
type flooders struct {
	perSecond uint64
	tat       map[uint64]uint64 // ns: when the next copy of each is due
	all       uint64            // ns: that of all of them
	swept     uint64            // ns: when those were last looked for that have fallen silent
}

func newFlooders(perSecond uint64) flooders {
	return flooders{perSecond: perSecond, tat: map[uint64]uint64{}}
}

// allow takes the copies of one frame, all or none of them. How fast those of one may
// come depends on how many others have sent such frames within a second or two. So a
// new one finds room, whatever others have done, unless a great many are new at once:
// all together never have more than twice their rate.
func (f *flooders) allow(from uint64, copies int, nowNs uint64) bool {
	const second = 1_000_000_000
	if nowNs-f.swept >= second {
		f.swept = nowNs
		for who, tat := range f.tat {
			if int64(nowNs-tat) >= second {
				delete(f.tat, who)
			}
		}
	}
	start, all := max(f.tat[from], nowNs), max(f.all, nowNs)
	if start > nowNs+second || all > nowNs+second {
		return false
	}
	f.all = all + uint64(copies)*second/(2*f.perSecond)
	f.tat[from] = start
	f.tat[from] += uint64(copies) * uint64(len(f.tat)) * second / f.perSecond
	return true
}
