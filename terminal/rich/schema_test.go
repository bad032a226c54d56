package rich_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

// inlineFrame matches a line of JSON with a type in a page, in a block or in a sentence.
var inlineFrame = regexp.MustCompile(`\{"type":"[a-z]+"[^}\n]*\}`)

// TestTheSchemaAcceptsEveryExampleOfTheManual takes … for a value of the right type.
func TestTheSchemaAcceptsEveryExampleOfTheManual(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	page := string(musttest.Get(os.ReadFile("../../docs/protocol.md"))(t))
	examples := inlineFrame.FindAllString(page, -1)
	if len(examples) < 15 {
		t.Fatalf("found %d examples", len(examples))
	}
	values := regexp.MustCompile(`("input_tokens"|"output_tokens"|"cost"|"version"):…`)
	seen := map[string]bool{}
	for _, example := range examples {
		line := values.ReplaceAllString(example, "$1:1")
		line = strings.ReplaceAll(strings.ReplaceAll(line, "[…]", "[]"), "…", `"x"`)
		var value any
		musttest.Do(t, json.Unmarshal([]byte(line), &value))
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", example, err)
		}
		seen[value.(map[string]any)["type"].(string)] = true
	}
	for _, kind := range append(terminal.FrameTypes(), "answer", "inject") {
		wanttest.Equal(t, "an example of "+kind, seen[kind], true)
	}
}

func TestTheSchemaKnowsEnvelopesAndWrongFrames(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	envelope := terminal.Envelope{
		Version: 1, Text: "hi", Channel: "web", ChatID: "1", SessionKey: "web:1", Workspace: "/w", UserDataDir: "/w/users/1",
		User: &terminal.User{ID: "7"}, History: []terminal.HistoryEntry{{Role: "user", Text: "hi"}},
	}
	for _, c := range []struct {
		line  string
		valid bool
	}{
		{string(musttest.Get(envelope.Line())(t)), true},
		{`{"type":"message","text":"x","mine":1}`, true},
		{`{"type":"ask","id":7,"text":"x"}`, true},
		{`{"version":1,"text":"x"}`, false},
		{`{"type":"mesage","text":"x"}`, false},
		{`{"type":"progress","content":"x"}`, false},
		{`{"type":"message","media":"x.png"}`, false},
		{`{"text":"x"}`, false},
	} {
		var value any
		musttest.Do(t, json.Unmarshal([]byte(c.line), &value))
		wanttest.Equal(t, c.line, schema.Validate(value) == nil, c.valid)
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	source := musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(musttest.Get(rich.Describe().Schema())(t)))))(t)
	c := jsonschema.NewCompiler()
	musttest.Do(t, c.AddResource("rich.json", source))
	return musttest.Get(c.Compile("rich.json"))(t)
}
