package runbook_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/internal/lineartest"
)

// makeTest is a challenge as it is written in a step.
const makeTest = "```json\n{\"challenge\":{\"type\":\"shell\",\"shell\":{\"cmd\":\"make test\"}}}\n```"

// parse reads a runbook that has no errors.
func parse(t testing.TB, text string) runbook.Runbook {
	t.Helper()
	book, errors, _ := runbook.Parse(text)
	if len(errors) > 0 {
		t.Fatalf("%q: %+v", text, errors)
	}
	return book
}

// stepOf reads a runbook with one step.
func stepOf(t testing.TB, section string) runbook.Step {
	t.Helper()
	book := parse(t, "# Book\n\n## Step\n"+section)
	if len(book.Steps) != 1 {
		t.Fatalf("%q has %d steps", section, len(book.Steps))
	}
	return book.Steps[0]
}

func TestHeadingsMakeTheSteps(t *testing.T) {
	for name, c := range map[string]struct {
		text, label, introduction string
		steps                     []string // label: body
	}{
		"steps and an introduction": {"# Book\nHello.\n\nYou.\n## One\na\n\nb\n##  Two ##\n", "Book", "Hello.\n\nYou.", []string{"One: a\n\nb", "Two: "}},
		"no H2":                     {"Before.\n# Book #\n\nBody\n### Sub\nmore\n", "Book", "Before.", []string{"Book: Body\n### Sub\nmore"}},
		"nothing but the H1":        {"# Book", "Book", "", []string{"Book: "}},
		"deeper headings are body":  {"# Book\n## One\n### Deep\nx\n#### Deeper", "Book", "", []string{"One: ### Deep\nx\n#### Deeper"}},
		"fences":                    {"# B\n## One\n```\n# no\n## no\n```\n~~~ x\n## no\n```\n~~~~\n## Two\n", "B", "", []string{"One: ```\n# no\n## no\n```\n~~~ x\n## no\n```\n~~~~", "Two: "}},
		"a longer fence":            {"# B\n## One\n````\n```\n## no\n```\n## no\n````\n## Two", "B", "", []string{"One: ````\n```\n## no\n```\n## no\n````", "Two: "}},
		"an indented fence":         {"# B\n## One\n   ```\n## no\n  ```\n## Two", "B", "", []string{"One: ```\n## no\n  ```", "Two: "}},
		"a fence in a list":         {"# B\n## One\n- a\n  ```\n  ## no\n  ```\n## Two", "B", "", []string{"One: - a\n  ```\n  ## no\n  ```", "Two: "}},
		"a fence that stays open":   {"# B\n## One\n```\n## no\n# no\n", "B", "", []string{"One: ```\n## no\n# no"}},
		"no fence":                  {"# B\n## One\n    ```\n## Two\n``` a`b\n## Three", "B", "", []string{"One: ```", "Two: ``` a`b", "Three: "}},
		"no headings":               {"# B\n## One\n#no\n    ## no\n\\## no\n> ## no\n- ## no\n\n####### no\nno\n---\n\nno\n===\n", "B", "", []string{"One: #no\n    ## no\n\\## no\n> ## no\n- ## no\n\n####### no\nno\n---\n\nno\n==="}},
		"a comment":                 {"# B\n## One\n<!--\n## no\n-->\n", "B", "", []string{"One: <!--\n## no\n-->"}},
		"front matter":              {"---\nowner: me\n---\n# B\n## One\n", "B", "---\nowner: me\n---", []string{"One: "}},
		"carriage returns":          {"# B\r\nhi\r\n## One\r\na\r\nb\r\n", "B", "hi", []string{"One: a\nb"}},
		"a byte order mark":         {"\ufeff# B\n## One", "B", "", []string{"One: "}},
		"indented headings":         {"   # B\n  ## One\nx", "B", "", []string{"One: x"}},
		"the same label twice":      {"# B\n## One\na\n## One\nb", "B", "", []string{"One: a", "One: b"}},
		"the H1 after a step":       {"hi\n## One\na\n# B\nb\n## Two", "B", "hi", []string{"One: a\n# B\nb", "Two: "}},
	} {
		book := parse(t, c.text)
		var steps []string
		for i, s := range book.Steps {
			steps = append(steps, s.Label+": "+s.Body)
			if s.Index != i+1 || s.Definition != nil || s.Challenge != nil {
				t.Errorf("%s: step %+v", name, s)
			}
		}
		if book.Label != c.label || book.Introduction != c.introduction || !slices.Equal(steps, c.steps) {
			t.Errorf("%s: %q, %q, %q", name, book.Label, book.Introduction, steps)
		}
	}
}

func TestARunbookKnowsItsTextAndHash(t *testing.T) {
	book := parse(t, "# A\n")
	if book.Text != "# A\n" || book.Hash != "aa1237b773c38dbddef583c4868aaea7a44c5237ea7923aecca5513764b42d80" {
		t.Errorf("%q has the hash %s", book.Text, book.Hash)
	}
	if other := parse(t, "# A"); other.Hash == book.Hash {
		t.Error("another text has the same hash")
	}
}

func TestTheLastBlockOfAStepIsItsChallenge(t *testing.T) {
	const is = `{"type":"shell","shell":{"cmd":"make test"},"required":true}`
	for name, c := range map[string]struct{ section, body, definition string }{
		"the only thing":          {makeTest, "", is},
		"after text":              {"Do it.\n\n" + makeTest + "\n\n \t\n", "Do it.", is},
		"any case":                {strings.Replace(makeTest, "json", "JSON", 1), "", is},
		"no info string":          {strings.Replace(makeTest, "json", "", 1), "", is},
		"tildes":                  {"~~~json\n" + strings.Split(makeTest, "\n")[1] + "\n~~~", "", is},
		"a longer fence":          {"`````json\n" + strings.Split(makeTest, "\n")[1] + "\n`````", "", is},
		"indented":                {"a\n   " + strings.ReplaceAll(makeTest, "\n", "\n   "), "a", is},
		"in a list":               {"1. a\n\n   " + strings.ReplaceAll(makeTest, "\n", "\n   "), "1. a", is},
		"not closed":              {"a\n" + strings.TrimSuffix(makeTest, "```"), "a", is},
		"other blocks before it":  {"```sh\nls\n```\n```json\n{\"a\":1}\n```\n" + makeTest, "```sh\nls\n```\n```json\n{\"a\":1}\n```", is},
		"other fields":            {"```json\n{ \"x\": 1, \"challenge\": { \"required\" : false, \"type\": \"comment\", \"more\": [1, \"<&>\"] } }\n```", "", `{"required":false,"type":"comment","more":[1,"<&>"]}`},
		"required is no false":    {"```json\n{\"challenge\":{\"type\":\"comment\",\"required\":\"false\"}}\n```", "", `{"type":"comment","required":true}`},
		"required is 0":           {"```json\n{\"challenge\":{\"type\":\"comment\",\"required\":0}}\n```", "", `{"type":"comment","required":true}`},
		"several lines":           {"```json\n{\n  \"challenge\": {\n    \"type\": \"comment\"\n  }\n}\n```\n", "", `{"type":"comment","required":true}`},
		"not the old form, then":  {"PROOF OF WORK: true\n\n" + makeTest, "PROOF OF WORK: true", is},
		"a number keeps its form": {"```\n{\"challenge\":{\"type\":\"comment\",\"x\":1.50e1}}\n```", "", `{"type":"comment","x":1.50e1,"required":true}`},
	} {
		step := stepOf(t, c.section)
		if step.Body != c.body || string(step.Definition) != c.definition {
			t.Errorf("%s: body %q, definition %s", name, step.Body, step.Definition)
		}
		_, _, warnings := runbook.Parse("# Book\n## Step\n" + c.section)
		if slices.ContainsFunc(warnings, func(p runbook.Problem) bool { return strings.Contains(p.Message, "stays text") }) {
			t.Errorf("%s: %+v", name, warnings)
		}
	}
	book := parse(t, "# Only\n\ntext\n\n"+makeTest)
	if len(book.Steps) != 1 || book.Steps[0].Label != "Only" || string(book.Steps[0].Definition) != is {
		t.Errorf("without an H2: %+v", book.Steps)
	}
}

func TestABlockThatIsNoChallengeStaysBodyWithAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		section string
		line    int // of the warning; 0 is none
	}{
		"not last":                {"a\n" + makeTest + "\nb", 4},
		"before a comment":        {makeTest + "\n<!-- x -->", 3},
		"before another block":    {makeTest + "\n```\nls\n```", 3},
		"before a deeper heading": {makeTest + "\n### x", 3},
		"broken JSON":             {"\n\n```json\n{\"challenge\":{\"type\":\"shell\",}}\n```", 5},
		"two objects":             {"```json\n{\"challenge\":{}} {}\n```", 3},
		"no object":               {"```json\n[\"challenge\"]\n```", 3},
		"challenge is no object":  {"```json\n{\"challenge\":\"make test\"}\n```", 3},
		"challenge is null":       {"```json\n{\"challenge\":null}\n```", 3},
		"deeper":                  {"```json\n{\"x\":{\"challenge\":{}}}\n```", 3},
		"another language":        {strings.Replace(makeTest, "json", "yaml", 1), 3},
		"more than the language":  {strings.Replace(makeTest, "json", "json x", 1), 3},
		"YAML":                    {"```yaml\nchallenge:\n  type: shell\n```", 3},
		"YAML with no language":   {"```\n challenge : {}\n```", 3},
		"no key of YAML":          {"```yaml\nthe challenge: x\n```", 0},
		"in a quote":              {"> " + strings.ReplaceAll(makeTest, "\n", "\n> "), 3},
		"indented as code":        {"a\n\n    {\"challenge\":{}}", 5},
		"no mention":              {"```json\n{\"Challenge\":{}}\n```", 0},
		"no mention, broken":      {"```json\n{\n```", 0},
		"other JSON":              {"```json\n{\"a\":\"challenge\\\"\"}\n```", 0},
		"text":                    {`Send {"challenge": {}} in a line.`, 0},
	} {
		book, errors, warnings := runbook.Parse("# Book\n## Step\n" + c.section)
		step := book.Steps[0]
		if len(errors) > 0 || step.Definition != nil || step.Body != strings.TrimSpace(c.section) {
			t.Errorf("%s: %v, %+v", name, errors, step)
		}
		switch {
		case c.line == 0 && len(warnings) != 0:
			t.Errorf("%s: %+v", name, warnings)
		case c.line > 0 && (len(warnings) != 1 || warnings[0].Line != c.line || warnings[0].Step != "Step" || warnings[0].Message == ""):
			t.Errorf("%s: %+v, want one for line %d", name, warnings, c.line)
		}
	}
}

func TestAKeyThatAChallengeDoesNotHaveIsAWarning(t *testing.T) {
	other := func(key string) string {
		return "the shell challenge has no key `" + key + "`, so that is ignored. There are `type`, `required`, `shell`."
	}
	for challenge, want := range map[string][]string{
		`{"type":"comment","comment":{"minlength":9}}`: {"the comment challenge has no key `comment.minlength`, so that is ignored. Did you mean `comment.min_length`?"},
		`{"type":"comment","min_length":9}`:            {"the comment challenge has no key `min_length`, so that is ignored. Did you mean `comment.min_length`?"},
		`{"shell":{"cmd":"x","timeout":9}}`:            {"the shell challenge has no key `shell.timeout`, so that is ignored. There are `shell.cmd`, `shell.timeout_seconds`."},
		`{"shell":{"cmd":"x","timeoutSeconds":9}}`:     {"the shell challenge has no key `shell.timeoutSeconds`, so that is ignored. Did you mean `shell.timeout_seconds`?"},
		`{"type":"comment","shell":{"cmd":"x"}}`:       {"the comment challenge has no key `shell`, so that is ignored. There are `type`, `required`, `comment`."},
		`{"type":"user_input","requierd":false,"user_input":{"promt":"x","approvals":2}}`: {
			"the user_input challenge has no key `requierd`, so that is ignored. Did you mean `required`?",
			"the user_input challenge has no key `user_input.promt`, so that is ignored. Did you mean `user_input.prompt`?",
		},
		`{"type":"mcp","required":false,"mcp":{"tool_name":"x","expected_result":{"any":1}}}`: nil,
		`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"shell":{"cmd":"x"}}`:                           {other("a"), other("b"), other("c"), other("d"), other("e")},
	} {
		_, errors, warnings := runbook.Parse("# Book\n## Step\n\n```json\n{\"challenge\":" + challenge + "}\n```\n")
		var got []string
		for _, w := range warnings {
			if w.Line != 4 || w.Step != "Step" {
				t.Errorf("%s: %+v", challenge, w)
			}
			got = append(got, strings.TrimPrefix(w.Message, `Step "Step": `))
		}
		if len(errors) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %q", challenge, errors, got)
		}
	}
}

func TestAChallengeOutsideTheStepsIsAWarning(t *testing.T) {
	_, errors, warnings := runbook.Parse("# Book\n" + makeTest + "\n## Step\n")
	if len(errors) > 0 || len(warnings) != 1 || warnings[0].Line != 2 || warnings[0].Step != "" {
		t.Errorf("%+v, %+v", errors, warnings)
	}
}

func TestTheOldFormIsAShellChallenge(t *testing.T) {
	shell := func(command, seconds string) string {
		return fmt.Sprintf(`{"type":"shell","shell":{"cmd":%q,"timeout_seconds":%s},"required":true}`, command, seconds)
	}
	for section, want := range map[string][2]string{
		"PROOF OF WORK: make test":                           {"", shell("make test", "60")},
		"a\nProof of Work:make test  \nb":                    {"a\nb", shell("make test", "60")},
		"- PROOF OF WORK: x":                                 {"", shell("x", "60")},
		"* proof of work: x":                                 {"", shell("x", "60")},
		"+ PROOF OF WORK: x":                                 {"", shell("x", "60")},
		"• PROOF OF WORK: x":                                 {"", shell("x", "60")},
		"  > PROOF OF WORK: x":                               {"", shell("x", "60")},
		"**PROOF OF WORK**: x":                               {"", shell("x", "60")},
		"**PROOF OF WORK:** x":                               {"", shell("x", "60")},
		"* **PROOF OF WORK:** ls **/*.go **":                 {"", shell("ls **/*.go **", "60")},
		"**PROOF OF WORK: x**":                               {"", shell("x", "60")},
		"PROOF OF WORK: **/run":                              {"", shell("**/run", "60")},
		"PROOF OF WORK: timeout 90s make test":               {"", shell("make test", "90")},
		"PROOF OF WORK: timeout 90 make test":                {"", shell("make test", "90")},
		"PROOF OF WORK: timeout 2m x":                        {"", shell("x", "120")},
		"PROOF OF WORK: timeout 2h x":                        {"", shell("x", "7200")},
		"PROOF OF WORK: timeout 5000ms x":                    {"", shell("x", "5")},
		"PROOF OF WORK: timeout 5ms x":                       {"", shell("x", "1")},
		"PROOF OF WORK: timeout 5d x":                        {"", shell("timeout 5d x", "60")},
		"PROOF OF WORK: timeout":                             {"", shell("timeout", "60")},
		"PROOF OF WORK:\nPROOF OF WORK: x\nPROOF OF WORK: y": {"PROOF OF WORK:\nPROOF OF WORK: y", shell("x", "60")},
		"```\nPROOF OF WORK: x\n```\nPROOF OF WORK: y":       {"```\nPROOF OF WORK: x\n```", shell("y", "60")},
		"PROOF OF WORK: y\n" + makeTest + "\nb":              {makeTest + "\nb", shell("y", "60")},
		"PROOF OF WORK:":                                     {"PROOF OF WORK:", ""},
		"**PROOF OF WORK:**":                                 {"**PROOF OF WORK:**", ""},
		"~~~\nPROOF OF WORK: x\n~~~":                         {"~~~\nPROOF OF WORK: x\n~~~", ""},
		"The PROOF OF WORK: x":                               {"The PROOF OF WORK: x", ""},
		"PROOF OF WORK x":                                    {"PROOF OF WORK x", ""},
		"1. PROOF OF WORK: x":                                {"1. PROOF OF WORK: x", ""},
	} {
		step := stepOf(t, section)
		if step.Body != want[0] || string(step.Definition) != want[1] {
			t.Errorf("%q: body %q, definition %s", section, step.Body, step.Definition)
		}
	}
}

func TestErrorsNameTheirStep(t *testing.T) {
	for challenge, want := range map[string]string{
		`{"type":"docker"}`:                    `unknown type "docker"`,
		`{"type":"Shell","shell":{"cmd":"x"}}`: `unknown type "Shell"`,
		`{"type":7}`:                           `unknown type 7`,
		`{"type":""}`:                          `unknown type ""`,
		`{}`:                                   "`cmd`",
		`{"type":"shell"}`:                     "`cmd`",
		`{"type":"shell","shell":{"cmd":""}}`:  "`cmd`",
		`{"type":"shell","shell":{"cmd":1}}`:   "`cmd`",
		`{"type":"shell","shell":{"CMD":"x"}}`: "`cmd`",
		`{"type":"shell","shell":"make"}`:      "`cmd`",
		`{"comment":{"min_length":5}}`:         "`cmd`",
		`{"type":"mcp","mcp":{}}`:              "`tool_name`",
		`{"type":"mcp"}`:                       "`tool_name`",
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":"60"}}`:  "`timeout_seconds` is not a number",
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":null}}`:  "`timeout_seconds` is not a number",
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":1e400}}`: "`timeout_seconds` is not a number",
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":-1}}`:    "`timeout_seconds` is negative",
		`{"type":"comment","comment":{"min_length":true}}`:             "`min_length` is not a number",
		`{"type":"comment","comment":{"min_length":-0.5}}`:             "`min_length` is negative",
		`{"type":"user_input","user_input":{"approvals":0}}`:           "`approvals`",
		`{"type":"user_input","user_input":{"approvals":1.5}}`:         "`approvals`",
		`{"type":"user_input","user_input":{"approvals":"2"}}`:         "`approvals`",
	} {
		_, errors, _ := runbook.Parse("# Book\n## First\n\n## The step\n\n```json\n{\"challenge\":" + challenge + "}\n```\n")
		if len(errors) != 1 || errors[0].Line != 6 || errors[0].Step != "The step" || !strings.Contains(errors[0].Message, want) || !strings.Contains(errors[0].Message, "The step") {
			t.Errorf("%s: %+v", challenge, errors)
		}
	}
}

func TestADocumentWithoutExactlyOneTitleIsRefused(t *testing.T) {
	for text, line := range map[string]int{
		"": 1, "## Step\n": 1, "text": 1, "```\n# no\n```": 1, "# One\n\n# Two\n": 3, "# One\n## Step\n\n\n# Two": 5, "#\n## Step": 1,
		"# " + strings.Repeat("x", runbook.MaxText): 1, "# A\n" + strings.Repeat("> ", 20): 2, "# A\n\n" + strings.Repeat(" ", 70) + "- a": 3,
	} {
		if _, errors, _ := runbook.Parse(text); len(errors) != 1 || errors[0].Line != line || errors[0].Step != "" {
			t.Errorf("%.40q: %+v", text, errors)
		}
	}
	_, errors, warnings := runbook.Parse("# Fine\n" + strings.Repeat("-", 100))
	if errors == nil || warnings == nil || len(errors)+len(warnings) > 0 {
		t.Errorf("a good one: %+v, %+v", errors, warnings)
	}
}

func TestADefinitionIsReadWithItsDefaults(t *testing.T) {
	for challenge, want := range map[string]runbook.Definition{
		`{"shell":{"cmd":"x"}}`: {Type: "shell", Required: true, Command: "x", TimeoutSeconds: 30},
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":0}}`:                    {Type: "shell", Required: true, Command: "x", TimeoutSeconds: 30},
		`{"type":"shell","shell":{"cmd":"x","timeout_seconds":1.5},"required":false}`: {Type: "shell", Command: "x", TimeoutSeconds: 1.5},
		`{"type":"mcp","mcp":{"tool_name":"t"}}`:                                      {Type: "mcp", Required: true, Tool: "t"},
		`{"type":"mcp","mcp":{"tool_name":"t","expected_result":{"a":1}}}`:            {Type: "mcp", Required: true, Tool: "t", ExpectedResult: json.RawMessage(`{"a":1}`)},
		`{"type":"user_input"}`: {Type: "user_input", Required: true, Prompt: "Confirm completion", Approvals: 1},
		`{"type":"user_input","user_input":{"prompt":"Go?","approvals":2}}`: {Type: "user_input", Required: true, Prompt: "Go?", Approvals: 2},
		`{"type":"comment"}`: {Type: "comment", Required: true, MinLength: 10},
		`{"type":"comment","comment":{"min_length":0},"shell":{"timeout_seconds":"odd"}}`: {Type: "comment", Required: true, MinLength: 10},
		`{"type":"comment","comment":{"min_length":50}}`:                                  {Type: "comment", Required: true, MinLength: 50},
	} {
		if step := stepOf(t, "```json\n{\"challenge\":"+challenge+"}\n```\n"); !reflect.DeepEqual(*step.Challenge, want) {
			t.Errorf("%s: %+v", challenge, *step.Challenge)
		}
	}
}

func TestAStepPrintsAsTheCheckPrintsIt(t *testing.T) {
	book := parse(t, "# B\n## One\na\n## Two\nb\n```\n{\"challenge\":{\"type\":\"comment\"}}\n```")
	got, err := json.Marshal(book.Steps)
	const want = `[{"index":1,"label":"One","body":"a"},{"index":2,"label":"Two","body":"b","challenge":{"type":"comment","required":true}}]`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	_, errors, _ := runbook.Parse("# B\n## One\n```\n{\"challenge\":{\"type\":\"x\"}}\n```")
	got, _ = json.Marshal(errors)
	if !strings.HasPrefix(string(got), `[{"line":3,"step":"One","message":"Step \"One\": `) {
		t.Errorf("%s", got)
	}
}

func TestReadingTakesLinearTime(t *testing.T) {
	for _, piece := range []string{
		"## a\n" + makeTest + "\n", makeTest + "\n", "```\n", "PROOF OF WORK:\n", "*", "- a\n\n", "> ", "<!--", "<a\n", "\"challenge\"",
	} {
		lineartest.Check(t, piece, 1<<15, func(n int) { runbook.Parse("# A\n## B\n" + strings.Repeat(piece, n/len(piece))) })
	}
	lineartest.Check(t, "blank lines in lists", 1<<15, func(n int) {
		runbook.Parse("# A\n## B\n" + strings.Repeat("- ", 15) + "a\n" + strings.Repeat("\n", n))
	})
}
