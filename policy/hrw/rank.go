// SPDX-License-Identifier: Apache-2.0

package hrw

// rankWindow is how many ranks one pass over the nodes finds: the places of a
// pass live on the stack (24 bytes each). Retry lists have 3 entries.
const rankWindow = 32

// Rank appends to dst the indices of the k nodes with the highest scores, best
// first, fewer where there are fewer to name. Ties are decided as by [First],
// so the first of them is First's.
//
// Cost: one mix per node for every 32 ranks, and about k·(1 + ln(n/k))
// logarithms for n nodes.
func Rank(dst []int32, key uint64, nodes []Node, k int) []int32 {
	var w window
	for k > 0 {
		w.start(min(k, rankWindow))
		w.pass(key, nodes)
		for i := range w.n {
			dst = append(dst, w.places[i].index)
		}
		if w.n < rankWindow {
			break
		}
		k -= w.n
	}
	return dst
}

// place is one node's place in the order.
type place struct {
	score float64
	mix   uint64
	index int32
}

// before reports that p ranks above q. It is a total order of places.
func (p *place) before(q *place) bool {
	if p.score != q.score {
		return p.score > q.score
	}
	if p.mix != q.mix {
		return p.mix > q.mix
	}
	return p.index < q.index
}

// window holds the best places of one pass, best first.
type window struct {
	places  [rankWindow]place
	n, size int
	reach   float64 // [reach] of the last place's score once the window is full, 0 before
	after   place   // the last place of the pass before; later passes find only what ranks below it
	follows bool
}

func (w *window) start(size int) {
	if w.n > 0 {
		w.after, w.follows = w.places[w.n-1], true
	}
	w.n, w.size, w.reach = 0, size, 0
}

func (w *window) pass(key uint64, nodes []Node) {
	for i := range nodes {
		if m := mix(key, nodes[i].Seed); !hopeless(m, nodes[i].Weight, w.reach) {
			w.meet(i, m, nodes[i].Weight)
		}
	}
}

// meet inserts a node at its place if it has one in the window.
func (w *window) meet(i int, m uint64, weight float64) {
	if !(weight > 0) {
		return
	}
	p := place{score: score(m, weight), mix: m, index: int32(i)}
	if w.follows && !w.after.before(&p) {
		return
	}
	if w.n == w.size {
		if !p.before(&w.places[w.n-1]) {
			return
		}
		w.n--
	}
	at := w.n
	for ; at > 0 && p.before(&w.places[at-1]); at-- {
		w.places[at] = w.places[at-1]
	}
	w.places[at] = p
	w.n++
	if w.n == w.size {
		w.reach = reach(w.places[w.n-1].score)
	}
}
