package markdown_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/channels/markdown"
	"nanobot/internal/wanttest"
)

func TestTheLinksOfAText(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"none":            {"just text (a) [b] a<b", ""},
		"a link":          {"see [the **report**](out/report.pdf).", "the report=out/report.pdf"},
		"an image":        {"![a plot](plot.png)", "a plot=plot.png"},
		"an image linked": {"[![small](s.png)](big.png)", "small=big.png small=s.png"},
		"spaces":          {`[a](<my file.txt>) [b](my%20file.txt) [c](a\_b.txt)`, "a=my file.txt b=my%20file.txt c=a_b.txt"},
		"in brackets":     {"<file:///tmp/a.png> https://example.com", "file:///tmp/a.png=file:///tmp/a.png"},
		"code":            {"`[a](b.png)`\n\n```\n[a](b.png)\n```", ""},
		"code as text":    {"[`a.go:12`](a.go)", "a.go:12=a.go"},
		"a list":          {"- [a](a.png)\n- > [b](b.png)", "a=a.png b=b.png"},
		"a table":         {"| n | p |\n|---|---|\n| 1 | ![x](x.png) |", "x=x.png"},
		"by reference":    {"[a][1]\n\n[1]: https://example.com", "a=https://example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range markdown.Links(c.source) {
				got = append(got, fmt.Sprintf("%s=%s", l.Text, l.URL))
			}
			wanttest.Equal(t, "got", strings.Join(got, " "), c.want)
		})
	}
}
