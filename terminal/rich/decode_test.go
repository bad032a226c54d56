package rich_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/internal/fuzztest"
	"nanobot/terminal"
	"nanobot/terminal/rich"
)

func TestDecodeReadsFramesAsWritten(t *testing.T) {
	for line, want := range map[string]terminal.Frame{
		`{"type":"message","text":"hi"}`:                         {Kind: "message", Text: "hi"},
		`  {"type" : "message" , "text" : "hi" }  `:              {Kind: "message", Text: "hi"},
		`{"text":"hi","type":"message","media":["/a","/b"]}`:     {Kind: "message", Text: "hi", Media: []string{"/a", "/b"}},
		`{"type":"message","text":"","media":[ "/a b" , "/c" ]}`: {Kind: "message", Media: []string{"/a b", "/c"}},
		`{"type":"message","text":"x","media":[]}`:               {Kind: "message", Text: "x"},
		`{"type":"message","text":"x","media":null}`:             {Kind: "message", Text: "x"},
		`{"type":"message","text":"x","media":"/one"}`:           {Kind: "message", Text: "x", Media: []string{"/one"}},
		`{"type":"message","text":"x","media":[1,["/a"],{"p":2}]}`: {
			Kind: "message", Text: "x", Media: []string{"1", `["/a"]`, `{"p":2}`},
		},
		`{"type":"message","text":"x","silent":true}`:                        {Kind: "message", Text: "x", Silent: true},
		`{"type":"message","text":"x","silent":"True"}`:                      {Kind: "message", Text: "x", Silent: true},
		`{"type":"message","text":"x","silent":1}`:                           {Kind: "message", Text: "x", Silent: true},
		`{"type":"message","text":"x","silent":0}`:                           {Kind: "message", Text: "x"},
		`{"type":"message","text":"x","silent":false}`:                       {Kind: "message", Text: "x"},
		`{"type":"message","text":"x","silent":null}`:                        {Kind: "message", Text: "x"},
		`{"type":"message","text":"x","silent":[true]}`:                      {Kind: "message", Text: "x"},
		`{"type":"error","text":"x","silent":true}`:                          {Kind: "error", Text: "x"},
		`{"type":"progress","text":"…"}`:                                     {Kind: "progress", Text: "…"},
		`{"type":"error","text":"bad","code":"E1"}`:                          {Kind: "error", Text: "bad", Code: "E1"},
		`{"type":"error","text":"bad","code":17}`:                            {Kind: "error", Text: "bad", Code: "17"},
		`{"type":"log","text":"l","level":"warning"}`:                        {Kind: "log", Text: "l", Level: "warning"},
		`{"type":"message"}`:                                                 {Kind: "message"},
		`{"type":"message","text":null}`:                                     {Kind: "message"},
		`{"type":"message","text":1.50e3}`:                                   {Kind: "message", Text: "1.50e3"},
		`{"type":"message","text":true}`:                                     {Kind: "message", Text: "true"},
		`{"type":"message","text":{"a":[1, 2]}}`:                             {Kind: "message", Text: `{"a":[1, 2]}`},
		`{"type":"message","text":"a","text":"b"}`:                           {Kind: "message", Text: "b"},
		`{"type":"log","type":"message","text":"x"}`:                         {Kind: "message", Text: "x"},
		`{"ty\u0070e":"message","text":"x"}`:                                 {Kind: "message", Text: "x"},
		`{"type":"message","text":"\ud83d\ude00 \"\\\/\b\f\n\r\t"}`:          {Kind: "message", Text: "😀 \"\\/\b\f\n\r\t"},
		`{"type":"message","text":"\ud83d."}`:                                {Kind: "message", Text: "\uFFFD."},
		`{"type":"message","text":"\ude00\ud83d"}`:                           {Kind: "message", Text: "\uFFFD\uFFFD"},
		"{\"type\":\"message\",\"text\":\"a\xff\xfeb\"}":                     {Kind: "message", Text: "a\uFFFD\uFFFDb"},
		`{"type":"message","text":"a\u0000b"}`:                               {Kind: "message", Text: "a\x00b"},
		`{"type":"teleport","text":"x"}`:                                     {Kind: "teleport", Text: "x"},
		`{"type":"ask","text":"x","id":1,"options":["a"]}`:                   {Kind: "ask", Text: "x"},
		`{"type":5,"text":"x"}`:                                              {Kind: "5", Text: "x"},
		`{"type":"message","text":"x","extra":{"a":[{"b":[]}]},"n":-0.1E+2}`: {Kind: "message", Text: "x"},
	} {
		got, ok := rich.Decode([]byte(line))
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v, %v\nwant %+v", line, got, ok, want)
		}
	}
}

func TestDecodeRejectsPlainText(t *testing.T) {
	for _, line := range []string{
		"", " ", "hello", "{", "}", "{}", "[]", `["type"]`, `"type"`, "1", "null", `{"text":"no type"}`, `{"Type":"message"}`,
		`{"type":"message","text":"half`, `{"type":"message"} tail`, `{"type":"message"}{"type":"message"}`,
		`{"type":"message",}`, `{,"type":"message"}`, `{"type" "message"}`, `{type:"message"}`, `{'type':'message'}`,
		"{\"type\":\"message\",\"text\":\"tab\there\"}", `{"type":"message","text":"\x"}`, `{"type":"message","text":"\u12g4"}`,
		`{"type":"message","n":01}`, `{"type":"message","n":1.}`, `{"type":"message","n":.5}`, `{"type":"message","n":1e}`,
		`{"type":"message","n":-}`, `{"type":"message","n":+1}`, `{"type":"message","a":[1,]}`, `{"type":"message","a":[1}}`,
		`{"type":"message","a":{"b"}}`, `{"type":"message","a":tru}`, `{"type":"message","a":NaN}`, `{"type":"message"` + "\x00}",
		"{\"type\":\"message\"}\x00", `{"type":"message","text":"\`,
	} {
		if got, ok := rich.Decode([]byte(line)); ok {
			t.Errorf("%q became a frame: %+v", line, got)
		}
	}
}

func TestDecodeAcceptsDeepNesting(t *testing.T) {
	const deep = 1 << 20
	nested := strings.Repeat("[", deep) + strings.Repeat("]", deep)
	if f, ok := rich.Decode([]byte(`{"type":"message","text":"x","deep":` + nested + `}`)); !ok || f.Text != "x" {
		t.Error("deep nesting is valid JSON")
	}
	for _, line := range []string{strings.Repeat(`{"type":`, deep), strings.Repeat("[", deep), `{"type":"message","a":` + nested[1:] + "}"} {
		if _, ok := rich.Decode([]byte(line)); ok {
			t.Error("unbalanced nesting is plain text")
		}
	}
}

// decodeWithEncodingJSON decodes a line with encoding/json.
func decodeWithEncodingJSON(line []byte) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	trimmed := bytes.TrimLeft(line, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(line, &m) != nil {
		return nil, false
	}
	_, typed := m["type"]
	return m, typed
}

func FuzzDecodeAgreesWithEncodingJSON(f *testing.F) {
	seeds := []string{
		`{"type":"message","text":"hi","media":["/a"]}`, `{"type":"error","code":"X","text":"\ud83d\ude00\n"}`, `{"type":1e5,"a":[{}]}`,
		`{"type":"log","level":null,"text":true}`, "{\"type\":\"\xff\"}", `{"a":{"b":[1,2,{"c":null}]},"type":"x"}`, `{"type":"message","type":null}`,
		`{"ty\u0070e":"\u00e9\\"}`, `{"type":"message","media":[[],{},"\"",-1.5e-3]}`,
		`{"type":"ask","id":7,"text":"sure?","options":["yes",0,null]}`,
	}
	for _, s := range append(seeds, fuzztest.Mutate(seeds, 3000)...) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, ok := rich.Decode(line)
		want, wantOK := decodeWithEncodingJSON(line)
		if ok != wantOK {
			if bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > 9000 {
				return // encoding/json gives up at a depth of 10,000
			}
			t.Fatalf("frame: %v, encoding/json: %v", ok, wantOK)
		}
		if !ok {
			return
		}
		if !utf8.ValidString(frame.Text) || !utf8.ValidString(string(frame.Kind)) {
			t.Fatalf("invalid UTF-8: %+v", frame)
		}
		if got, want := frame.Text, textOf(want["text"]); got != want {
			t.Fatalf("text %q, encoding/json %q", got, want)
		}
	})
}

func textOf(raw json.RawMessage) string {
	var s string
	if raw == nil || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}
