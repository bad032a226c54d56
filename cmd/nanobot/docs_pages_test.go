package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// docsPage is a page of the documentation. Paths are relative to the top of the repository.
type docsPage struct {
	path string
	text string
}

// docsPages returns every page that a user or a contributor reads.
func docsPages(t *testing.T) []docsPage {
	t.Helper()
	var pages []docsPage
	for _, folder := range []string{".", "docs", "deploy", "deploy/package", "deploy/examples", "deploy/examples/*"} {
		paths := musttest.Get(filepath.Glob(filepath.Join("..", "..", folder, "*.md")))(t)
		for _, path := range paths {
			text := musttest.Get(os.ReadFile(path))(t)
			rel := musttest.Get(filepath.Rel(filepath.Join("..", ".."), path))(t)
			pages = append(pages, docsPage{filepath.ToSlash(rel), string(text)})
		}
	}
	if len(pages) < 15 {
		t.Fatalf("only %d pages", len(pages))
	}
	return pages
}

// fencedBlock is a block between two lines of backquotes.
type fencedBlock struct {
	line      int // of the page, where the block begins
	language  string
	code      string
	notTested string // the reason, if the page says that the block is not tested
}

var notTestedMark = regexp.MustCompile(`^<!-- not tested: (.+) -->$`)

// fencedBlocks returns the blocks of a page and the text around them.
func (p docsPage) fencedBlocks() (blocks []fencedBlock, prose string) {
	var around strings.Builder
	var block *fencedBlock
	fence, mark := "", ""
	for number, line := range strings.Split(p.text, "\n") {
		trimmed := strings.TrimSpace(line)
		ticks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case block == nil && len(ticks) >= 3:
			fence = ticks
			block = &fencedBlock{line: number + 1, language: strings.TrimSpace(trimmed[len(ticks):]), notTested: mark}
		case block == nil:
			around.WriteString(line + "\n")
			if m := notTestedMark.FindStringSubmatch(trimmed); m != nil {
				mark = m[1]
			} else if trimmed != "" {
				mark = ""
			}
		case trimmed == fence:
			blocks, block, mark = append(blocks, *block), nil, ""
		default:
			block.code += line + "\n"
		}
	}
	return blocks, around.String()
}

var (
	pageLink    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	linkInCode  = regexp.MustCompile("`[^`\n]*\\]\\([^`\n]*`") // an example of a link
)

// anchors returns the anchors of a page's headings, as GitHub makes them.
func (p docsPage) anchors() []string {
	_, prose := p.fencedBlocks()
	var anchors []string
	for _, m := range pageHeading.FindAllStringSubmatch(prose, -1) {
		anchors = append(anchors, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return anchors
}

func TestEveryLinkOfThePagesLeadsSomewhere(t *testing.T) {
	t.Parallel()
	pages := map[string]docsPage{}
	for _, p := range docsPages(t) {
		pages[p.path] = p
	}
	for _, p := range pages {
		_, prose := p.fencedBlocks()
		for _, m := range pageLink.FindAllStringSubmatch(linkInCode.ReplaceAllString(prose, ""), -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], ":") {
				continue // on another site
			}
			target := p.path
			if path != "" {
				target = filepath.Join(filepath.Dir(p.path), path)
			}
			if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", p.path, m[1])
			} else if anchor != "" && !slices.Contains(pages[target].anchors(), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", p.path, m[1], target)
			}
		}
	}
}

// TestEveryFileThatTheDocsNameExists is for paths of the source, and for Go files that a page names
// without their folder.
func TestEveryFileThatTheDocsNameExists(t *testing.T) {
	t.Parallel()
	bare := map[string]bool{}
	for _, path := range sourceFiles(t) {
		bare[filepath.Base(path)] = true
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			bare[filepath.Base(dir)] = true
		}
	}
	folder := regexp.MustCompile(`([\w-]+)/`)
	path := regexp.MustCompile("`((?:cmd|config|channels|terminal|gateway|internal|deploy|docs|\\.ci)/[\\w./@-]+)`")
	goFile := regexp.MustCompile("`(\\w+\\.go)`")
	for _, p := range docsPages(t) {
		blocks, prose := p.fencedBlocks()
		for _, b := range blocks {
			if !strings.HasPrefix(b.code, "cmd/nanobot/ ") { // the tree of the packages
				continue
			}
			for _, m := range folder.FindAllStringSubmatch(b.code, -1) {
				if !bare[m[1]] {
					t.Errorf("%s names the folder %s, which does not exist", p.path, m[1])
				}
			}
		}
		for _, m := range path.FindAllStringSubmatch(prose, -1) {
			if strings.ToLower(m[1]) != m[1] && !strings.HasSuffix(m[1], ".md") {
				continue // NETWORK and PROTOCOL are for the reader to replace
			}
			if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", p.path, m[1])
			}
		}
		for _, m := range goFile.FindAllStringSubmatch(prose, -1) {
			if !bare[m[1]] {
				t.Errorf("%s names %s, which does not exist", p.path, m[1])
			}
		}
	}
}

// programSource returns all Go code but the tests, and the language files.
func programSource(t *testing.T) string {
	t.Helper()
	var source strings.Builder
	for _, path := range sourceFiles(t) {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".jsonc") {
			text := musttest.Get(os.ReadFile(path))(t)
			source.Write(text)
		}
	}
	return source.String()
}

// TestEveryMessageThatThePageOnTroubleQuotesIsPrinted looks for the first cells of its tables in
// the source.
func TestEveryMessageThatThePageOnTroubleQuotesIsPrinted(t *testing.T) {
	t.Parallel()
	source := strings.ReplaceAll(programSource(t), `\"`, `"`)
	page := musttest.Get(os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md")))(t)
	quoted := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(quoted) < 20 {
		t.Fatalf("the page quotes only %d messages", len(quoted))
	}
	for _, m := range quoted {
		if !strings.Contains(source, m[1]) {
			t.Errorf("no code prints %q", m[1])
		}
	}
}

// TestEveryNameOfTheCodeThatTheDocsUseExists is for dotted names such as terminal.Pool in the pages
// for contributors.
func TestEveryNameOfTheCodeThatTheDocsUseExists(t *testing.T) {
	t.Parallel()
	source := programSource(t)
	word := regexp.MustCompile(`\w+`)
	dotted := regexp.MustCompile("`[A-Za-z]+(?:\\.[A-Za-z]+)+`")
	for _, p := range docsPages(t) {
		if p.path != "CONTRIBUTING.md" && p.path != "docs/architecture.md" {
			continue
		}
		for _, name := range dotted.FindAllString(p.text, -1) {
			if filepath.Ext(strings.Trim(name, "`")) == ".go" || strings.HasSuffix(name, ".md`") {
				continue
			}
			for _, w := range word.FindAllString(name, -1) {
				if !strings.Contains(source, w) && w != "NAME" {
					t.Errorf("%s names %s, and no code has %s", p.path, name, w)
				}
			}
		}
	}
}
