package packaging_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// TestThePagesOfThePackageAreWhole follows the links between the pages as they are installed. Their
// reader has no clone of the repository.
func TestThePagesOfThePackageAreWhole(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^()\s:#]+)(?:#[^()\s]*)?\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	installed := regexp.MustCompile(`/usr/share/doc/nanobot/[\w/.-]*`)
	prefix, pages := unpack(t), 0
	musttest.Do(t, filepath.WalkDir(filepath.Join(prefix, "share/doc/nanobot"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		pages++
		text := string(musttest.Get(os.ReadFile(path))(t))
		if d.Name() == "CONTRIBUTING.md" {
			return nil // for people with a clone
		}
		if strings.Contains(text, "go run ./cmd") {
			t.Errorf("%s tells people to run the source", path)
		}
		for _, name := range installed.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join(prefix, strings.TrimPrefix(name, "/usr/"))); err != nil {
				t.Errorf("%s names %s, which is not in the package", path, name)
			}
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not in the package", path, m[1])
			}
		}
		return nil
	}))
	if pages < 30 {
		t.Errorf("only %d pages", pages)
	}
}
