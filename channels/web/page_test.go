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
	"nanobot/internal/musttest"
	"nanobot/internal/words"
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
		want := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "png": "image/png", "webmanifest": "application/manifest+json"}[path[strings.LastIndex(path, ".")+1:]]
		if status != 200 || kind != want {
			t.Errorf("%s is served %d as %s", path, status, kind)
		}
	}
}

// TestThePageIsSmall counts what a browser loads: the files are served compressed, so comments and
// long names cost little.
func TestThePageIsSmall(t *testing.T) {
	r := newFixture(t)
	size := 0
	names, err := fs.Glob(page.Files, "*")
	if err != nil || len(names) < 10 {
		t.Fatalf("the files are %q, %v", names, err)
	}
	for _, name := range names {
		plain := musttest.Get(page.Files.ReadFile(name))(t)
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL+"/"+name, nil))(t)
		req.Header.Set("Accept-Encoding", "gzip, br")
		resp := musttest.Get(r.client.Do(req))(t)
		packed, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		unpacked, gzipErr := gzip.NewReader(bytes.NewReader(packed))
		if err != nil || gzipErr != nil || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v, %v, %v", name, err, gzipErr, resp.Header)
		}
		if name == "index.html" { // has the texts
			document := musttest.Get(page.Document(words.Words{}, page.Bot{}))(t)
			plain = []byte(document)
		}
		if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s is served as %q, %v", name, got, err)
		}
		if !strings.HasSuffix(name, ".png") { // only the installed app shows these
			size += len(packed)
		}
	}
	t.Logf("%d bytes", size)
	if size > 44_000 { // what 96 KiB of script and style take
		t.Errorf("the page has %d bytes, want at most 44,000", size)
	}
}

func TestTheBrowserRevalidatesThePage(t *testing.T) {
	r := newFixture(t)
	_, _, h := r.request("ann", "GET", "/", "", nil)
	if h.Get("Cache-Control") != "no-cache" || h.Get("ETag") == "" {
		t.Fatalf("its headers are %v", h)
	}
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL, nil))(t)
	req.Header.Set("If-None-Match", h.Get("ETag"))
	resp := musttest.Get(r.client.Do(req))(t)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotModified {
		t.Errorf("the same again is answered %s", resp.Status)
	}
}

func TestThePageIsInTheLanguageOfTheBrowser(t *testing.T) {
	r := newFixture(t)
	catalogue := words.New(words.Settings{})
	r.ch.SetWords(catalogue)
	get := func(language, etag string) (int, string, http.Header) {
		t.Helper()
		req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, r.server.URL, nil))(t)
		req.Header.Set("Accept-Language", language)
		req.Header.Set("If-None-Match", etag)
		resp := musttest.Get(r.client.Do(req))(t)
		defer resp.Body.Close()
		body := musttest.Get(io.ReadAll(resp.Body))(t)
		return resp.StatusCode, string(body), resp.Header
	}
	_, english, h := get("fr-FR,de;q=0.5", "")
	status, german, ofGerman := get("de-AT,en;q=0.5", h.Get("ETag"))
	for html, want := range map[string][]string{
		english: {`<html lang="en">`, ">Sign out<", `"pageSending":"Sending…"`, "<kbd>/help</kbd> lists the commands."},
		german:  {`<html lang="de">`, ">Abmelden<", `"pageSending":"Wird gesendet…"`, "<kbd>/help</kbd> zeigt die Befehle."},
	} {
		for _, text := range want {
			if !strings.Contains(html, text) {
				t.Errorf("no %q in %s", text, html)
			}
		}
	}
	if status != 200 || !strings.Contains(h.Get("Vary"), "Accept-Language") {
		t.Errorf("after the English page a German browser is answered %d, and the headers are %v", status, h)
	}
	if status, _, _ := get("de", ofGerman.Get("ETag")); status != http.StatusNotModified {
		t.Errorf("the same again is answered %d", status)
	}
	catalogue.Reload(words.Settings{Language: "de", Overrides: map[string]string{"pageSend": `"</button>`, "pageSending.de": "</script>"}})
	if _, html, _ := get("en", ofGerman.Get("ETag")); !strings.Contains(html, `<html lang="de">`) || !strings.Contains(html, "&#34;&lt;/button&gt;") ||
		strings.Count(html, "</script>") != 3 {
		t.Errorf("with texts of the operator the page is %s", html)
	}
}
