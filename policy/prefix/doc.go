// SPDX-License-Identifier: Apache-2.0

// Package prefix fingerprints the prompt of an LLM request while its body streams in.
package prefix
