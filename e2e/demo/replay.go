// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An outcome is what became of one request. Times are simulated.
type outcome struct {
	engine     string
	sent       time.Duration // since the replay began
	late       time.Duration // how long after its time it was sent: the machine was busy
	firstToken time.Duration // since it was sent
	err        error
}

// A replayer sends a workload to one address.
type replayer struct {
	workload *workload
	url      string
	client   *http.Client
	begun    time.Time
	done     func() // called after each request

	mu       sync.Mutex
	outcomes []outcome
}

// replay runs all sessions to their end.
func replay(ctx context.Context, w *workload, address string, done func()) []outcome {
	r := &replayer{
		workload: w,
		url:      "http://" + address,
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}},
		begun:    time.Now(),
		done:     done,
	}
	defer r.client.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range w.sessions {
		all.Go(func() { r.session(ctx, &w.sessions[i]) })
	}
	all.Wait()
	return r.outcomes
}

// session runs one client. After a failure it gives up, as a client would.
func (r *replayer) session(ctx context.Context, s *session) {
	r.sleep(ctx, s.start)
	var answers []string
	var body []byte
	for n := range s.turns {
		late := r.sleep(ctx, s.turns[n].think)
		body = s.appendBody(body[:0], n, answers)
		o := outcome{sent: r.simulated(time.Since(r.begun)), late: late}
		answer, err := r.send(ctx, s, body, &o)
		o.err = err
		r.mu.Lock()
		r.outcomes = append(r.outcomes, o)
		r.mu.Unlock()
		r.done()
		if err != nil {
			return
		}
		answers = append(answers, answer)
	}
}

// sleep waits for so long, and returns how much longer it took.
func (r *replayer) sleep(ctx context.Context, simulated time.Duration) (late time.Duration) {
	begun := time.Now()
	select {
	case <-time.After(time.Duration(float64(simulated) / r.workload.scale)):
	case <-ctx.Done():
	}
	return r.simulated(time.Since(begun)) - simulated
}

func (r *replayer) simulated(real time.Duration) time.Duration {
	return time.Duration(float64(real) * r.workload.scale)
}

// send sends one request and reads the answer to its end.
func (r *replayer) send(ctx context.Context, s *session, body []byte, o *outcome) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+s.path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	sent := time.Now()
	resp, err := r.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	o.engine = resp.Header.Get("x-engine")
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return "", fmt.Errorf("%s: %s", resp.Status, text)
	}
	first := func(t time.Time) { o.firstToken = r.simulated(t.Sub(sent)) }
	if s.stream {
		return readStream(resp.Body, first)
	}
	return readWhole(resp, first)
}

// A completion has the text of an answer or a part of one, of either API.
type completion struct {
	Choices []struct {
		Text    string
		Message struct{ Content string }
		Delta   struct{ Content string }
	}
}

func (c *completion) text() string {
	if len(c.Choices) == 0 {
		return ""
	}
	return c.Choices[0].Text + c.Choices[0].Message.Content + c.Choices[0].Delta.Content
}

// readStream reads server-sent events; the first one with text is the first
// token.
func readStream(in io.Reader, first func(time.Time)) (string, error) {
	var answer strings.Builder
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if answer.Len() == 0 {
			first(time.Now())
		}
		if string(data) == "[DONE]" {
			return answer.String(), nil
		}
		var c completion
		if err := json.Unmarshal(data, &c); err != nil {
			return "", err
		}
		answer.WriteString(c.text())
	}
	return "", errors.Join(lines.Err(), errors.New("the stream has no end"))
}

// readWhole reads an answer that comes at once. Its first token was there when
// the engine began to decode, which the engine tells.
func readWhole(resp *http.Response, first func(time.Time)) (string, error) {
	var c completion
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		return "", err
	}
	decode, err := strconv.ParseFloat(resp.Header.Get("x-decode-seconds"), 64)
	if err != nil {
		return "", err
	}
	first(time.Now().Add(-time.Duration(decode * float64(time.Second))))
	return c.text(), nil
}
