// SPDX-License-Identifier: Apache-2.0

package main

// reason says why a request was left to Envoy's own load balancer. The list is
// closed; each has a counter kvsteer_bypass_<name>.
type reason uint8

const (
	none       reason = iota // not a bypass
	notPost                  // a method other than POST
	upgrade                  // upgrade, CONNECT or Expect: holding it could deadlock
	grpc                     // gRPC may wait for response headers first
	encoded                  // a content-encoding: the body is not plain JSON
	notJSON                  // a content-type other than JSON (multipart among them)
	otherPath                // no path end that is known as an inference API
	noBody                   // headers that end the request
	noPool                   // the route's cluster is none of the pools
	noEndpoint               // the pool has no endpoint that may be used
	noReader                 // as many bodies as allowed are being read already
	unrefused                // observe mode: it would have been answered with an error
	noPrompt                 // the body was read and is no prompt; prefix.Reason has the details
	failed                   // a panic of ours
	reasonCount
)

var reasonNames = [reasonCount]string{
	none:       "none",
	notPost:    "method",
	upgrade:    "upgrade",
	grpc:       "grpc",
	encoded:    "content_encoding",
	notJSON:    "content_type",
	otherPath:  "path",
	noBody:     "no_body",
	noPool:     "no_pool",
	noEndpoint: "no_endpoint",
	noReader:   "no_reader",
	unrefused:  "unrefused",
	noPrompt:   "no_prompt",
	failed:     "internal",
}

func (r reason) String() string { return reasonNames[r] }

// noReason is above all reasons, where the lowest of several is looked for.
const noReason = reasonCount
