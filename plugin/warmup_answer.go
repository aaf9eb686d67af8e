// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
)

// warmUpAnswer goes through what an answer corrects and what VMs tell each
// other.
func (f *filter) warmUpAnswer(p *policy.Pool, e *load.Endpoint, q *policy.Request) {
	kept := f.chains.keep(q)
	q = f.chains.recall(&kept, q.Now)
	contentReason([]byte("application/json"))
	u := &usageReader{}
	if usage, ok := u.add([]byte(`{"id":"a","usage":{"prompt_tokens":200,"prompt_tokens_details":{"cached_tokens":64}}}`), true); ok {
		p.Observe(e, &policy.Decision{}, q, usage)
	}
	p.Keep(e, answerKey(answerID([]byte(`{"id":"a"}`))), q.Now)

	known := p.Known(e, q)
	p.Since(e, q, 0)
	p.Window(e, q.Now)
	var list []news
	for b := range q.Placements(0, len(q.Hashes)) {
		list = append(list, news{hash: b.Hash, tag: b.Tag, size: b.Size, endpoint: 1})
	}
	p.Withdraw(e, q, known-1)
	var names nameList
	if b, ok := parseBatch((&batch{}).append(nil, list, &names)); ok {
		for _, r := range b.records {
			p.Adopt(e, r.Placement, q.Now)
			p.Drop(e, r.Placement)
		}
	}
	if h, ok := parseHead(appendSum((&head{}).append(nil), 1, load.Share{Queued: 1})); ok {
		for _, s := range h.sums {
			e.SetOthers(s)
		}
	}
}
