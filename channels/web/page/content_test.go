package page_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
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

// maxSize is the most bytes of script and style together, uncompressed: the page starts fast on a
// phone, and a person can read all of it.
const maxSize = 96 << 10

func TestScriptAndStyleTogetherAreAtMost96KiB(t *testing.T) {
	size := 0
	for name, content := range all(t) {
		if path.Ext(name) == ".js" || path.Ext(name) == ".css" {
			size += len(content)
		}
	}
	t.Logf("script and style: %d of %d bytes", size, maxSize)
	if size < 1<<10 || size > maxSize {
		t.Errorf("script and style have %d bytes, more than %d or next to nothing", size, maxSize)
	}
}

func TestNoScriptImportsItselfThroughOthers(t *testing.T) {
	imports := map[string][]string{}
	for name, content := range all(t) {
		for _, from := range regexp.MustCompile(`(?:from |import\()'\./([\w.]+)'`).FindAllStringSubmatch(content, -1) {
			imports[name] = append(imports[name], from[1])
		}
	}
	if len(imports["main.js"]) < 3 {
		t.Errorf("main.js imports only %q: this test proves nothing", imports["main.js"])
	}
	var follow func(way []string)
	follow = func(way []string) {
		for _, next := range imports[way[len(way)-1]] {
			if slices.Contains(way, next) {
				t.Fatalf("a circle of imports: %s", strings.Join(append(way, next), " → "))
			}
			follow(append(slices.Clone(way), next))
		}
	}
	follow([]string{"main.js"})
}
