// SPDX-License-Identifier: Apache-2.0

// Command routecheck says what kvsteer would make of a routing expression: its
// canonical form, the configured definition it starts from and the effective
// settings, or the answer that a client would get.
//
//	routecheck [-model ID] CONFIG [EXPRESSION]
//
// CONFIG is a file with the plugin's configuration or with its routing section
// alone; "-" is standard input. Without EXPRESSION it shows what holds for
// requests without the header. The output is one JSON object. The exit code is
// 0 for an accepted expression, 1 for a rejected one, and 2 where the routing
// section or the command line is at fault.
//
// It looks at no other section: they are the plugin's, which this tree does not
// import. `envoy --mode validate -c FILE` loads the module and reports the
// faults of all sections.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy/routing"
)

// The exit codes.
const (
	accepted = 0
	rejected = 1
	faulty   = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the command without its process.
func run(args []string, in io.Reader, out, complaints io.Writer) int {
	flags := flag.NewFlagSet("routecheck", flag.ContinueOnError)
	flags.SetOutput(complaints)
	model := flags.String("model", "", "model `ID` of the request")
	flags.Usage = func() {
		fmt.Fprintln(complaints, "usage: routecheck [-model ID] CONFIG [EXPRESSION]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return faulty
	}
	if n := flags.NArg(); n < 1 || n > 2 {
		flags.Usage()
		return faulty
	}
	text, err := read(flags.Arg(0), in)
	if err != nil {
		fmt.Fprintln(complaints, "routecheck:", err)
		return faulty
	}
	report, code := check(text, *model, flags.Args()[1:])
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		fmt.Fprintln(complaints, "routecheck:", err)
		return faulty
	}
	return code
}

func read(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// report is the output. Which fields are there depends on the exit code.
type report struct {
	Canonical  string          `json:"canonical,omitempty"`
	Algorithm  string          `json:"algorithm,omitempty"`
	Definition string          `json:"definition,omitempty"`
	Base       string          `json:"base,omitempty"`
	Effective  json.RawMessage `json:"effective,omitempty"`
	Requires   []string        `json:"requires,omitempty"`

	Status int             `json:"status,omitempty"`
	Error  string          `json:"x-routing-error,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Offset *int            `json:"offset,omitempty"`

	Faults   []fault `json:"faults,omitempty"`
	Warnings []fault `json:"warnings,omitempty"`
}

// fault is one of expr.Faults as JSON.
type fault struct {
	Pointer string `json:"pointer"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
}

func faults(in expr.Faults) (out []fault) {
	for _, f := range in {
		out = append(out, fault(f))
	}
	return out
}

// check answers for one expression, or for none.
func check(text []byte, model string, lines []string) (report, int) {
	catalog, err := routing.Catalog()
	if err != nil {
		return report{Faults: []fault{{Reason: expr.InternalError.String(), Detail: err.Error()}}}, faulty
	}
	document, pointer := section(text)
	if document == "" {
		return report{Faults: []fault{{"/routing", "missing", "the configuration has no routing section: expressions are off"}}}, faulty
	}
	config, err := catalog.ParseConfig(document, pointer)
	if err != nil {
		var all expr.Faults
		errors.As(err, &all)
		return report{Faults: faults(all)}, faulty
	}
	r := report{Warnings: faults(config.Warnings())}
	got, rejection := config.Resolve(model, lines...)
	if rejection != nil {
		r.reject(rejection)
		return r, rejected
	}
	r.accept(got)
	return r, accepted
}

// section returns the routing section of a plugin's configuration, "" if it has
// none, or the whole text where that is no plugin's configuration: a routing
// section has no field named routing or pools.
func section(text []byte) (document, pointer string) {
	var whole struct {
		Routing json.RawMessage `json:"routing"`
		Pools   json.RawMessage `json:"pools"`
	}
	switch err := json.Unmarshal(text, &whole); {
	case err == nil && whole.Routing != nil:
		return string(whole.Routing), "/routing"
	case err == nil && whole.Pools != nil:
		return "", ""
	}
	return string(text), ""
}

func (r *report) accept(got *expr.Resolution) {
	r.Canonical, r.Algorithm, r.Base = got.Canonical, got.Settings.Algorithm(), got.Base
	r.Definition = "static"
	if got.Dynamic {
		r.Definition = "dynamic"
	}
	r.Effective = got.Settings.AppendJSON(nil)
	demands := got.Settings.Demands()
	for have := expr.Demand(0); ; {
		missing := demands.Missing(have)
		if missing == nil {
			return
		}
		r.Requires = append(r.Requires, missing.Header)
		switch missing.Header {
		case expr.HeaderAffinityKey:
			have |= expr.AffinityKey
		case expr.HeaderInputTokens:
			have |= expr.InputTokens
		}
	}
}

func (r *report) reject(rejection *expr.Rejection) {
	r.Status, r.Error = rejection.Code.Status(), rejection.Code.String()
	r.Body = rejection.AppendBody(nil)
	if rejection.Offset >= 0 {
		r.Offset = &rejection.Offset
	}
}
