// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// start runs an engine that is too fast to wait for.
func start(t *testing.T) *Engine {
	t.Helper()
	e, err := Start(Config{Name: "one", PrefillRate: 1e9, DecodeRate: 1e9, BlockTokens: 4, Keep: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func post(t *testing.T, e *Engine, path, body string) *http.Response {
	t.Helper()
	resp, err := http.Post("http://"+e.Address()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

const hello = `{"model":"m","messages":[{"role":"user","content":"hello, this is longer than a block"}],"max_tokens":3`

func TestWholeAnswerTellsItsUsage(t *testing.T) {
	e := start(t)
	for i, wantCached := range []bool{false, true} {
		resp := post(t, e, "/v1/chat/completions", hello+"}")
		var out struct {
			Choices []struct{ Message struct{ Content string } }
			Usage   struct {
				Prompt  int `json:"prompt_tokens"`
				Output  int `json:"completion_tokens"`
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		if len(out.Choices) != 1 || len(out.Choices[0].Message.Content) != 3*tokenBytes || out.Usage.Output != 3 {
			t.Errorf("request %d: %+v, want 3 tokens of text", i, out)
		}
		if got := out.Usage.Details.Cached > 0; got != wantCached {
			t.Errorf("request %d: %d of %d tokens cached", i, out.Usage.Details.Cached, out.Usage.Prompt)
		}
		if resp.Header.Get("x-engine") != "one" || resp.Header.Get("x-decode-seconds") == "" {
			t.Errorf("request %d: headers %v", i, resp.Header)
		}
	}
}

func TestStreamEndsWithUsageWhereAsked(t *testing.T) {
	e := start(t)
	for options, want := range map[string]string{
		"": "text text text end [DONE]",
		`,"stream_options":{"include_usage":true}`: "text text text end usage [DONE]",
	} {
		resp := post(t, e, "/v1/chat/completions", hello+`,"stream":true`+options+"}")
		var got []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				got = append(got, kindOf(t, data))
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("options %q: events %q, want %q", options, got, want)
		}
	}
}

func kindOf(t *testing.T, data string) string {
	var event struct {
		Choices []struct {
			Delta        struct{ Content string }
			FinishReason *string `json:"finish_reason"`
		}
		Usage *struct{}
	}
	switch err := json.Unmarshal([]byte(data), &event); {
	case data == "[DONE]":
		return data
	case err != nil:
		t.Errorf("event %q: %v", data, err)
		return "?"
	case event.Usage != nil:
		return "usage"
	case event.Choices[0].FinishReason != nil:
		return "end"
	}
	return "text"
}

func TestEveryAPIAnswersBothWays(t *testing.T) {
	e := start(t)
	const body = `{"messages":[{"role":"user","content":"hi"}],"prompt":"hi","input":"hi","inputs":"hi","stream":`
	for path, a := range apis {
		for _, stream := range []string{"true", "false"} {
			if a.silent && stream == "true" {
				continue
			}
			resp := post(t, e, path, body+stream+"}")
			out, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK || len(out) == 0 {
				t.Errorf("%s, stream %s: status %d, %d bytes, %v", path, stream, resp.StatusCode, len(out), err)
			}
			if stream == "false" && !json.Valid(out) {
				t.Errorf("%s: %q is not JSON", path, out)
			}
		}
	}
}

func TestHeadersOfAStreamComeBeforePrefillEnds(t *testing.T) {
	e, err := Start(Config{PrefillRate: 1}) // two tokens and more: seconds
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	resp := post(t, e, "/v1/chat/completions", hello+`,"stream":true}`)
	if s := e.Stats(); resp.StatusCode != http.StatusOK || s.Output != 0 {
		t.Errorf("status %d, %d tokens decoded, want the headers alone", resp.StatusCode, s.Output)
	}
}

func TestRequestsAreKeptWhateverTheAnswer(t *testing.T) {
	e := start(t)
	bodies := []string{hello + "}", "not JSON", "", hello}
	for _, body := range bodies {
		post(t, e, "/v1/chat/completions?x=1", body)
	}
	got := e.Received()
	if len(got) != len(bodies) {
		t.Fatalf("%d requests kept, want %d", len(got), len(bodies))
	}
	for i, body := range bodies {
		if string(got[i].Body) != body || got[i].Path != "/v1/chat/completions?x=1" {
			t.Errorf("request %d: %s with %q, want %q", i, got[i].Path, got[i].Body, body)
		}
	}
}

func TestFaults(t *testing.T) {
	e := start(t)
	url := "http://" + e.Address() + "/v1/chat/completions"
	try := func() (int, error) {
		resp, err := http.Post(url, "application/json", strings.NewReader(hello+"}"))
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	set := func(f Fault) {
		t.Helper()
		if err := e.SetFault(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []FaultKind{Refuse, Reset} {
		set(Fault{Kind: kind})
		if status, err := try(); err == nil {
			t.Errorf("%s: status %d, want an error", kind, status)
		}
	}
	set(Fault{Kind: Status, Status: 503, Times: 1})
	if status, err := try(); status != 503 {
		t.Errorf("status: %d, %v, want 503", status, err)
	}
	if status, err := try(); status != 200 {
		t.Errorf("after the last of Times: %d, %v, want 200", status, err)
	}
	set(Fault{Kind: Hang})
	done, before := make(chan int), len(e.Received())
	go func() { status, _ := try(); done <- status }()
	for len(e.Received()) == before {
		select {
		case status := <-done:
			t.Fatalf("status %d from an engine that hangs", status)
		case <-time.After(time.Millisecond):
		}
	}
	set(Fault{})
	if status := <-done; status != 200 {
		t.Errorf("after a hang that ended: status %d, want 200", status)
	}
	for _, bad := range []Fault{{Kind: "explode"}, {Kind: Status}, {Kind: Slow}} {
		if e.SetFault(bad) == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestRestartEmptiesTheCache(t *testing.T) {
	e := start(t)
	post(t, e, "/v1/chat/completions", hello+"}")
	address := e.Address()
	if err := e.Restart(); err != nil {
		t.Fatal(err)
	}
	post(t, e, "/v1/chat/completions", hello+"}")
	if s := e.Stats(); s.Requests != 1 || s.Cached != 0 || e.Address() != address {
		t.Errorf("after a restart at %s: %+v, want one request without cached tokens at %s", e.Address(), s, address)
	}
}

func TestMetricsPage(t *testing.T) {
	e := start(t)
	post(t, e, "/v1/chat/completions", hello+"}")
	resp, err := http.Get("http://" + e.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nvllm:num_requests_running{engine=\"0\",model_name=\"sim\"} 0\n",
		"\nvllm:generation_tokens_total{engine=\"0\",model_name=\"sim\"} 3\n",
		"block_size=\"4\"", "num_gpu_blocks=\"100000\"", "\nprocess_start_time_seconds 1",
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestControl(t *testing.T) {
	e := start(t)
	control := httptest.NewServer(Control(e))
	t.Cleanup(control.Close)
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, control.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		out, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(out)
	}
	post(t, e, "/v1/chat/completions", hello+"}")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/engines", "", 200, `"name":"one"`},
		{"GET", "/engines/one/requests", "", 200, `"method":"POST"`},
		{"DELETE", "/engines/one/requests", "", 200, ""},
		{"GET", "/engines/one/requests", "", 200, "null"},
		{"PUT", "/engines/one/fault", `{"kind":"status","status":500}`, 200, ""},
		{"PUT", "/engines/one/fault", `{"kind":"explode"}`, 400, "unknown fault"},
		{"POST", "/engines/one/restart", "", 200, ""},
		{"POST", "/engines/two/restart", "", 404, ""},
	} {
		if status, out := do(c.method, c.path, c.body); status != c.status || !strings.Contains(out, c.want) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, status, out, c.status, c.want)
		}
	}
	if resp := post(t, e, "/v1/chat/completions", hello+"}"); resp.StatusCode != 500 {
		t.Errorf("a restart ended the fault: status %d", resp.StatusCode)
	}
}

func TestUpgradeEchoes(t *testing.T) {
	e := start(t)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+e.Address()+"/v1/realtime", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	both, ok := resp.Body.(io.ReadWriter)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("status %d, body %T", resp.StatusCode, resp.Body)
	}
	if _, err := io.WriteString(both, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(both, got); err != nil || string(got) != "ping" {
		t.Errorf("echo = %q, %v", got, err)
	}
}
