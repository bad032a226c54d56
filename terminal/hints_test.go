package terminal_test

import (
	"testing"

	"go.uber.org/zap/zapcore"

	"nanobot/internal/wanttest"
)

func TestAFrameThatIsAlmostRightGetsAHintInTheLog(t *testing.T) {
	const spread = "the output looks like a JSON object over several lines, which is sent as text: print each frame on one line (json.dumps without indent, jq -c)"
	for _, tc := range []struct {
		name, script string
		want         []string
	}{
		{"a misspelt type", frame(object{"type": "mesage", "text": "x"}), []string{`frame of unknown type "mesage" ignored; did you mean "message"?`}},
		{"a type in capitals", frame(object{"type": "Progress", "text": "x"}), []string{`frame of unknown type "Progress" ignored; did you mean "progress"?`}},
		{"another type", frame(object{"type": "teleport", "text": "x"}), []string{`frame of unknown type "teleport" ignored; the types are message, delta, progress, error, log, ask, usage`}},
		{"negative usage", frame(object{"type": "usage", "cost": -1}), []string{`usage frame ignored: cost must be a number from 0 to 1000000, not -1`}},
		{"part of a token", frame(object{"type": "usage", "input_tokens": 1.5}), []string{`usage frame ignored: input_tokens must be a number from 0 to 1000000000000, not 1.5`}},
		{"a text as usage", frame(object{"type": "usage", "output_tokens": "7"}), []string{`usage frame ignored: output_tokens must be a number from 0 to 1000000000000, not "7"`}},
		{"usage beyond all numbers", `echo '{"type":"usage","cost":1e999}'` + "\n", []string{`usage frame ignored: cost must be a number from 0 to 1000000, not 1e999`}},
		{"usage that is no number", `echo '{"type":"usage","cost":NaN}'` + "\n", []string{`usage frame ignored: NaN and Infinity are no numbers of JSON`}},
		{"other names in usage", frame(object{"type": "usage", "prompt_tokens": 1}), []string{`usage frame ignored: it has no input_tokens, output_tokens or cost; the frame has "prompt_tokens"; did you mean "input_tokens"?`}},
		{"good usage", frame(object{"type": "usage", "input_tokens": 1, "cost": nil}), nil},
		{
			"content instead of text", frame(object{"type": "message", "content": "x"}),
			[]string{`message frame without text: the frame has "content"; did you mean "text"?`, "empty message frame ignored"},
		},
		{"buttons without a text", frame(object{"type": "message", "buttons": []string{"Yes"}}), []string{"message frame with buttons ignored: buttons need a text"}},
		{"a misspelt text", frame(object{"type": "progress", "txt": "x"}), []string{`progress frame without text: the frame has "txt"; did you mean "text"?`}},
		{
			"files instead of media", frame(object{"type": "message", "files": []string{"/x.png"}}),
			[]string{`message frame without text: the frame has "files"; did you mean "media"?`, "empty message frame ignored"},
		},
		{"a misspelt key type", frame(object{"tpye": "message", "text": "x"}), []string{`a line of JSON without "type" is sent as text: the frame has "tpye"; did you mean "type"?`}},
		{"JSON over several lines", "printf '{\n  \"type\": \"message\",\n  \"text\": \"x\"\n}\n{\n  \"type\": \"message\"\n}\n'", []string{spread}},
		{"other JSON", "printf '{\n  \"name\": \"x\"\n}\n{\"a\":1}\n'", nil},
		{"good frames", frame(object{"type": "message", "text": "x", "content": "y"}) + frame(object{"type": "message", "media": []string{"/x.png"}}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, e := range newTurnFixture(t, "rich", tc.script).run().logs.FilterMessage("agent").All() {
				if e.Level == zapcore.WarnLevel {
					got = append(got, e.ContextMap()["text"].(string))
				}
			}
			wanttest.EqualSlices(t, "got", got, tc.want)
		})
	}
}
