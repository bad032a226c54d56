package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels/web/page"
)

func TestThePageIsServedWithItsFiles(t *testing.T) {
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

// TestThePageIsSmall counts what a browser loads: the files are served compressed, so comments and
// long names cost little.
func TestThePageIsSmall(t *testing.T) {
	r := newFixture(t)
	size, lines := 0, 0
	names, err := fs.Glob(page.Files, "*")
	if err != nil || len(names) < 10 {
		t.Fatalf("the files are %q, %v", names, err)
	}
	for _, name := range names {
		plain, err := page.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "gzip, br")
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		unpacked, gzipErr := gzip.NewReader(bytes.NewReader(packed))
		if err != nil || gzipErr != nil || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v, %v, %v", name, err, gzipErr, resp.Header)
		}
		if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s is served as %q, %v", name, got, err)
		}
		size += len(packed)
		lines += bytes.Count(plain, []byte("\n"))
	}
	t.Logf("%d bytes, %d lines", size, lines)
	if size > 28_000 || lines >= 1600 {
		t.Errorf("the page has %d bytes and %d lines, want at most 28,000 and less than 1,600", size, lines)
	}
}

func TestTheBrowserRevalidatesThePage(t *testing.T) {
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
