package keys_test

import (
	"encoding/json"
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/keys"
)

func TestAnOutputIsParsedInEachFormat(t *testing.T) {
	p := keys.Parser()
	good := `{"analysis":"a","plan":"p","commands":[{"keystrokes":"ls\n","duration":0.1}],"task_complete":false,"error":"","warnings":[]}`
	for _, row := range []struct {
		format, output, want string
		ok                   bool
	}{
		{"auto", withCommands(listing), good, true},
		{"json", withCommands(listing), good, true},
		{"auto", inCommands(xmlListing), good, true},
		{"xml", inCommands(xmlListing), good, true},
		{"xml", withCommands(listing), `{"analysis":"","plan":"","commands":[],"task_complete":false,"error":"No \u003cresponse\u003e tag found","warnings":[]}`, false},
	} {
		object, ok := p.Parse(row.output, row.format)
		if b, err := json.Marshal(object); err != nil || string(b) != row.want || ok != row.ok {
			t.Errorf("%s: %s, %v, %v, want %s", row.format, b, ok, err, row.want)
		}
	}
	wanttest.Equal(t, "the default is", p.Formats[0], "auto")
}
