package page_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels/web/page"
)

// all returns the files of the page.
func all(t *testing.T) map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(page.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := page.Files.ReadFile(name)
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestThePageIsSmall(t *testing.T) {
	size, lines := 0, 0
	for _, content := range all(t) {
		size += len(content)
		lines += strings.Count(content, "\n")
	}
	t.Logf("%d bytes, %d lines", size, lines)
	if size > 60_000 || lines >= 1500 {
		t.Errorf("the page has %d bytes and %d lines, want at most 60,000 and less than 1,500", size, lines)
	}
}

func TestThePageTakesNothingFromElsewhereAndNoMarkupFromStrings(t *testing.T) {
	markup := 0
	for name, content := range all(t) {
		for _, address := range regexp.MustCompile(`(?:https?:)?//[\w.-]+\.\w+[\w./-]*`).FindAllString(content, -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") { // the name of SVG
				t.Errorf("%s names %s", name, address)
			}
		}
		if bad := regexp.MustCompile(`\son\w+=|<style|\sstyle=|javascript:|<script>|eval\(|new Function|outerHTML|insertAdjacentHTML|document\.write|'style'|srcdoc`).FindString(content); bad != "" {
			t.Errorf("%s has %q", name, bad)
		}
		markup += strings.Count(content, "innerHTML")
	}
	if markup != 1 {
		t.Errorf("innerHTML is used %d times, want once: for what the server has cleaned", markup)
	}
}
