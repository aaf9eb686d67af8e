// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	sinkCount   = 4
	connections = 8
	bodyCount   = 64 // different conversations
)

// startSinks starts servers that read a request and answer at once. They live
// as long as the process.
func startSinks() (addresses []string, err error) {
	for range sinkCount {
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		go http.Serve(socket, http.HandlerFunc(answer)) // ends with the process
		addresses = append(addresses, socket.Addr().String())
	}
	return addresses, nil
}

// answer reads a request and answers at once.
func answer(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // a lost client shows to the sender
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."}}]}`) // as above
}

// makeBodies makes chats of about so many bytes: a system prompt that all have
// in common, then turns of their own.
func makeBodies(size int) [][]byte {
	random := rand.New(rand.NewPCG(7, 0))
	system := text(random, min(size/4, 8<<10))
	var bodies [][]byte
	for range bodyCount {
		type message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		list := []message{{"system", system}}
		for total := len(system); total < size; {
			n := min(2000, max(200, size-total))
			list = append(list, message{"user", text(random, n)}, message{"assistant", "Yes, that is so."})
			total += n + n/20 + 100 // escapes and frame
		}
		list = append(list, message{"user", "And then?"})
		body, err := json.Marshal(map[string]any{"model": "m", "messages": list, "max_tokens": 1})
		if err != nil {
			panic(err) // strings always encode
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// text makes n bytes of words in lines, as prose and code have them: about one
// byte of twenty needs an escape.
func text(random *rand.Rand, n int) string {
	words := strings.Fields(`the of if return value server name "quoted" path list for each request token cache index`)
	var b strings.Builder
	for line := 0; b.Len() < n; {
		word := words[random.IntN(len(words))]
		b.WriteString(word)
		if line += len(word) + 1; line > 60 {
			b.WriteByte('\n')
			line = 0
			continue
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// send sends so many requests over a few connections that stay open.
func send(ctx context.Context, address string, bodies [][]byte, requests int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for n := next.Add(1); n <= int64(requests) && ctx.Err() == nil; n = next.Add(1) {
				if err := post(ctx, client, address, bodies[n%int64(len(bodies))]); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func post(ctx context.Context, client *http.Client, address string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}
