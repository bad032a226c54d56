package keys_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/terminal/keys"
)

// hostile are texts of n repetitions that a reader would look at again and again if it began anew
// at each of them.
func hostile(n int) map[string]string {
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

// TestHostileTextsAreRead reads each text in both formats. BenchmarkHostileTexts says how long that
// takes.
func TestHostileTextsAreRead(t *testing.T) {
	for name, text := range hostile(100_000) {
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

// BenchmarkHostileTexts reports how much longer a byte takes in a text that is 16 times as long, at
// worst over all texts: 1 is linear, and 16 would be quadratic. Memory costs more the more there
// is.
func BenchmarkHostileTexts(b *testing.B) {
	const n, factor = 1 << 13, 16
	short, long := hostile(n), hostile(factor*n)
	worst, which := 0.0, ""
	for b.Loop() {
		worst = 0
		for name, text := range short {
			if ratio := fastest(long[name]).Seconds() / fastest(text).Seconds() / factor; ratio > worst {
				worst, which = ratio, name
			}
		}
	}
	b.ReportMetric(worst, "×time-a-byte")
	b.Log(which)
}

// fastest is the least time that reading a text takes.
func fastest(text string) time.Duration {
	least := time.Hour
	for range 10 {
		began := time.Now()
		keys.Parse(keys.Auto, text)
		least = min(least, time.Since(began))
	}
	return least
}
