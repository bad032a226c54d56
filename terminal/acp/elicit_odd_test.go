package acp_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestAPressGivesTheOptionThatItsButtonNames(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"const":"c","title":"same"},`, 999), ",") + `,{"const":"last","title":"same"}`
	for name, c := range map[string]struct{ field, answer, want string }{
		"capitals":              {`"enum":["a","A"]`, "press 2", `"A"`},
		"swapped titles":        {`"oneOf":[{"const":"yes","title":"no"},{"const":"no","title":"yes"}]`, "press 2", `"no"`},
		"an empty value":        {`"enum":["","b","c"]`, "press 2", `"b"`},
		"number past one empty": {`"enum":["","b","c"]`, "2", `"b"`},
		"many equal titles":     {`"oneOf":[` + many + `]`, "same (1000)", `"last"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFixture(t, "").person("a")
			answering(t, p, c.answer)
			got := p.send(form(`"e":{"type":"string",`+c.field+`}`, `"e"`)).text(terminal.Message)
			if want := `{"action":"accept","content":{"e":` + c.want + `}}`; !strings.Contains(got, want) {
				t.Errorf("the agent got %s, not %s", got, want)
			}
		})
	}
}

func TestAFormThatNobodyCouldFillInIsRefused(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	answering(t, p)
	options := strings.TrimSuffix(strings.Repeat(`"v",`, 1001), ",")
	if got := p.send(form(`"e":{"type":"string","enum":[`+options+`]}`, `"e"`)).text(terminal.Message); !strings.Contains(got, "a field 1000 options") {
		t.Errorf("the agent got %s", got)
	}
}

func TestALinkCannotHideAnotherOne(t *testing.T) {
	t.Parallel()
	p := newFixture(t, "").person("a")
	answering(t, p)
	for _, bad := range []string{
		"https://bank.example/?a=1> [Sign in](https://evil.example/) <https://bank.example", "https://bank.example/\u202etxt", "https://bank.example/" + strings.Repeat("x", 3000),
	} {
		got := p.send(strings.ReplaceAll(link, "https://example.com/a_b?c=d_e", bad)).text(terminal.Message)
		if !strings.Contains(got, "is no web address") {
			t.Errorf("%.60s: the agent got %s", bad, got)
		}
	}
}
