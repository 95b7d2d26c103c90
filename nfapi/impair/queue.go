package impair

import "time"

// item is a datagram that waits.
type item struct {
	at, due   time.Duration // when it goes; when it would have gone if it were not held
	order     uint64        // among those of one time
	place     int           // in the heap
	direction Direction
	count     *Count
	octets    []byte
}

// queue is a heap of items, the next one first. Items are used again.
type queue struct {
	list  []*item
	order uint64
	done  []*item // given out
	free  []*item
}

// maxFree is how many items are kept for later.
const maxFree = 256

// item makes one that has a copy of a datagram.
func (q *queue) item(d Direction, datagram []byte) *item {
	var i *item
	if n := len(q.free); n > 0 {
		i, q.free = q.free[n-1], q.free[:n-1]
	} else {
		i = &item{}
	}
	*i = item{direction: d, octets: append(i.octets[:0], datagram...)}
	return i
}

// release has the items that were given out used again.
func (q *queue) release() {
	for _, i := range q.done {
		if len(q.free) < maxFree {
			q.free = append(q.free, i)
		}
	}
	q.done = q.done[:0]
}

func (q *queue) less(a, b int) bool {
	x, y := q.list[a], q.list[b]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (q *queue) swap(a, b int) {
	q.list[a], q.list[b] = q.list[b], q.list[a]
	q.list[a].place, q.list[b].place = a, b
}

func (q *queue) push(i *item) {
	q.order++
	i.order, i.place = q.order, len(q.list)
	q.list = append(q.list, i)
	q.up(i.place)
}

// move gives an item another time, behind all that have it already.
func (q *queue) move(i *item, at time.Duration) {
	q.order++
	i.at, i.order = at, q.order
	q.up(i.place)
	q.down(i.place)
}

func (q *queue) pop() *item {
	i := q.list[0]
	last := len(q.list) - 1
	q.swap(0, last)
	q.list = q.list[:last]
	q.down(0)
	return i
}

func (q *queue) up(n int) {
	for n > 0 && q.less(n, (n-1)/2) {
		q.swap(n, (n-1)/2)
		n = (n - 1) / 2
	}
}

func (q *queue) down(n int) {
	for {
		least := n
		for child := 2*n + 1; child <= 2*n+2 && child < len(q.list); child++ {
			if q.less(child, least) {
				least = child
			}
		}
		if least == n {
			return
		}
		q.swap(n, least)
		n = least
	}
}
