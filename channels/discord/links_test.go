package discord_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

func TestALinkThatShowsAnotherAddressAlsoShowsItsTarget(t *testing.T) {
	r := newTestChannel(t)
	const note = " (leads to evil.example)"
	for name, c := range map[string]struct{ markdown, want string }{
		"an address":          {"go [https://bank.example](https://evil.example) now", "go [https://bank.example](https://evil.example)" + note + " now"},
		"its own address":     {"[bank.example](https://bank.example/x)", "[bank.example](https://bank.example/x)"},
		"no address":          {"[here](https://evil.example)", "[here](https://evil.example)"},
		"angle brackets":      {"[bank.example](<https://evil.example>) x", "[bank.example](https://evil.example)" + note + " x"},
		"a title":             {`[bank.example](https://evil.example "a (title) here") x`, "[bank.example](https://evil.example)" + note + " x"},
		"parentheses":         {"[bank.example](https://evil.example/a_(b)) x", "[bank.example](<https://evil.example/a_(b)>)" + note + " x"},
		"bold":                {"[**bank**.example](https://evil.example)", "[**bank**.example](https://evil.example)" + note},
		"escapes":             {`[bank\.example](https://evil.example) [bank\_.example](https://evil.example)`, `[bank.example](https://evil.example)` + note + ` [bank\_.example](https://evil.example)` + note},
		"brackets within":     {"[[bank.example]](https://evil.example)", "[bank.example] (https://evil.example)" + note},
		"a bracket too many":  {"[bank.example]x](https://evil.example)", `\[bank.example]x](https://evil.example)`},
		"a picture in a link": {"[![a](https://bank.example/a.png) bank.example](https://evil.example)", "[a bank.example](https://evil.example)" + note},
		"an open parenthesis": {"[bank.example](https://evil.example/(x) y", `\[bank.example](https://evil.example/(x) y`},
		"a box before a link": {"- [x] see bank.example [here](https://evil.example)", "☑ see bank.example [here](https://evil.example)"},
		"over two lines":      {"[see\nbank.example](https://evil.example)", "[see\nbank.example](https://evil.example)" + note},
		"half of it outside":  {"[bank](https://evil.example).example", "[bank](https://evil.example)" + note + ".example"},
		"a block of code":     {"```md\n[bank.example](https://evil.example)\n```", "```md\n[bank.example](https://evil.example)\n```"},
		"behind code":         {"```\nx\n```\n[bank.example](https://evil.example)", "```\nx\n```\n[bank.example](https://evil.example)" + note},
		"code turned around":  {"a ``` b\n```\n[bank.example](https://evil.example)\n```\n", "a \\`\\`\\` b\n```\n[bank.example](https://evil.example)\n```"},
		"in a quote and list": {"> - [bank.example](https://evil.example)", "> - [bank.example](https://evil.example)" + note},
		"in a heading":        {"#### [bank.example](https://evil.example)", "**[bank.example](https://evil.example)" + note + "**"},
	} {
		plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: c.markdown})
		if len(plan) != 1 || strings.TrimSpace(plan[0].Text) != c.want {
			t.Errorf("%s: %q is sent as %q, want %q", name, c.markdown, plan[0].Text, c.want)
		}
	}
}

func TestTheBeginningOfALongTextHidesNoAddress(t *testing.T) {
	r := newTestChannel(t)
	text := strings.Repeat("[bank.example](https://evil.example) ", 3000)
	plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: text})
	if links, notes := strings.Count(plan[0].Text, "](https://evil.example)"), strings.Count(plan[0].Text, "(leads to evil.example)"); links == 0 || notes != links {
		t.Errorf("%d links have %d notes: %.300s", links, notes, plan[0].Text)
	}
}

func TestBidiControlsAreNotSentToDiscord(t *testing.T) {
	r := newTestChannel(t)
	plan := r.MustPlan(channels.Message{
		Chat: chatOf(r.dm), Text: "a\u202eb", Media: []channels.File{{Name: "x\u202egnp.exe", Size: 1}}, Buttons: []channels.Button{{Label: "N\u202eo", Data: "1"}},
	})
	o := plan[len(plan)-1]
	if plan[0].Text != "a⟨U+202E⟩b" || o.Media[0].Name != "xgnp.exe" || o.Buttons[0].Label != "N⟨U+202E⟩o" {
		t.Errorf("the plan is %+v", plan)
	}
}
