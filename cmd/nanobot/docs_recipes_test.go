package main

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// pageAt returns a page of the documentation.
func pageAt(t *testing.T, path string) docsPage {
	t.Helper()
	return docsPage{path, string(musttest.Get(os.ReadFile(filepath.Join("..", "..", path)))(t))}
}

// recipes returns the sections of docs/recipes.md by their headings.
func recipes(t *testing.T) map[string]docsPage {
	t.Helper()
	page := pageAt(t, "docs/recipes.md")
	found := map[string]docsPage{}
	inBlock := false
	title := ""
	for line := range strings.Lines(page.text) {
		inBlock = inBlock != strings.HasPrefix(line, "````")
		if heading, ok := strings.CutPrefix(line, "## "); ok && !inBlock {
			title = strings.TrimSpace(heading)
		}
		if title != "" {
			found[title] = docsPage{page.path + ", " + title, found[title].text + line}
		}
	}
	if len(found) != 6 {
		t.Fatalf("the page has %d recipes", len(found))
	}
	return found
}

func TestARecipeHasAtMostTwentyLinesAndShowsItsBotsAnswer(t *testing.T) {
	t.Parallel()
	for title, recipe := range recipes(t) {
		blocks, _ := recipe.fencedBlocks()
		lines, shown := 0, false
		for _, b := range blocks {
			lines += strings.Count(b.code, "\n")
			shown = shown || b.language == "console" && b.notTested == ""
		}
		if lines > 20 || !shown {
			t.Errorf("%s: %d lines; an answer is shown: %t", title, lines, shown)
		}
	}
}

// followRecipe runs the blocks of a recipe.
func followRecipe(t *testing.T, title string) *pageReader {
	t.Helper()
	r := newPageReader(t, recipes(t)[title])
	blocks, _ := r.page.fencedBlocks()
	for _, b := range blocks {
		r.runBlock(b)
	}
	return r
}

func TestTheRunbookOfTheRecipeDeploysFromAChat(t *testing.T) {
	t.Parallel()
	folder := followRecipe(t, "A team's deploy runbook").folder
	musttest.Do(t, os.RemoveAll(filepath.Join(folder, "work", "live"))) // by the run in the terminal
	b, link := startWebCommand(t, webCommand(t, folder, "--no-browser"))
	person := b.openLink(link)
	next := person.openEventStream()
	chat := person.newChat()
	person.sendMessage(chat, "/run deploy")
	question := next("message")
	for len(question.data.Buttons) == 0 {
		question = next("message")
	}
	if !strings.Contains(question.data.Text, "Put the site live?") {
		t.Errorf("the question is %+v", question)
	}
	person.pressButton(chat, question.data.ID, question.data.Buttons[0].Data)
	for len(next("message").data.Media) == 0 { // until the records are sent
	}
	page := musttest.Get(os.ReadFile(filepath.Join(folder, "work", "live", "index.html")))(t)
	wanttest.Equal(t, "live is", string(page), "<title>Our site</title>\n")
}

func TestThePictureOfTheRecipeHasTheBarsOfTheMessage(t *testing.T) {
	t.Parallel()
	r := followRecipe(t, "A Python bot with a picture")
	file := musttest.Get(os.ReadFile(filepath.Join(r.home, "chart-bot", "work", "users", "local", "chart.png")))(t)
	picture := musttest.Get(png.Decode(bytes.NewReader(file)))(t)
	wanttest.Equal(t, "size", picture.Bounds().Size().String(), "(120,100)")
	var heights []int
	for x := 20; x < 120; x += 40 {
		height := 0
		for y := range 100 {
			if grey, _, _, _ := picture.At(x, y).RGBA(); grey < 0x8000 {
				height++
			}
		}
		heights = append(heights, height)
	}
	if !slices.Equal(heights, []int{20, 50, 80}) {
		t.Errorf("the bars are %v high", heights)
	}
}

// TestTheTableOfProtocolsHasThemAll reads the commands that the table in docs/protocol.md proposes.
func TestTheTableOfProtocolsHasThemAll(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile("(?m)^\\|.*\\| \\[?`(\\w+)`.* \\| `nanobot web (.+)` \\|$")
	var named, known []string
	for _, m := range row.FindAllStringSubmatch(pageAt(t, "docs/protocol.md").text, -1) {
		words := musttest.Get(exec.Command("sh", "-c", `printf '%s\n' `+m[2]).Output())(t)
		cmd := newWeb(stdio{})
		musttest.Do(t, cmd.ParseFlags(strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")))
		cfg := musttest.Get(loadForWeb(cmd, agentFlags{protocol: cmd.Flag("protocol").Value.String()}, cmd.Flags().Args()))(t)
		wanttest.Equal(t, "protocol of "+m[2], cfg.Terminal.Protocol, m[1])
		named = append(named, m[1])
	}
	for _, p := range protocols {
		known = append(known, p.Name)
	}
	slices.Sort(named)
	slices.Sort(known)
	if !slices.Equal(named, known) {
		t.Errorf("the table has %q, and there are %q", named, known)
	}
}
