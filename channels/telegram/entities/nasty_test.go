package entities_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram/entities"
	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
)

func TestNastyMarkdownBecomesEntitiesThatTelegramTakes(t *testing.T) {
	for name, text := range channelstest.PathologicalMarkdown {
		whole := entities.Read(text(8<<10), channels.Markdown)
		for _, p := range append(entities.Split(whole, 4096), entities.Write(whole)) {
			wanttest.Equal(t, name+":", check(p), "")
		}
	}
}

func TestEntitiesAreWrittenInLinearTime(t *testing.T) {
	for _, name := range []string{"prose", "code", "links", "items", "deep emphasis", "closers", "short closers"} {
		lineartest.Check(t, name, 32<<10, func(n int) {
			entities.Write(entities.Read(channelstest.PathologicalMarkdown[name](n), channels.Markdown))
		})
	}
}

func TestNestingBeyondReasonIsShownAsItStands(t *testing.T) {
	got := read(strings.Repeat("> ", 100) + "a").Text
	if !strings.HasSuffix(got, strings.Repeat("> ", 50)+"a") {
		t.Errorf("got %q", got)
	}
}

// BenchmarkAnswer reads, cuts and writes an answer of the usual length.
func BenchmarkAnswer(b *testing.B) {
	source := channelstest.PathologicalMarkdown["prose"](4 << 10)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		entities.Split(entities.Read(source, channels.Markdown), 4096)
	}
}
