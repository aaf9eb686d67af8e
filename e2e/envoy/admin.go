// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Admin is an Envoy's admin port.
type Admin struct {
	Address string // ip:port
}

// Get returns a page; a status other than 200 is an error.
func (a Admin) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Address+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("envoy: %s: %s: %.200s", path, resp.Status, page)
	}
	return page, nil
}

// Stats returns the counters and gauges whose names contain part (a regular
// expression, as Envoy reads it), by name.
func (a Admin) Stats(ctx context.Context, part string) (map[string]int64, error) {
	page, err := a.Get(ctx, "/stats?format=json&filter="+url.QueryEscape(part))
	if err != nil {
		return nil, err
	}
	var out struct {
		Stats []struct {
			Name  string
			Value json.RawMessage // a text for some; histograms stand in an element without name
		}
	}
	if err := json.Unmarshal(page, &out); err != nil {
		return nil, fmt.Errorf("envoy: /stats: %w", err)
	}
	stats := make(map[string]int64, len(out.Stats))
	for _, s := range out.Stats {
		if value, err := strconv.ParseInt(string(s.Value), 10, 64); err == nil {
			stats[s.Name] = value
		}
	}
	return stats, nil
}

// listener returns the address of the first listener, once it has one.
func (a Admin) listener(ctx context.Context) (string, error) {
	page, err := a.Get(ctx, "/listeners")
	if err != nil {
		return "", err
	}
	// One line each: name::address.
	line, _, _ := strings.Cut(string(page), "\n")
	_, address, ok := strings.Cut(line, "::")
	if !ok || strings.HasSuffix(address, ":0") {
		return "", errors.New("envoy: the listener has no address yet")
	}
	return address, nil
}
