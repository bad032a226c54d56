package keys_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"nanobot/terminal/keys"
)

const (
	noNewline = " should end with newline when followed by another command. " +
		"Otherwise the two commands will be concatenated together on the same line."
	warnBracesAdded = "AUTO-CORRECTED: Fixed incomplete JSON by adding missing closing brace - please fix this in future responses"
	warnExtracted   = "AUTO-CORRECTED: Extracted JSON from mixed content - please fix this in future responses"
	extraBefore     = "Extra text detected before JSON object"
	extraAfter      = "Extra text detected after JSON object"
	wrongOrder      = "Fields appear in wrong order. Found: plan → analysis → commands, expected: analysis → plan → commands"
	listing         = `{"keystrokes":"ls\n","duration":0.1}`
)

// parseCase is the text of a response and the expected result.
type parseCase struct {
	name, text string
	want       keys.Response
}

func checkParsed(t *testing.T, f keys.Format, rows []parseCase) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if row.want.Commands == nil {
				row.want.Commands = []keys.Keystrokes{}
			}
			if row.want.Warnings == nil {
				row.want.Warnings = []string{}
			}
			got, format := keys.Parse(f, row.text)
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("%.300s\n got %.2000s\nwant %.2000s", row.text, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", row.want))
			}
			if f != keys.Auto && format != f {
				t.Errorf("read as %s", format)
			}
		})
	}
}

// withCommands returns a complete response in JSON with these commands.
func withCommands(list ...string) string {
	return `{"analysis":"a","plan":"p","commands":[` + strings.Join(list, ",") + `]}`
}

// withField returns a complete response in JSON with one more field.
func withField(field string) string {
	return `{"analysis":"a","plan":"p","commands":[` + listing + `],` + field + `}`
}

// responseWith returns the parsed response with one command and these warnings.
func responseWith(warnings ...string) keys.Response {
	return keys.Response{Analysis: "a", Plan: "p", Commands: []keys.Keystrokes{{Keys: "ls\n", Duration: 0.1}}, Warnings: warnings}
}

func asComplete(r keys.Response) keys.Response {
	r.TaskComplete = true
	return r
}

// responseWithKeys returns the parsed response with these keystrokes and warnings.
func responseWithKeys(commands []keys.Keystrokes, warnings ...string) keys.Response {
	return keys.Response{Analysis: "a", Plan: "p", Commands: commands, Warnings: warnings}
}

// failedResponse returns a parsed response with valid fields but an invalid command.
func failedResponse(problem string, warnings ...string) keys.Response {
	return keys.Response{Analysis: "a", Plan: "p", Error: problem, Warnings: warnings}
}

func TestAnObjectIsFoundInTheTextOfAResponse(t *testing.T) {
	whole := withCommands(listing)
	none := keys.Response{Error: "No valid JSON found in response", Warnings: []string{"No valid JSON object found"}}
	checkParsed(t, keys.JSON, []parseCase{
		{"alone", whole, responseWith()},
		{"between blanks", "\n\t " + whole + " \r\n", responseWith()},
		{"behind a byte order mark", "\uFEFF" + whole, responseWith()},
		{"text before", "Sure: " + whole, responseWith(extraBefore)},
		{"text after", whole + " done", responseWith(extraAfter)},
		{"fences", "```json\n" + whole + "\n```", responseWith(extraBefore, extraAfter)},
		{"a second object", whole + "\n" + strings.ReplaceAll(whole, "ls", "rm"), responseWith(extraAfter)},
		{"braces in strings", `{"analysis":"} {","plan":"\"}","commands":[]}`, keys.Response{Analysis: "} {", Plan: `"}`}},
		{"thoughts are text before", "<think>x</think>" + whole, responseWith(extraBefore)},
		{"empty", "", none},
		{"no braces", "I do not know", none},
		{"a closing brace first hides the next object", "} " + whole, responseWith(warnExtracted)},
		{"a closing brace first and an opening one", "} { " + whole, responseWith(extraBefore)},
		{"a quotation mark in prose opens a string", `5" ` + whole, responseWith(warnExtracted)},
		{"a backslash hides a quotation mark in prose", `5\" ` + whole, responseWith(extraBefore)},
		{"a backslash hides a brace in prose", `\{ ` + whole, responseWith(extraBefore)},
		{"a backslash hides a character of many bytes", `\é ` + whole, responseWith(extraBefore)},
		{"a backslash at the end", `\`, none},
	})
}

func TestAResponseMustBeStrictJSON(t *testing.T) {
	long := strings.Repeat("é", 100)
	bad := func(reason, content string) keys.Response {
		return keys.Response{Error: "Invalid JSON: " + reason + " | " + content}
	}
	const key = "invalid character 'Ã' looking for beginning of object key string"
	checkParsed(t, keys.JSON, []parseCase{
		{"no key", `{x}`, bad("invalid character 'x' looking for beginning of object key string", "Content: {x}")},
		{"199 characters", "{" + long + long[:2*97] + "}", bad(key, "Content: {"+long+long[:2*97]+"}")},
		{"200 characters", "{" + long + long[:2*98] + "}", bad(key, "Content preview: {"+long[:2*99]+"...")},
		{"a trailing comma", `{"a":1,}`, bad("invalid character '}' looking for beginning of object key string", `Content: {"a":1,}`)},
		{"NaN", `{"a":NaN}`, bad("invalid character 'N' looking for beginning of value", `Content: {"a":NaN}`)},
		{"a bare control character", "{\"a\":\"\n\"}", bad("invalid character '\\n' in string literal", "Content: {\"a\":\"\n\"}")},
		{"too deep", `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}", bad("invalid character '[' exceeded max depth", `Content preview: {"a":`+strings.Repeat("[", 95)+"...")},
		{"single quotes", `{'a':1}`, bad(`invalid character '\'' looking for beginning of object key string`, `Content: {'a':1}`)},
	})
}

func TestTheFieldsOfAResponseAreChecked(t *testing.T) {
	text := func(analysis, plan string, warnings ...string) keys.Response {
		r := responseWith(warnings...)
		r.Analysis, r.Plan = analysis, plan
		return r
	}
	missing := func(analysis, plan, names string) keys.Response {
		return keys.Response{Analysis: analysis, Plan: plan, Error: "Missing required fields: " + names}
	}
	commands := `"commands":[` + listing + `]`
	checkParsed(t, keys.JSON, []parseCase{
		{"all missing", `{}`, missing("", "", "analysis, plan, commands")},
		{"some missing", `{"plan":"p"}`, missing("", "p", "analysis, commands")},
		{"missing though complete", `{"analysis":"a","plan":"p","task_complete":true}`, missing("a", "p", "commands")},
		{"analysis is a number", `{"analysis":5,"plan":"p",` + commands + `}`, text("5", "p", "Field 'analysis' should be a string")},
		{"plan is a list", `{"analysis":"a","plan":["x", 1],` + commands + `}`, text("a", `["x", 1]`, "Field 'plan' should be a string")},
		{"both are null", `{"analysis":null,"plan":null,` + commands + `}`, text("", "", "Field 'analysis' should be a string", "Field 'plan' should be a string")},
		{"commands is an object", `{"analysis":"a","plan":"p","commands":{}}`, failedResponse("Field 'commands' must be an array")},
		{"commands is null", `{"analysis":"a","plan":"p","commands":null}`, failedResponse("Field 'commands' must be an array")},
		{"commands is a string though complete", `{"analysis":"a","plan":1,"commands":"ls","task_complete":true}`, keys.Response{
			Analysis: "a", Plan: "1", Error: "Field 'commands' must be an array", Warnings: []string{"Field 'plan' should be a string"},
		}},
		{"wrong order", `{"plan":"p","analysis":"a",` + commands + `}`, responseWith(wrongOrder)},
		{"wrong types in wrong order", `{"plan":"p","analysis":1,` + commands + `}`, text("1", "p", "Field 'analysis' should be a string", wrongOrder)},
		{"a repeated key has the last value and the first place", `{"analysis":"x","plan":"p","analysis":"a",` + commands + `}`, responseWith()},
		{"a repeated key that comes first", `{"plan":"x","analysis":"a","plan":"p",` + commands + `}`, responseWith(wrongOrder)},
		{"unknown fields", `{"mood":1,"analysis":"a","plan":"p",` + commands + `,"x":{}}`, responseWith()},
		{"an escaped key", `{"\u0061nalysis":"a","plan":"p",` + commands + `}`, responseWith()},
		{"names have a case", `{"Analysis":"a","plan":"p",` + commands + `}`, missing("", "p", "analysis")},
		{"invalid UTF-8", "{\"analysis\":\"\xff\xfe\",\"plan\":\"p\"," + commands + `}`, text("\uFFFD\uFFFD", "p")},
		{"lone surrogates", `{"analysis":"\ud83d.","plan":"\ude00",` + commands + `}`, text("\uFFFD.", "\uFFFD")},
		{"no commands", `{"analysis":"a","plan":"p","commands":[]}`, responseWithKeys(nil)},
	})
}

func TestTaskCompleteIsABooleanOrAString(t *testing.T) {
	const should = "Field 'task_complete' should be a boolean or string"
	for written, want := range map[string]keys.Response{
		"true": asComplete(responseWith()), "false": responseWith(), "null": responseWith(),
		`"true"`: asComplete(responseWith()), `"TRUE"`: asComplete(responseWith()), `"1"`: asComplete(responseWith()), `"Yes"`: asComplete(responseWith()),
		`"false"`: responseWith(), `"no"`: responseWith(), `""`: responseWith(), `" true"`: responseWith(), `"0"`: responseWith(),
		"1": asComplete(responseWith(should)), "-0.5": asComplete(responseWith(should)), "1e400": asComplete(responseWith(should)), "2E0": asComplete(responseWith(should)),
		"0": responseWith(should), "-0.0": responseWith(should), "0e7": responseWith(should), "[]": responseWith(should), "[1]": responseWith(should), `{"a":1}`: responseWith(should),
	} {
		checkParsed(t, keys.JSON, []parseCase{{written, withField(`"task_complete":` + written), want}})
	}
	checkParsed(t, keys.JSON, []parseCase{{
		"after the order", `{"plan":"p","analysis":"a","commands":[` + listing + `],"task_complete":0}`, responseWith(wrongOrder, should),
	}})
}

func TestCommandsAreCheckedOneByOne(t *testing.T) {
	k := func(s string, d float64) keys.Keystrokes { return keys.Keystrokes{Keys: s, Duration: d} }
	one := func(s string, d float64, warnings ...string) keys.Response {
		return responseWithKeys([]keys.Keystrokes{k(s, d)}, warnings...)
	}
	checkParsed(t, keys.JSON, []parseCase{
		{"not an object", withCommands(listing, `"ls"`), failedResponse("Command 2 must be an object")},
		{"null", withCommands("null"), failedResponse("Command 1 must be an object")},
		{"no keystrokes", withCommands(`{"duration":1}`), failedResponse("Command 1 missing required 'keystrokes' field")},
		{"keystrokes are a number", withCommands(`{"keystrokes":1}`), failedResponse("Command 1 'keystrokes' must be a string")},
		{"keystrokes are null", withCommands(`{"keystrokes":null}`), failedResponse("Command 1 'keystrokes' must be a string")},
		{"the first bad one counts", withCommands(`{"keystrokes":"a"}`, "1", "2"), failedResponse("Command 2 must be an object",
			"Command 1: Missing duration field, using default 1.0", "Command 1"+noNewline)},
		{"bad though complete", `{"analysis":"a","plan":"p","commands":[` + listing + `,7],"task_complete":true}`, asComplete(responseWithKeys(nil, "Command 2 must be an object"))},
		{"no duration", withCommands(`{"keystrokes":"a\n"}`), one("a\n", 1, "Command 1: Missing duration field, using default 1.0")},
		{"duration is a string", withCommands(`{"keystrokes":"a","duration":"5"}`), one("a", 1, "Command 1: Invalid duration value, using default 1.0")},
		{"duration is null", withCommands(`{"keystrokes":"a","duration":null}`), one("a", 1, "Command 1: Invalid duration value, using default 1.0")},
		{"duration is a boolean", withCommands(`{"keystrokes":"a","duration":true}`), one("a", 1, "Command 1: Invalid duration value, using default 1.0")},
		{"duration is infinite", withCommands(`{"keystrokes":"a","duration":1e400}`), one("a", 1, "Command 1: Invalid duration value, using default 1.0")},
		{"a long duration", withCommands(`{"keystrokes":"a","duration":600}`), one("a", 600)},
		{"a negative duration", withCommands(`{"keystrokes":"a","duration":-1}`), one("a", -1)},
		{"no wait", withCommands(`{"keystrokes":"a","duration":0}`), one("a", 0)},
		{"an exponent", withCommands(`{"keystrokes":"a","duration":2.5e1}`), one("a", 25)},
		{"unknown fields", withCommands(`{"b":1,"keystrokes":"a","a":{},"duration":1,"b":2}`), one("a", 1, "Command 1: Unknown fields: b, a")},
		{"a repeated key", withCommands(`{"keystrokes":"a","duration":1,"keystrokes":"b"}`), one("b", 1)},
		{"all warnings", withCommands(`{"keystrokes":"a","x":1}`, listing), responseWithKeys([]keys.Keystrokes{k("a", 1), k("ls\n", 0.1)},
			"Command 1: Missing duration field, using default 1.0", "Command 1: Unknown fields: x", "Command 1"+noNewline)},
		{
			"no newline needed", withCommands(`{"keystrokes":"","duration":1}`, `{"keystrokes":"C-c","duration":1}`, `{"keystrokes":"eNTER","duration":1}`,
				`{"keystrokes":"C-1","duration":1}`, `{"keystrokes":"a","duration":1}`),
			responseWithKeys([]keys.Keystrokes{k("", 1), k("C-c", 1), k("eNTER", 1), k("C-1", 1), k("a", 1)}),
		},
		{
			"newline needed", withCommands(`{"keystrokes":"i","duration":1}`, `{"keystrokes":"x\r","duration":1}`, `{"keystrokes":"Esc","duration":1}`, listing),
			responseWithKeys([]keys.Keystrokes{k("i", 1), k("x\r", 1), k("Esc", 1), k("ls\n", 0.1)}, "Command 1"+noNewline, "Command 2"+noNewline, "Command 3"+noNewline),
		},
	})
}

func TestAResponseThatCannotBeReadIsRepaired(t *testing.T) {
	whole := withCommands(listing)
	deep := withCommands(`{"keystrokes":"awk '{print}'\n","duration":1}`)
	none := keys.Response{Error: "No valid JSON found in response", Warnings: []string{"No valid JSON object found"}}
	bad := func(reason, content string, warnings ...string) keys.Response {
		return keys.Response{Error: "Invalid JSON: " + reason + " | Content: " + content, Warnings: warnings}
	}
	const letter = "invalid character 'a' looking for beginning of object key string"
	checkParsed(t, keys.JSON, []parseCase{
		{"a brace is lacking", whole[:len(whole)-1], responseWith(warnBracesAdded)},
		{"a brace is lacking, and text before", "So: " + whole[:len(whole)-1], responseWith(warnBracesAdded, extraBefore)},
		{"a brace too few, and one in a string", `{"analysis":"{","plan":"p","commands":[]`, keys.Response{
			Analysis: "{", Plan: "p", Warnings: []string{warnBracesAdded, extraAfter},
		}},
		{"a bracket is lacking", `{"analysis":"a","plan":"p","commands":[`, none},
		{"a quotation mark is lacking", `{"analysis":"a","plan":"p","commands":[],"x":"`, none},
		{"an object that is none comes first", "{a} " + whole, responseWith(warnExtracted)},
		{"another object comes first", `{"x":1} ` + whole, keys.Response{
			Error: "Missing required fields: analysis, plan, commands", Warnings: []string{extraAfter},
		}},
		{"another object comes second", "{a} " + `{"x":1} ` + whole, bad(letter, "{a}", extraAfter)},
		{"two levels of braces", "{a} " + deep, bad(letter, "{a}", extraAfter)},
		{"a brace that begins no piece", "{ {a} " + whole, responseWith(warnExtracted)},
		{"many braces that begin no piece", "{{{ " + whole + " }", responseWith(warnExtracted)},
		{"the text around a piece is not warned of", "x {a} " + whole + " y", responseWith(warnExtracted)},
	})
}
