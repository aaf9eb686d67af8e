// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

func TestObserveLearnsBytesPerToken(t *testing.T) {
	p := newTestPool(t, Settings{}, DefaultPrefixAware(), specs(2))
	r := handPrompt(1)
	d := p.Pick(nil, r)
	for range 300 {
		p.Observe(d.First(), &d, r, Usage{PromptTokens: 2857}) // 3.5 bytes each
	}
	if got := p.ratio.Value(); math.Abs(got-3.5) > 0.2 {
		t.Errorf("ratio %.2f after answers of 3.5 bytes per token", got)
	}
}

// TestCorrectCountsWhatIsNotHeld: of a prompt that was sent unseen, only what
// its endpoint does not hold is claimed.
func TestCorrectCountsWhatIsNotHeld(t *testing.T) {
	p := newTestPool(t, Settings{BytesPerToken: 4}, LeastLoad{}, specs(2))
	r := handPrompt(1)
	for i, want := range []int64{int64(r.Length) / 4, int64(r.Length-int(r.Ends[len(r.Ends)-1])-r.TagBytes) / 4} {
		var f load.Flight
		unseen := &Request{Now: r.Now}
		d := p.Pick(nil, unseen)
		p.Start(&f, d.First(), &d, unseen, true)
		p.Correct(&f, r)
		if got := d.First().Queued(); got != want {
			t.Errorf("prompt %d: %d tokens claimed, want %d", i, got, want)
		}
		p.Learn(d.First(), r, 0)
		f.End()
	}
}

func TestConfiguredBytesPerTokenStay(t *testing.T) {
	p := newTestPool(t, Settings{BytesPerToken: 3}, DefaultPrefixAware(), specs(2))
	r := handPrompt(1)
	d := p.Pick(nil, r)
	p.Observe(d.First(), &d, r, Usage{PromptTokens: 1000})
	if p.ratio.Value() != 3 {
		t.Errorf("ratio %v, configured 3", p.ratio.Value())
	}
}

// TestPriorFollowsAnswers: answers that had nothing cached teach one gateway
// that its table knows all; several keep what they agree by.
func TestPriorFollowsAnswers(t *testing.T) {
	for _, test := range []struct {
		gateways int
		cached   int
		want     float64
	}{
		{1, 0, 0},
		{1, 2250, priorMost},
		{4, 0, priorLeastSeveral},
		{4, 2250, priorMost},
	} {
		p := newTestPool(t, Settings{Gateways: test.gateways, BytesPerToken: 4}, DefaultPrefixAware(), specs(3))
		r := handPrompt(1)
		r.Prev = 9000
		d := p.Pick(nil, r)
		if d.Prior != 9000 {
			t.Fatalf("prior %d of the first choice, want 9000", d.Prior)
		}
		for range 400 {
			p.Observe(d.First(), &d, r, Usage{PromptTokens: 2500, CachedTokens: test.cached, CachedKnown: true})
		}
		if math.Abs(p.prior.value-test.want) > 0.01 {
			t.Errorf("%d gateways, %d tokens cached: φ = %.3f, want %.2f", test.gateways, test.cached, p.prior.value, test.want)
		}
	}
}

// TestPriorRecovers: what was learnt down to nothing is learnt up again.
func TestPriorRecovers(t *testing.T) {
	p := newTestPool(t, Settings{BytesPerToken: 4}, DefaultPrefixAware(), specs(3))
	r := handPrompt(1)
	r.Prev = 9000
	for _, cached := range []int{0, 2250} {
		for range 2000 {
			d := p.Pick(nil, r)
			p.Observe(d.First(), &d, r, Usage{PromptTokens: 2500, CachedTokens: cached, CachedKnown: true})
		}
	}
	if p.prior.value < 0.9 {
		t.Errorf("φ = %.3f after 2,000 answers with all of prev cached", p.prior.value)
	}
}

// TestObserveKeepsWhatWasComputedAnew: an engine that had only 3,000 of 8,000
// bytes has computed the others for this very answer.
func TestObserveKeepsWhatWasComputedAnew(t *testing.T) {
	p := handPool(t, 1, 2, DefaultPrefixAware())
	r := handPrompt(1)
	e := p.View().Endpoints()[0]
	holds(p, e, r, 8)
	d := p.Pick(nil, r)
	p.Observe(e, &d, r, Usage{PromptTokens: 2500, CachedTokens: 750, CachedKnown: true})
	if got := p.matchOf(e, r); got != 8000 {
		t.Errorf("match %d, want 8000", got)
	}
}

// TestLearnOfTheUnlisted: answers of endpoints that have left come late.
func TestLearnOfTheUnlisted(t *testing.T) {
	list := specs(3)
	p := newTestPool(t, Settings{}, DefaultPrefixAware(), list)
	r := handPrompt(1)
	d := p.Pick(nil, r)
	e := d.First()
	var f load.Flight
	p.Start(&f, e, &d, r, true)
	p.SetEndpoints(nil)
	p.Learn(e, r, 100)
	p.Observe(e, &d, r, Usage{PromptTokens: 2500, CachedTokens: 0, CachedKnown: true})
	f.First(time.Minute)
	f.End()
	p.SetEndpoints(list)
	if got := p.Pick(nil, r).Match; got != 0 {
		t.Errorf("match %d of an endpoint that has joined again, want 0", got)
	}
}

// TestStartCountsTheServingEndpoint: after a retry the second endpoint has the
// work, with what it has to compute itself.
func TestStartCountsTheServingEndpoint(t *testing.T) {
	p := handPool(t, 1, 3, DefaultPrefixAware())
	r := handPrompt(1)
	warm := p.View().Endpoints()[2]
	holds(p, warm, r, 8)
	d := p.Pick(nil, r)
	var f load.Flight
	p.Start(&f, d.First(), &d, r, true)
	if got := warm.Queued(); got != 500 {
		t.Errorf("%d tokens queued at the first choice, want 500", got)
	}
	p.Start(&f, d.Endpoints[1], &d, r, true)
	if warm.Queued() != 0 || d.Endpoints[1].Queued() != 2500 {
		t.Errorf("after a retry %d and %d tokens queued, want 0 and 2500", warm.Queued(), d.Endpoints[1].Queued())
	}
	f.End()
}
