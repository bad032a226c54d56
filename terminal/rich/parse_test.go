package rich_test

import (
	"encoding/json"
	"testing"

	"nanobot/terminal/rich"
)

func TestAnOutputIsParsedIntoFramesAndText(t *testing.T) {
	for output, want := range map[string]string{
		"":          `{"frames":[],"text":""}`,
		"\n a\r\nb": `{"frames":[],"text":" a\nb"}`,
		"\x1b[1mbold\x1b[m\n{\"type\":\"message\",\"text\":\"\\u001b[1mbold\\u001b[m\"}": `{"frames":[{"type":"message","text":"bold"}],"text":"bold"}`,
		"{\"type\":\"ask\",\"id\":\"\xff\",\"text\":\"\xff\"}":                           `{"frames":[{"type":"ask","id":"` + "\uFFFD" + `","text":"` + "\uFFFD" + `"}],"text":""}`,
		`{"type":"ask","id":{"a":1}}`:                                                    `{"frames":[{"type":"ask","text":""}],"text":""}`,
		`{"type":"usage","input_tokens":3,"cost":0.5,"model":"m"}`:                       `{"frames":[{"type":"usage","text":"","model":"m","input_tokens":3,"output_tokens":0,"cost":0.5}],"text":""}`,
		"{\"type\":\"usage\",\"cost\":Infinity}\nhi":                                     `{"frames":[],"text":"hi"}`,
	} {
		object, ok := rich.Describe().Parser.Parse(output, "")
		if b, err := json.Marshal(object); err != nil || string(b) != want || !ok {
			t.Errorf("%q: %s, %v, %v, want %s", output, b, ok, err, want)
		}
	}
}
