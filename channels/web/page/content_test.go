package page_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"nanobot/channels/web/page"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// all returns the files of the page.
func all(t *testing.T) map[string]string {
	files := map[string]string{}
	musttest.Do(t, fs.WalkDir(page.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := page.Files.ReadFile(name)
		files[name] = string(b)
		return err
	}))
	return files
}

func TestThePageLoadsNothingFromElsewhereAndBuildsNoMarkupFromStrings(t *testing.T) {
	markup := 0
	for name, content := range all(t) {
		for _, address := range regexp.MustCompile(`(?:https?:)?//[\w.-]+\.\w+[\w./-]*`).FindAllString(content, -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") { // the name of SVG
				t.Errorf("%s names %s", name, address)
			}
		}
		wanttest.Equal(t, name+": has", regexp.MustCompile(`\son\w+=|<style|\sstyle=|javascript:|<script>|eval\(|new Function|outerHTML|insertAdjacentHTML|document\.write|'style'|srcdoc`).FindString(content), "")
		markup += strings.Count(content, "innerHTML")
	}
	wanttest.Equal(t, "innerHTML, which is for what the server has cleaned, is used … times:", markup, 1)
}
