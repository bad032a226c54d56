package keys_test

import (
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/internal/fuzztest"
	"nanobot/internal/musttest"
	"nanobot/terminal/keys"
)

// piecePattern is findPieces as a regular expression.
var piecePattern = regexp.MustCompile(`\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}`)

func FuzzJSON(f *testing.F) {
	seeds := []string{
		withCommands(listing, `{"keystrokes":"C-c"}`), withField(`"task_complete":"yes"`), "```json\n" + withCommands(listing) + "\n```",
		"{a} " + withCommands(listing), withCommands(listing)[:60], `} "{" \" {{x}{y{z}}} {"analysis":1,"plan":null,"commands":{}}`,
		`{"plan":"\ud83d","analysis":"a","commands":[{"keystrokes":"","duration":1e400,"x":[{}]}]}`,
	}
	addSeeds(f, seeds)
	f.Fuzz(func(t *testing.T, text string) {
		checkInvariants(t, keys.JSON, text)
		if got, want := keys.Pieces(text), piecePattern.FindAllString(text, -1); !slices.Equal(got, want) {
			t.Fatalf("pieces %q, want %q", got, want)
		}
		checkAgreement(t, text)
	})
}

// checkAgreement compares the parsed response with the result of encoding/json, for a text that is
// one JSON object.
func checkAgreement(t *testing.T, text string) {
	var fields map[string]json.RawMessage
	r, _ := keys.Parse(keys.JSON, text)
	if r.Error != "" || json.Unmarshal([]byte(text), &fields) != nil {
		return
	}
	var analysis string
	if json.Unmarshal(fields["analysis"], &analysis) == nil && analysis != r.Analysis {
		t.Fatalf("analysis %q, encoding/json %q", r.Analysis, analysis)
	}
	var commands []map[string]any
	if err := json.Unmarshal(fields["commands"], &commands); err != nil {
		return // the duration is too large for encoding/json
	}
	if len(commands) != len(r.Commands) && !r.TaskComplete {
		t.Fatalf("%d commands, encoding/json %d", len(r.Commands), len(commands))
	}
	for i, k := range r.Commands {
		if commands[i]["keystrokes"] != k.Keys {
			t.Fatalf("keystrokes %q, encoding/json %q", k.Keys, commands[i]["keystrokes"])
		}
		if d, ok := commands[i]["duration"].(float64); ok && d != k.Duration {
			t.Fatalf("duration %v, encoding/json %v", k.Duration, d)
		}
	}
}

func FuzzXML(f *testing.F) {
	seeds := []string{
		inCommands(xmlListing + `<keystrokes duration='2' x=1>C-c</keystrokes>`), "so: " + inResponse(sections+"<commands/>"+ended) + "<response>",
		inCommands("<command><keystrokes>ls\n</keystrokes><duration>0.5</duration></command>&lt;"),
		inResponse("<plan/><!-- <x> --><note a='b'/>" + sections + "<commands><keystrokes>"), "<think>{</think>" + inCommands(xmlListing),
	}
	addSeeds(f, seeds)
	f.Fuzz(func(t *testing.T, text string) { checkInvariants(t, keys.XML, text) })
}

func addSeeds(f *testing.F, seeds []string) {
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 3000)...) {
		f.Add(s)
	}
}

// checkInvariants checks the properties that every parsed response has.
func checkInvariants(t *testing.T, f keys.Format, text string) {
	r, format := keys.Parse(f, text)
	if format != f {
		t.Fatalf("read as %s", format)
	}
	if r.Error != "" && (len(r.Commands) > 0 || r.TaskComplete) {
		t.Fatalf("something is done in spite of an error: %+v", r)
	}
	for _, k := range r.Commands {
		if math.IsInf(k.Duration, 0) || math.IsNaN(k.Duration) {
			t.Fatalf("wait for %v", k.Duration)
		}
		if b := keys.Encode(k.Keys, keys.Modes{}); b != nil && k.Keys == "" {
			t.Fatalf("nothing is sent as %q", b)
		}
	}
	for _, s := range append([]string{r.Analysis, r.Plan, r.Error}, r.Warnings...) {
		if !utf8.ValidString(s) {
			t.Fatalf("invalid UTF-8: %q", s)
		}
	}
	b := musttest.Get(json.Marshal(r))(t)
	var again keys.Response
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(again, r) {
		t.Fatalf("%+v became %+v: %v", r, again, err)
	}
	auto, read := keys.Parse(keys.Auto, text)
	if strings.HasPrefix(strings.TrimSpace(text), "<think>") {
		return // which the other formats do not know
	}
	if read == f && !reflect.DeepEqual(auto, r) {
		t.Fatalf("auto read %+v, %s read %+v", auto, f, r)
	}
	if auto.Error != "" && r.Error == "" {
		t.Fatalf("auto says %s, %s can be read", auto.Error, f)
	}
}
