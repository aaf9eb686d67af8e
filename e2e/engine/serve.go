// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A listener is an HTTP server that can be closed and opened again at the
// same address.
type listener struct {
	address string // set by the first open

	mu     sync.Mutex
	server *http.Server
}

func (l *listener) open(address string, h http.Handler) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		return nil
	}
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if l.address == "" {
		l.address = socket.Addr().String()
	}
	l.server = &http.Server{Handler: h} // a simulator for tests: slow clients are welcome
	go l.server.Serve(socket)           // ends with close
	return nil
}

func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		l.server.Close()
		l.server = nil
	}
}

// Received is a request as the engine got it.
type Received struct {
	Method  string      `json:"method"`
	Path    string      `json:"path"` // with the query
	Header  http.Header `json:"header"`
	Host    string      `json:"host"`
	Body    []byte      `json:"body"`
	Chunked bool        `json:"chunked"`
}

// Received returns the last requests (Config.Keep bounds their number), oldest
// first. Requests are kept once their body is complete, whatever the answer.
func (e *Engine) Received() []Received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Received(nil), e.received...)
}

// Forget drops the kept requests.
func (e *Engine) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.received = nil
}

func (e *Engine) keep(r *http.Request, body []byte) {
	if e.config.Keep == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.received = append(e.received, Received{
		Method: r.Method, Path: r.RequestURI, Header: r.Header.Clone(), Host: r.Host, Body: body,
		Chunked: len(r.TransferEncoding) > 0,
	})
	if extra := len(e.received) - e.config.Keep; extra > 0 {
		e.received = e.received[extra:]
	}
}

// handler serves everything on the engine's port. Its own pages (metrics,
// health) are neither kept nor touched by faults.
func (e *Engine) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", e.serveMetrics)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", e.serve)
	return mux
}

func (e *Engine) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-engine", e.Name())
	maps.Copy(w.Header(), e.scripted().Header)
	if r.Header.Get("Upgrade") != "" {
		e.keep(r, nil)
		echo(w, r)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.keep(r, raw)
	if e.misbehave(w, r) {
		return
	}
	a := apiOf(r.URL.Path)
	if a == nil || r.Method != http.MethodPost {
		fail(w, http.StatusNotFound, "no such API")
		return
	}
	j, err := readJob(a, raw, e.config.DefaultTokens)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.answer(w, r, a, j)
}

// answer runs a job. Errors mean that the client has gone, so nothing is told.
func (e *Engine) answer(w http.ResponseWriter, r *http.Request, a *api, j *job) {
	reply := newReply(w, a, j)
	if j.stream {
		reply.open() // engines send the headers of a stream before prefill ends
	}
	cached, err := e.prefill(r.Context(), j)
	if err != nil {
		return
	}
	defer e.leave()
	reply.prefilled(j.tokens(), cached)
	if !a.silent {
		if e.decode(r.Context(), j, reply.piece) != nil {
			return
		}
	}
	reply.finish()
}

// A reply writes one answer, whole or as a stream.
type reply struct {
	w       http.ResponseWriter
	api     *api
	stream  bool
	answer  answer
	decoded time.Time // when the first token came
}

func newReply(w http.ResponseWriter, a *api, j *job) *reply {
	now := time.Now()
	return &reply{w: w, api: a, stream: j.stream, answer: answer{
		id: "sim-" + strconv.FormatInt(now.UnixNano(), 36), model: j.model, created: now.Unix(), usage: j.usage,
	}}
}

func (r *reply) open() {
	kind := "text/event-stream"
	if r.api.lines {
		kind = "application/x-ndjson"
	}
	r.w.Header().Set("Content-Type", kind)
	r.w.WriteHeader(http.StatusOK)
	http.NewResponseController(r.w).Flush() // a lost client shows at the next write
}

func (r *reply) prefilled(prompt, cached int) {
	r.decoded = time.Now()
	r.answer.prompt, r.answer.cached = prompt, cached
}

func (r *reply) piece(text string) error {
	r.answer.text += text
	r.answer.output = len(r.answer.text) / tokenBytes
	if !r.stream {
		return nil
	}
	if err := r.event(r.api.delta(&r.answer, text)); err != nil {
		return err
	}
	return http.NewResponseController(r.w).Flush()
}

// finish ends the answer. A whole one carries x-decode-seconds, the real time
// between its first token and its last, so that a client can tell when the
// first token was there.
func (r *reply) finish() {
	if !r.stream {
		r.w.Header().Set("Content-Type", "application/json")
		r.w.Header().Set("x-decode-seconds", strconv.FormatFloat(time.Since(r.decoded).Seconds(), 'f', 6, 64))
		json.NewEncoder(r.w).Encode(r.api.whole(&r.answer)) // a lost client
		return
	}
	for _, v := range r.api.last(&r.answer) {
		if r.event(v) != nil {
			return
		}
	}
}

// event writes one event of a stream; a string stands as it is.
func (r *reply) event(v any) error {
	data, isText := v.(string)
	if !isText {
		encoded, err := json.Marshal(v)
		if err != nil {
			return err
		}
		data = string(encoded)
	}
	form := "data: %s\n\n"
	if r.api.lines {
		form = "%s\n"
	}
	_, err := fmt.Fprintf(r.w, form, data)
	return err
}

// fail answers in the form of OpenAI's errors.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(object{"error": object{"message": message, "code": status}}) // a lost client
}

// echo accepts any upgrade and sends back what it gets.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nx-engine: %s\r\n\r\n",
		r.Header.Get("Upgrade"), w.Header().Get("x-engine"))
	io.Copy(conn, buffered) // ends when either side goes
}
