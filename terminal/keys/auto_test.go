package keys_test

import (
	"encoding/json"
	"testing"

	"nanobot/terminal/keys"
)

func TestTheFormatIsDetectedFromTheText(t *testing.T) {
	inJSON, inXML := withCommands(listing), inCommands(xmlListing)
	bad := "{a} <response>"
	for text, want := range map[string]keys.Format{
		inJSON: keys.JSON, inXML: keys.XML, "": keys.JSON, "hello": keys.JSON, "{": keys.JSON, "<response>": keys.XML,
		"Here: " + inJSON: keys.JSON, "Here: " + inXML: keys.XML,
		inJSON + inXML: keys.JSON, inXML + inJSON: keys.XML,
		"I use {x}: " + inXML: keys.XML, "No <response> but " + inJSON: keys.JSON,
		bad: keys.JSON, "<response> {a}": keys.XML,
		"<think>not {} but <response></think>" + inJSON: keys.JSON, "\n<think>not { }</think>\n" + inXML: keys.XML,
		"<think>" + inJSON: keys.JSON,
	} {
		if _, format := keys.Parse(keys.Auto, text); format != want {
			t.Errorf("%s: read as %s, want %s", text, format, want)
		}
	}
	checkParsed(t, keys.Auto, []parseCase{
		{"thoughts are no part of a response", "<think>{\"analysis\":</think>\n" + inJSON, responseWith()},
		{"thoughts behind blanks", "\n <think>x</think>\n" + inJSON, responseWith()},
		{"thoughts in the middle are", "So <think></think>" + inJSON, responseWith(extraBefore)},
		{"thoughts that do not end are", "<think>" + inJSON, responseWith(extraBefore)},
		{"thoughts with a response", "<think>" + inResponse("<commands>x</commands>") + "</think>" + inXML, responseWith()},
		{"the first format stands if neither can be read", "{a} <response>", keys.Response{
			Error:    "Invalid JSON: invalid character 'a' looking for beginning of object key string | Content: {a}",
			Warnings: []string{extraAfter},
		}},
	})
}

func TestAResponseInJSONHasAllFields(t *testing.T) {
	for text, want := range map[string]string{
		inCommands(xmlListing): `{"analysis":"a","plan":"p","commands":[{"keystrokes":"ls\n","duration":0.1}],"task_complete":false,"error":"","warnings":[]}`,
		"":                     `{"analysis":"","plan":"","commands":[],"task_complete":false,"error":"No valid JSON found in response","warnings":["No valid JSON object found"]}`,
	} {
		r, _ := keys.Parse(keys.Auto, text)
		if b, err := json.Marshal(r); err != nil || string(b) != want {
			t.Errorf("%s, %v, want %s", b, err, want)
		}
	}
}
