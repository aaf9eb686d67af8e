// SPDX-License-Identifier: Apache-2.0

// Package orca reads the load reports that engines attach to their responses: ORCA
// (xds.data.orca.v3.OrcaLoadReport) in the header endpoint-load-metrics.
//
//	endpoint-load-metrics: TEXT named_metrics.kv_cache_usage_perc=0.42, named_metrics.num_requests_waiting=5
//	endpoint-load-metrics: JSON {"named_metrics": {"kv_cache_usage_perc": 0.42}}
//	endpoint-load-metrics: BIN <base64 of the protocol buffer>
//
// Also read are the older names endpoint-load-metrics-json and endpoint-load-metrics-bin, whose
// values have no prefix, the prefixes in lower case, and values without a prefix (a vLLM front end
// sends them) where they begin with a brace or with a name and a value.
//
// Servers differ, so this package takes more than Envoy's parser does:
//
//   - TEXT values are "name:value" (Envoy, gRPC) or "name=value" (vLLM, Triton).
//   - Several header lines, or lines folded into one, add up to one report. The binary header
//     excludes the others; two of it are an error, as gRPC has it.
//   - vLLM with data parallelism names a metric once for each engine: the counts of the engines
//     add up, of their ratios the mean is taken. Any other name given twice is an error.
//   - Unknown members of JSON and unknown fields of the protocol buffer are passed over, for
//     reports of later versions. Unknown TEXT names are an error, as for Envoy.
//   - A ratio over 1 is kept among Named, but is no KVUse: nobody says whether it is a percentage.
//
// A report without metrics is no error and says nothing: it must not be read as "no load". Any
// error empties the report. A report is for one response of one engine process: engines with data
// parallelism and JSON show only their last engine.
//
// Costs are linear in the header's length (at most MaxValue bytes) and nothing is allocated.
package orca
