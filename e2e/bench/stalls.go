// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/kvsteer/kvsteer/e2e/envoy"
)

const (
	crowd     = 100 // engines, at 127.0.1.1 and on, with one port
	pageBytes = 60_000
	pause     = 5 * time.Millisecond // between requests
	stretch   = 10 * time.Second     // of requests to one Envoy, then to the other
)

// compareStalls prints how long requests take while the only worker collects:
// the pages of all engines, each second. Beside it stands an Envoy with the
// same engines as a list, whose worker has requests alone.
func compareStalls(ctx context.Context, b *envoy.Binary, root string, rounds int) error {
	var pages atomic.Int64
	port, err := startCrowd(&pages)
	if err != nil {
		return err
	}
	var both [2]*envoy.Instance
	for i, config := range []func(root, port string) (string, error){withList, withCollector} {
		text, err := config(root, port)
		if err != nil {
			return err
		}
		if both[i], err = envoy.Start(ctx, b, text, envoy.Options{Workers: 1}); err != nil {
			return err
		}
		defer both[i].Stop()
	}
	begun := time.Now()
	pages.Store(0)
	var took [2][]time.Duration
	body := makeBodies(2 << 10)[0]
	for round := range rounds + 1 {
		for i, one := range both {
			all, err := timeRequests(ctx, one.Address, body)
			if err != nil {
				return err
			}
			if round > 0 { // the first round warms both up
				took[i] = append(took[i], all...)
			}
		}
	}
	fmt.Printf("%d engines have sent %d pages of %d KB, %.0f a second\n\n", crowd, pages.Load(), pageBytes/1000,
		float64(pages.Load())/time.Since(begun).Seconds())
	return printStalls(took)
}

func printStalls(took [2][]time.Duration) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "a worker that\trequests\tp50\tp99\tp99.9\tlongest\t")
	for i, name := range []string{"has requests alone", "collects too"} {
		slices.Sort(took[i])
		fmt.Fprintf(out, "%s\t%d\t", name, len(took[i]))
		for _, share := range []float64{0.5, 0.99, 0.999, 1} {
			at := int(share * float64(len(took[i])-1))
			fmt.Fprintf(out, "%.1f ms\t", took[i][at].Seconds()*1000)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// startCrowd starts a server that is all engines, counts the pages it sends, and
// lives as long as the process.
func startCrowd(pages *atomic.Int64) (port string, err error) {
	socket, err := net.Listen("tcp", "0.0.0.0:0") // all of 127.0.0.0/8
	if err != nil {
		return "", err
	}
	var page strings.Builder
	for i := 0; page.Len() < pageBytes; i++ {
		fmt.Fprintf(&page, "vllm:request_prompt_tokens_bucket{le=\"%d.0\",engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B\"} %d.0\n", i, 7*i)
	}
	page.WriteString("vllm:num_requests_waiting{engine=\"0\"} 0.0\nvllm:num_requests_running{engine=\"0\"} 1.0\n")
	engine := http.NewServeMux()
	engine.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		pages.Add(1)
		io.WriteString(w, page.String()) // one that is lost is asked for again
	})
	engine.HandleFunc("POST /", answer)
	go http.Serve(socket, engine) // ends with the process
	_, port, err = net.SplitHostPort(socket.Addr().String())
	return port, err
}

const (
	listedHost = "        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 800%d}}}\n"
	crowdHost  = "        - endpoint: {address: {socket_address: {address: 127.0.1.%d, port_value: %s}}}\n"
)

// crowded is the edits that put the engines in place of a file's four hosts.
func crowded(port string) (edits []string) {
	var hosts strings.Builder
	for i := range crowd {
		fmt.Fprintf(&hosts, crowdHost, i+1, port)
	}
	edits = append(edits, fmt.Sprintf(listedHost, 1), hosts.String())
	for i := 2; i <= 4; i++ {
		edits = append(edits, fmt.Sprintf(listedHost, i), "")
	}
	return edits
}

func withList(root, port string) (string, error) {
	var list []string
	for i := range crowd {
		list = append(list, fmt.Sprintf(`"127.0.1.%d:%s"`, i+1, port))
	}
	return envoy.Example(root, "envoy/static.yaml", append(crowded(port),
		`"127.0.0.1:8001", "127.0.0.1:8002", "127.0.0.1:8003", "127.0.0.1:8004"`, strings.Join(list, ", "))...)
}

// withCollector leaves the bootstrap extension out, so that the worker collects.
func withCollector(root, port string) (string, error) {
	config, err := envoy.Example(root, "envoy/envoy.yaml", crowded(port)...)
	before, rest, _ := strings.Cut(config, "bootstrap_extensions:")
	_, after, found := strings.Cut(rest, "\nstats_config:")
	if err == nil && !found {
		err = fmt.Errorf("envoy/envoy.yaml has no bootstrap extension to leave out")
	}
	return before + "stats_config:" + after, err
}

// timeRequests sends a request every few milliseconds, whether those before are
// answered or not, and returns how long each took.
func timeRequests(ctx context.Context, address string, body []byte) ([]time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	took := make([]time.Duration, stretch/pause)
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	var all sync.WaitGroup
	for i := range took {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			all.Wait()
			return nil, context.Cause(ctx)
		}
		all.Go(func() {
			begun := time.Now()
			if err := post(ctx, client, address, body); err != nil {
				cancel(err)
			}
			took[i] = time.Since(begun)
		})
	}
	all.Wait()
	return took, context.Cause(ctx)
}
