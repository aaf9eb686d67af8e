// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// age is how long an endpoint's cache keeps a block.
type age struct {
	seconds float64
	youth   float64 // smallest age of the pool / this one, in (0, 1]: how young the blocks are that a token pushes out
}

const (
	minAge      = time.Millisecond // below it ages are noise
	maxAge      = table.AgeWhenEmpty
	ageInterval = 50 * time.Millisecond
)

// refreshAges brings the ages of the pool's endpoints up to date. They change
// in seconds, so picks within one tick share them. Cost: O(endpoints) once in
// ageInterval.
func (p *Pool) refreshAges(now time.Duration) {
	if p.agesKnown && now-p.agesAt < ageInterval && now >= p.agesAt {
		return
	}
	p.agesAt, p.agesKnown = now, true
	least, ages, youths := maxAge.Seconds(), 0.0, 0.0
	for at, e := range p.view.Endpoints() {
		age := maxAge
		if e.Index != load.None {
			age = max(p.table.Age(e.Index, now), minAge)
		}
		p.ages[at].seconds = age.Seconds()
		least = min(least, p.ages[at].seconds)
		ages += p.ages[at].seconds
	}
	for at := range p.ages {
		p.ages[at].youth = least / p.ages[at].seconds
		youths += p.ages[at].youth
	}
	n := float64(max(len(p.ages), 1))
	p.meanAge, p.meanYouth = ages/n, youths/n
}
