package channelstest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAChannelThatKeepsTheContractPasses(t *testing.T) { Run(t, newFake) }

func TestEachBreachFailsItsOwnCheck(t *testing.T) {
	expectOnlyOwnChecksFail(t, breaches, slices.Concat(checks, remoteChecks))
}

func TestEachBreachOfAnOptionalInterfaceFailsItsOwnCheck(t *testing.T) {
	expectOnlyOwnChecksFail(t, optionalBreaches, optionalChecks)
}

func expectOnlyOwnChecksFail(t *testing.T, breaches []breach, checks []check) {
	if testing.Short() {
		t.Skip("it tests the checks, which change rarely, and waits for half a minute")
	}
	for _, b := range breaches {
		t.Run(b.name, func(t *testing.T) {
			var got []string
			for _, c := range checks {
				if err := runCheck(t, c, b.subject); err != nil {
					t.Logf("%s: %v", c.name, err)
					got = append(got, c.name)
				}
			}
			if !slices.Equal(got, b.fails) {
				t.Errorf("%q failed, want %q", got, b.fails)
			}
		})
	}
}

// runCheck runs a check in a synctest bubble, with shorter long texts.
func runCheck(t *testing.T, c check, newSubject func(*testing.T) Subject) (err error) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, newSubject)
		fx.maxTextBytes = 10_000
		err = c.run(t.Context(), fx)
	})
	return err
}

func TestEveryCheckCanFail(t *testing.T) {
	breaches := slices.Concat(breaches, optionalBreaches)
	for _, c := range slices.Concat(checks, remoteChecks, optionalChecks) {
		if !slices.ContainsFunc(breaches, func(b breach) bool { return slices.Contains(b.fails, c.name) }) {
			t.Errorf("no breach shows that %q can fail", c.name)
		}
	}
}

// Every interface that channels/optional.go declares has a check that begins with its name.
func TestEveryOptionalInterfaceIsChecked(t *testing.T) {
	file := musttest.Get(parser.ParseFile(token.NewFileSet(), filepath.Join("..", "optional.go"), nil, 0))(t)
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if _, ok := spec.Type.(*ast.InterfaceType); !ok {
			return false
		}
		found++
		if !slices.ContainsFunc(optionalChecks, func(c check) bool { return strings.HasPrefix(c.name, spec.Name.Name+": ") }) {
			t.Errorf("no check is about %s", spec.Name.Name)
		}
		return false
	})
	if found < 15 {
		t.Errorf("only %d interfaces were found", found)
	}
}

func TestAnImplementedInterfaceWithoutItsSubjectFieldsFails(t *testing.T) {
	for _, c := range optionalChecks {
		fx := newFixture(t, newFake)
		fx.Optional = Optional{}
		if err := c.run(t.Context(), fx); errors.Is(err, errNotApplicable) {
			t.Errorf("%s is skipped", c.name)
		}
	}
}

// withoutOptional is a channel without any optional interface.
type withoutOptional struct{ channels.Channel }

func TestAnInterfaceThatAChannelDoesNotImplementIsNotChecked(t *testing.T) {
	for _, c := range optionalChecks {
		fx := newFixture(t, newFake)
		fx.Channel, fx.Optional = withoutOptional{fx.Channel}, Optional{}
		if err := c.run(t.Context(), fx); !errors.Is(err, errNotApplicable) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestANetworkThatCannotRedeliverIsNotAskedTo(t *testing.T) {
	fx := newFixture(t, newFake)
	fx.Redelivers = false
	if err := failedReceiveIsRepeated(t.Context(), fx); !errors.Is(err, errNotApplicable) {
		t.Errorf("got %v", err)
	}
}

func TestALongTextMayArriveAsAFile(t *testing.T) {
	s := newFake(t)
	text := numberedText(5000)
	if err := s.checkText(text, []SentCall{{Text: text[:50]}, {Files: []SentFile{{Name: "a.md", Content: text}}}}); err != nil {
		t.Error(err)
	}
	if s.checkText(text, []SentCall{{Text: text[:50]}, {Files: []SentFile{{Name: "a.md", Content: text[:4000]}}}}) == nil {
		t.Error("a file with a part of the text passes for the whole")
	}
}

func TestNormalizationKeepsOnlyWhatMustArrive(t *testing.T) {
	for name, c := range map[string]struct {
		normal  func(string) string
		in, out string
	}{
		"white space and fences do not count":       {StripLayout, "a b\n```go\nc  d\n ```\n~~~\ne", "abcde"},
		"inline code and markup count":              {StripLayout, "`a` **b** | c", "`a`**b**|c"},
		"of rendered text only letters count":       {StripMarkup, "# a\n* **b** `c` | 1 ─ é", "abc1é"},
		"pictures are letters":                      {StripMarkup, "👍🏽 ❤️ 🇩🇪", "👍🏽❤️🇩🇪"},
		"a picture of several characters is intact": {StripMarkup, "👨‍👩‍👧‍👦 1️⃣", "👨‍👩‍👧‍👦1️⃣"},
	} {
		t.Run(name, func(t *testing.T) {
			wanttest.Equal(t, "got", c.normal(c.in), c.out)
		})
	}
}

func TestNumberedTextHasTheSizeAskedForAndEndsInALetter(t *testing.T) {
	for n := 1; n < 300; n++ {
		if s := numberedText(n); len(s) != n || s[n-1] == ' ' || s[n-1] == '\n' {
			t.Fatalf("numbered(%d) = %q", n, s)
		}
	}
}
