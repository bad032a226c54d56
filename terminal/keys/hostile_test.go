package keys_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/terminal/keys"
)

// hostileTexts returns texts of n repetitions. A parser that starts again at each repetition takes
// quadratic time.
func hostileTexts(n int) map[string]string {
	times := func(s string) string { return strings.Repeat(s, n) }
	return map[string]string{
		"opening braces":         times("{"),
		"closing braces":         times("}"),
		"braces and quotes":      times(`{"`),
		"nested objects":         times(`{"a":`),
		"nested lists":           `{"a":` + times("[") + times("]") + "}",
		"balanced braces":        times("{") + times("}"),
		"pieces in an open one":  "{" + times("{}"),
		"pieces two levels deep": times("{{}{"),
		"objects":                times(`{"a":1}`),
		"backslashes":            times(`\"{`),
		"fields":                 `{"analysis":"","plan":"","commands":[{"keystrokes":""` + times(`,"a":1`) + `}]}`,
		"commands":               `{"analysis":"","plan":"","commands":[1` + times(`,{}`) + `]}`,
		"keystrokes":             `{"analysis":"","plan":"","commands":[{"keystrokes":""}` + times(`,{"keystrokes":"a"}`) + `]}`,
		"responses":              times("<response>"),
		"responses with an end":  times("<response>") + times("</response>"),
		"open sections":          "<response>" + times("<analysis><plan><commands><task_complete>"),
		"closed sections":        "<response>" + times("<plan></plan>"),
		"single tags":            "<response>" + times("<plan/>"),
		"blanks in tags":         "<response>" + times("<plan "),
		"comments":               "<response>" + times("<!--"),
		"tags":                   "<response>" + times("<a "),
		"names":                  "<response>" + times("<a"),
		"open keystrokes":        "<response><commands>" + times("<keystrokes>") + "</commands>",
		"keystrokes tags":        "<response><commands>" + times("<keystrokes ") + "</commands>",
		"closed keystrokes":      "<response><commands>" + times("<keystrokes>a</keystrokes>") + "</commands>",
		"commands in XML":        "<response><commands>" + times("<command><duration>") + "<keystrokes>a</keystrokes>" + times("<command></duration>") + "</commands>",
		"attributes":             "<response><commands><keystrokes" + times(` a="`) + "></keystrokes></commands>",
		"quotes":                 "<response><commands><keystrokes" + times(` '=`) + "></keystrokes></commands>",
		"equals signs":           "<response><commands><keystrokes duration" + times("=") + "></keystrokes></commands>",
		"modifiers":              `{"analysis":"","plan":"","commands":[{"keystrokes":"` + times("C-") + `"},{"keystrokes":""}]}`,
		"thoughts":               times("<think>"),
	}
}

// TestHostileTextsAreRead parses each text in both formats, with 20,000 repetitions, or 100,000
// with NANOBOT_LONG=1. BenchmarkHostileTexts measures the time.
func TestHostileTextsAreRead(t *testing.T) {
	n := 20_000
	if killtest.IsLong() {
		n = 100_000
	}
	for name, text := range hostileTexts(n) {
		if r, _ := keys.Parse(keys.Auto, text); r.Error == "" && len(r.Commands) == 0 && len(r.Warnings) == 0 {
			t.Errorf("%s: nothing is wrong with it", name)
		}
		var o keys.Output
		o.Next(text, "")
		if got := o.Next(text+"\n"+text, ""); !strings.HasPrefix(got, "New Terminal Output:\n") || len(got) > 10100 {
			t.Errorf("%s: the output is %d bytes", name, len(got))
		}
	}
}

// BenchmarkHostileTexts reports the ratio of the times per byte for a text and one that is 16 times
// longer, at worst over all texts. 1 is linear and 16 quadratic. The ratio is above 1 because
// larger texts do not fit into the CPU's caches.
func BenchmarkHostileTexts(b *testing.B) {
	const n, factor = 1 << 13, 16
	short, long := hostileTexts(n), hostileTexts(factor*n)
	worst, which := 0.0, ""
	for b.Loop() {
		worst = 0
		for name, text := range short {
			if ratio := fastestParse(long[name]).Seconds() / fastestParse(text).Seconds() / factor; ratio > worst {
				worst, which = ratio, name
			}
		}
	}
	b.ReportMetric(worst, "×time-a-byte")
	b.Log(which)
}

// fastestParse returns the shortest time of several runs to parse a text.
func fastestParse(text string) time.Duration {
	least := time.Hour
	for range 10 {
		began := time.Now()
		keys.Parse(keys.Auto, text)
		least = min(least, time.Since(began))
	}
	return least
}
