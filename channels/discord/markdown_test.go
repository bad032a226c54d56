package discord_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

func TestMarkdownIsWrittenAsDiscordShowsIt(t *testing.T) {
	r := newTestChannel(t)
	for name, c := range map[string]struct{ markdown, want string }{
		"what is the same":  {"# One\n## Two\n### Three\n- **bold** *it* `code` ~~no~~ [a](https://b.c)\n> quoted\n1. x", "# One\n## Two\n### Three\n- **bold** *it* `code` ~~no~~ [a](https://b.c)\n> quoted\n1. x"},
		"deep headings":     {"#### Four\n##### **Five** ##\n####### seven\n####no", "**Four**\n**Five**\n####### seven\n####no"},
		"tildes":            {"~~~python title=x\nprint(1)\n~~~\nafter", "```python\nprint(1)\n```\nafter"},
		"longer fences":     {"````md\n```go\nx\n```\n````", "```md\n\u1fef\u1fef\u1fefgo\nx\n\u1fef\u1fef\u1fef\n```"},
		"an open fence":     {"```sh\nls\n", "```sh\nls\n```"},
		"a fence in a list": {"- one\n    ```go\n    x := 1\n      y()\n    ```\n- two", "- one\n```go\nx := 1\n  y()\n```\n- two"},
		"a quoted fence":    {"> ```go\n> x\n> ```", "> ```go\n> x\n> ```"},
		"nothing in code":   {"```\n#### no heading\n>>> no quote\n| a | b |\n|---|---|\n| 1 | 2 |\n```", "```\n#### no heading\n>>> no quote\n| a | b |\n|---|---|\n| 1 | 2 |\n```"},
		"code on one line":  {"```x``` and #### y", "`x` and #### y"},
		"a quote of it all": {">>> print(1)\n1", "\\>>> print(1)\n1"},
		"a table":           {"Look:\n\n| Name | Count |\n|:---|---:|\n| **Ada** | 1 |\n| Łukasz | 10000 |\n\nEnd", "Look:\n\n```\nName   | Count\n-------+------\nAda    |     1\nŁukasz | 10000\n```\n\nEnd"},
		"a wide table":      {"| 日本 | x |\n|---|---|\n| a | y |", "```\n日本 | x\n-----+--\na    | y\n```"},
		"a table with bars": {"a | b\n--|--\n`x\\|y` | 2 | 3", "a | b\n--|--\n`x\\|y` | 2 | 3"},
		"what is no table":  {"a | b\nc | d\n|---|", "a | b\nc | d\n|---|"},
		"carriage returns":  {"a\r\nb\r\n", "a\nb"},
		"a rule":            {"a\n\n---\n\nb", "a\n\n———\n\nb"},
	} {
		plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: c.markdown})
		if len(plan) != 1 || plan[0].Text != c.want {
			t.Errorf("%s: %q is sent as %q, want %q", name, c.markdown, plan[0].Text, c.want)
		}
	}
}

func TestATableThatIsCutStaysCode(t *testing.T) {
	r := newTestChannel(t)
	text := "| name | value |\n|---|---|\n" + strings.Repeat("| a name | a value |\n", 200)
	plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: text})
	if len(plan) < 2 {
		t.Fatalf("it is %d messages", len(plan))
	}
	for i, o := range plan {
		if !strings.HasPrefix(o.Text, "```\n") || !strings.HasSuffix(strings.TrimSpace(o.Text), "```") {
			t.Errorf("part %d is %.40q…", i, o.Text)
		}
	}
}

// What is native must be so once more when it is the beginning of a long text.
func TestTheBeginningOfALongTextIsWrittenAsDiscordShowsIt(t *testing.T) {
	r := newTestChannel(t)
	plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: "#### Title\n\n" + strings.Repeat("many words and ", 2000)})
	if len(plan) != 1 || !strings.HasPrefix(plan[0].Text, "**Title**\n") || len(plan[0].Media) != 1 {
		t.Errorf("the plan is %.200v", plan)
	}
}
