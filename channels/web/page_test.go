package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestThePageIsServedWithAllThatItNeeds(t *testing.T) {
	r := newFixture(t)
	status, html, h := r.request("ann", "GET", "/", "", nil)
	if status != 200 || h.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(html, "<html") {
		t.Fatalf("served was %d %v %.100q", status, h, html)
	}
	needs := regexp.MustCompile(`(?:src|href)="([^"#:]+)"`).FindAllStringSubmatch(html, -1)
	if len(needs) < 3 {
		t.Errorf("it needs only %q", needs)
	}
	for _, need := range needs {
		path := "/" + strings.TrimPrefix(need[1], "/")
		status, _, h := r.request("ann", "GET", path, "", nil)
		kind := h.Get("Content-Type")
		want := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}[path[strings.LastIndex(path, ".")+1:]]
		if status != 200 || kind != want {
			t.Errorf("%s is served %d as %s", path, status, kind)
		}
	}
}

func TestABrowserKeepsThePageAndAsksWhetherItChanged(t *testing.T) {
	r := newFixture(t)
	_, _, h := r.request("ann", "GET", "/", "", nil)
	if h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" {
		t.Fatalf("its headers are %v", h)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("If-None-Match", h.Get("ETag"))
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotModified {
		t.Errorf("the same again is answered %s", resp.Status)
	}
}
