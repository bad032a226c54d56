package blocks_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/internal/lineartest"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
)

func createCommand(path, text string) blocks.Command {
	return blocks.Command{Type: blocks.CreateFile, Path: path, Text: text}
}

func readCommand(path string) blocks.Command {
	return blocks.Command{Type: blocks.ReadFile, Path: path}
}

func shellCommand(text string) blocks.Command {
	return blocks.Command{Type: blocks.RunCommand, Text: text}
}

func messageCommand(text string) blocks.Command {
	return blocks.Command{Type: blocks.Message, Text: text}
}

func parseError(text string) blocks.Command {
	return blocks.Command{Type: blocks.ParseError, Text: text}
}

func editCommand(path string, start, end int, text string) blocks.Command {
	return blocks.Command{Type: blocks.EditFile, Path: path, StartLine: start, EndLine: end, Text: text}
}

// responseRow is a response and the commands that Parse must return.
type responseRow struct {
	name, response string
	want           []blocks.Command
}

func checkResponses(t *testing.T, rows []responseRow) {
	t.Helper()
	for _, row := range rows {
		if row.want == nil {
			row.want = []blocks.Command{}
		}
		if got := blocks.Parse(row.response); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s:\n%s\ngot  %+v\nwant %+v", row.name, row.response, got, row.want)
		}
	}
}

func TestEachCommandIsParsed(t *testing.T) {
	checkResponses(t, []responseRow{
		{"nothing", "", nil},
		{"only text", "I would create a file.\n\nShall I?", nil},
		{"CREATE_FILE", "[CREATE_FILE path=\"a b/c.txt\"]\none\n\ttwo \n[/CREATE_FILE]", []blocks.Command{createCommand("a b/c.txt", "one\n\ttwo ")}},
		{"EDIT_FILE", "[EDIT_FILE path=\"a\" start_line=\"2\" end_line=\"3\"]\nx\n[/EDIT_FILE]\n", []blocks.Command{editCommand("a", 2, 3, "x")}},
		{"DELETE_FILE", `[DELETE_FILE path="a"]`, []blocks.Command{{Type: blocks.DeleteFile, Path: "a"}}},
		{"READ_FILE", `[READ_FILE path="a"]`, []blocks.Command{readCommand("a")}},
		{"RUN_COMMAND", "[RUN_COMMAND]\nls\n[/RUN_COMMAND]", []blocks.Command{shellCommand("ls")}},
		{"MESSAGE", "[MESSAGE]\nhello\n[/MESSAGE]", []blocks.Command{messageCommand("hello")}},
		{"DONE", "[DONE]\nall\n[/DONE]", []blocks.Command{{Type: blocks.Done, Text: "all"}}},
		{
			"several in order, with text between them",
			"First:\n[READ_FILE path=\"a\"]\nthen\n[MESSAGE]\nhello\n[/MESSAGE]\nand\n[DONE]\n[/DONE]\n[READ_FILE path=\"b\"]\n",
			[]blocks.Command{readCommand("a"), messageCommand("hello"), {Type: blocks.Done}, readCommand("b")},
		},
	})
}

func TestLinesEndAtNewlinesAndBlanksAroundTagsDoNotMatter(t *testing.T) {
	checkResponses(t, []responseRow{
		{"byte order mark", "\ufeff[READ_FILE path=\"a\"]", []blocks.Command{readCommand("a")}},
		{"second byte order mark", "\ufeff\ufeff[READ_FILE path=\"a\"]", nil},
		{"byte order mark in the middle", "x\n\ufeff[READ_FILE path=\"a\"]", nil},
		{"CR LF", "[CREATE_FILE path=\"a\"]\r\none\r\n\r\ntwo\r\n[/CREATE_FILE]\r\n", []blocks.Command{createCommand("a", "one\n\ntwo")}},
		{"one CR of several goes away", "[CREATE_FILE path=\"a\"]\none\r\r\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "one\r")}},
		{"CR within a line stays", "[CREATE_FILE path=\"a\"]\none\rtwo\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "one\rtwo")}},
		{"CR alone ends no line", "[MESSAGE]\r[/MESSAGE]\r", nil},
		{
			"Unicode blanks around tags",
			"\u3000[MESSAGE]\u00a0\nx\n\u2003\t[/MESSAGE]\v\u0085\n \t[READ_FILE path=\"a\"] \f",
			[]blocks.Command{messageCommand("x"), readCommand("a")},
		},
		{"a zero-width space is no blank", "\u200b[MESSAGE]\nx\n[/MESSAGE]", nil},
		{"line separator ends no line", "[MESSAGE]\u2028x\n[/MESSAGE]", nil},
	})
}

func TestOnlyExactOpeningTagsBeginACommand(t *testing.T) {
	rows := []responseRow{
		{"slash before the bracket", "[READ_FILE path=\"a\" /]\n[DELETE_FILE path=\"b\"/]", []blocks.Command{readCommand("a"), {Type: blocks.DeleteFile, Path: "b"}}},
		{"tab behind the name", "[READ_FILE\tpath=\"a\"]", []blocks.Command{readCommand("a")}},
		{"no-break space behind the name", "[READ_FILE\u00a0path=\"a\"]", []blocks.Command{readCommand("a")}},
		{"two tags on a line", `[READ_FILE path="a"] [READ_FILE path="b"]`, []blocks.Command{readCommand("b")}},
		{"bracket in a value", `[READ_FILE path="a]"]`, []blocks.Command{readCommand("a]")}},
	}
	for _, text := range []string{
		`- [READ_FILE path="a"]`, `1. [READ_FILE path="a"]`, `> [READ_FILE path="a"]`, "`[READ_FILE path=\"a\"]`", `[READ_FILE path="a"] please`, `[READ_FILE path="a"].`,
		`[READ_FILE path="a"`, `READ_FILE path="a"]`, `[READ_FILE]`, `[READ_FILEpath="a"]`, `[READ_FILES path="a"]`, `[read_file path="a"]`, `[Read_File path="a"]`,
		`[ READ_FILE path="a"]`, `[/READ_FILE path="a"]`, `[RENAME_FILE path="a"]`, `[PARSE_ERROR path="a"]`, `[PARSE_ERROR]`, `[]`, `[`, `]`, `[ ]`, `<READ_FILE path="a">`,
		"[MESSAGE ]\nx\n[/MESSAGE]", "[ MESSAGE]\nx\n[/MESSAGE]", "[MESSAGE title=\"a\"]\nx\n[/MESSAGE]", "[message]\nx\n[/message]", "[MESSAGE] x\n[/MESSAGE]", "x [MESSAGE]\n[/MESSAGE]",
		"[RUN_COMMAND timeout=\"3\"]\nls\n[/RUN_COMMAND]", "[DONE /]", "[DONE/]", "[MESSAGE]x[/MESSAGE]", "[CREATE_FILE]\nx\n[/CREATE_FILE]", "[EDIT_FILE]\nx\n[/EDIT_FILE]",
		"[/MESSAGE]", "[/CREATE_FILE]\n[/DONE]",
	} {
		rows = append(rows, responseRow{"is text", text, nil})
	}
	checkResponses(t, rows)
}

func TestAttributesOfATag(t *testing.T) {
	path := func(tag, path string) responseRow {
		return responseRow{"path", "[READ_FILE " + tag + "]", []blocks.Command{readCommand(path)}}
	}
	missing := func(tag string) responseRow {
		return responseRow{"no path", "[READ_FILE " + tag + "]", []blocks.Command{parseError("READ_FILE missing path attribute")}}
	}
	numbers := func(start, end string, first, last int) responseRow {
		return responseRow{"numbers", `[EDIT_FILE path="a" start_line="` + start + `" end_line="` + end + "\"]\n[/EDIT_FILE]", []blocks.Command{editCommand("a", first, last, "")}}
	}
	rows := []responseRow{
		path(`path="a"`, "a"), path(`path = "a"`, "a"), path("path\t=\u00a0\"a\"", "a"), path(`PATH="a"`, "a"), path(`Path="a"`, "a"), path(`path=""`, ""),
		path(`path="a" path="b"`, "b"), path(`path="a" PATH=""`, ""), path(`mode="x" path="a" x="path"`, "a"), path(`mode="x"path="a"`, "a"), path(`mode="x",path="a"`, "a"),
		path(`path=" a "`, " a "), path(`path="a=b"`, "a=b"), path(`path="x='y' [z] <w> \n é &amp; 'q'"`, `x='y' [z] <w> \n é &amp; 'q'`), path(`path="mode = x"`, "mode = x"),
		path(`path='b' path="a"`, "a"), path(`path=b path="a"`, "a"), path(`path= mode="x" path="a"`, "a"), path(`="x" path="a"`, "a"), path(`path="a" mode="`, "a"),
		path(`path="a`+"\xff\x00"+`b"`, "a\xff\x00b"), path(`path="a" the rest`, "a"), path(`x = = path == path = "a"`, "a"), path(`path="\"`, `\`),
		missing(""), missing(`path`), missing(`path=`), missing(`path="`), missing(`path="a`), missing(`path='a'`), missing(`path=a`), missing(`"path"="a"`), missing(`path:"a"`),
		missing(`paths="a"`), missing(`xpath="a"`), missing(`data-path="a"`), missing(`x.path="a"`), missing(`épath="a"`), missing(`mode="path='a'"`), missing(`path="a path='b'`), missing(`"a"`),
		missing(`path x="a"`), missing(`path=x"a"`),
		numbers("1", "2", 1, 2), numbers(" 1 ", "\t2\u00a0", 1, 2), numbers("+1", "-2", 1, -2), numbers("007", "0", 7, 0),
		numbers("2147483647", "-2147483648", 2147483647, -2147483648),
		{"any order", "[EDIT_FILE end_line=\"2\" Start_Line=\"1\" path=\"a\"]\n[/EDIT_FILE]", []blocks.Command{editCommand("a", 1, 2, "")}},
	}
	checkResponses(t, rows)
}

func TestABodyEndsAtTheFirstClosingTag(t *testing.T) {
	checkResponses(t, []responseRow{
		{"no line", "[CREATE_FILE path=\"a\"]\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "")}},
		{"one empty line", "[CREATE_FILE path=\"a\"]\n\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "")}},
		{"two empty lines", "[CREATE_FILE path=\"a\"]\n\n\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "\n")}},
		{"nothing is trimmed", "[CREATE_FILE path=\"a\"]\n\n  x \n\t\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "\n  x \n\t")}},
		{"raw bytes", "[CREATE_FILE path=\"a\"]\n\xff\xfe\x00\x1b[0m\ufeff\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "\xff\xfe\x00\x1b[0m\ufeff")}},
		{"trimmed as a whole", "[RUN_COMMAND]\n\n  if x; then \n    y\n  fi\n \u00a0\n[/RUN_COMMAND]", []blocks.Command{shellCommand("if x; then \n    y\n  fi")}},
		{"MESSAGE is trimmed", "[MESSAGE]\n\n a\n\n b \n\n[/MESSAGE]", []blocks.Command{messageCommand("a\n\n b")}},
		{"DONE is trimmed", "[DONE]\n  \n[/DONE]", []blocks.Command{{Type: blocks.Done}}},
		{
			"tags of other commands", "[CREATE_FILE path=\"a\"]\n[DONE]\nx\n[/DONE]\n[READ_FILE path=\"b\"]\n[/EDIT_FILE]\n[/CREATE_FILE]",
			[]blocks.Command{createCommand("a", "[DONE]\nx\n[/DONE]\n[READ_FILE path=\"b\"]\n[/EDIT_FILE]")},
		},
		{
			"closed by the tag of the next one", "[CREATE_FILE path=\"a\"]\nx\n[CREATE_FILE path=\"b\"]\ny\n[/CREATE_FILE]\n[READ_FILE path=\"c\"]",
			[]blocks.Command{createCommand("a", "x\n[CREATE_FILE path=\"b\"]\ny"), readCommand("c")},
		},
		{
			"closing tags with other text on their line",
			"[MESSAGE]\nx [/MESSAGE]\n[/MESSAGE] x\n- [/MESSAGE]\n[/message]\n[/ MESSAGE]\n[/MESSAGE ]\n[/MESSAGE]\n",
			[]blocks.Command{messageCommand("x [/MESSAGE]\n[/MESSAGE] x\n- [/MESSAGE]\n[/message]\n[/ MESSAGE]\n[/MESSAGE ]")},
		},
		{
			"the rest after the closing tag", "[MESSAGE]\nx\n[/MESSAGE]\n[/MESSAGE]\n[MESSAGE]\ny\n[/MESSAGE]",
			[]blocks.Command{messageCommand("x"), messageCommand("y")},
		},
		{"one-line commands have no closing tag", "[READ_FILE path=\"a\"]\n[READ_FILE path=\"b\"]\n[/READ_FILE]", []blocks.Command{readCommand("a"), readCommand("b")}},
		{"a code fence is body", "[CREATE_FILE path=\"a\"]\n```go\nx\n```\n[/CREATE_FILE]", []blocks.Command{createCommand("a", "```go\nx\n```")}},
	})
}

func TestACommandThatCannotBeParsedIsAnErrorWithAReason(t *testing.T) {
	rows := []responseRow{
		{"CREATE_FILE", "[CREATE_FILE file=\"a\"]\nx\n[/CREATE_FILE]", []blocks.Command{parseError("CREATE_FILE missing path attribute")}},
		{"DELETE_FILE", "[DELETE_FILE ]x", nil},
		{"DELETE_FILE", "[DELETE_FILE /]", []blocks.Command{parseError("DELETE_FILE missing path attribute")}},
		{"READ_FILE", "[READ_FILE ]", []blocks.Command{parseError("READ_FILE missing path attribute")}},
		{"CREATE_FILE is open", "[CREATE_FILE path=\"a'b\"]\nx", []blocks.Command{parseError("CREATE_FILE for 'a'b' missing closing tag")}},
		{"EDIT_FILE is open", "[EDIT_FILE path=\"\" start_line=\"1\" end_line=\"1\"]", []blocks.Command{parseError("EDIT_FILE for '' missing closing tag")}},
		{"RUN_COMMAND is open", "[RUN_COMMAND]\nls [/RUN_COMMAND]", []blocks.Command{parseError("RUN_COMMAND missing closing tag")}},
		{"MESSAGE is open", "[MESSAGE]\n[/DONE]", []blocks.Command{parseError("MESSAGE missing closing tag")}},
		{"DONE is open", "[/DONE]\n[DONE]", []blocks.Command{parseError("DONE missing closing tag")}},
		{
			"what stands in a broken block is read", "[CREATE_FILE name=\"a\"]\n[READ_FILE path=\"b\"]\n[/CREATE_FILE]\n[DONE]\n[READ_FILE path=\"c\"]\n[MESSAGE]\nx\n[/MESSAGE]",
			[]blocks.Command{
				parseError("CREATE_FILE missing path attribute"), readCommand("b"), parseError("DONE missing closing tag"), readCommand("c"), messageCommand("x"),
			},
		},
		{
			"a closing tag that was passed closes nothing", "[MESSAGE]\nx\n[/MESSAGE]\n[MESSAGE]\ny",
			[]blocks.Command{messageCommand("x"), parseError("MESSAGE missing closing tag")},
		},
	}
	for _, tag := range []string{``, `path="a"`, `path="a" start_line="1"`, `path="a" end_line="1"`, `start_line="1" end_line="1"`, `path="a" start_line=1 end_line="1"`} {
		rows = append(rows, responseRow{
			"EDIT_FILE lacks an attribute", "[EDIT_FILE " + tag + "]\n[/EDIT_FILE]",
			[]blocks.Command{parseError("EDIT_FILE missing required attributes (path, start_line, end_line)")},
		})
	}
	for _, number := range []string{"", " ", "one", "1.0", "1e2", "0x1", "1_0", "1 2", "2147483648", "-2147483649", "--1", "+", "٣", "1\x00"} {
		for _, tag := range []string{`start_line="` + number + `" end_line="1"`, `start_line="1" end_line="` + number + `"`} {
			rows = append(rows, responseRow{
				"EDIT_FILE with a wrong number", "[EDIT_FILE path=\"a\" " + tag + "]\n[/EDIT_FILE]",
				[]blocks.Command{parseError("EDIT_FILE start_line/end_line must be integers")},
			})
		}
	}
	checkResponses(t, rows)
}

func TestParsedCommandsAsJSON(t *testing.T) {
	for _, row := range []struct {
		response, want string
		ok             bool
	}{
		{"no command", `{"commands":[]}`, true},
		{
			`[EDIT_FILE path="x" start_line="one" end_line="2"]
[READ_FILE path="y"]
[/EDIT_FILE]
Use [RUN_COMMAND] for this:
  [RUN_COMMAND]

  ls; ls -l
  [/RUN_COMMAND]
`, `{"commands":[{"type":"PARSE_ERROR","message":"EDIT_FILE start_line/end_line must be integers"},` +
				`{"type":"READ_FILE","path":"y"},{"type":"RUN_COMMAND","command":"ls; ls -l"}]}`, false,
		},
		{
			"[CREATE_FILE path=\"<a>\"]\n<b> & \"c\"\nd\xff\n[/CREATE_FILE]\n[EDIT_FILE path=\"\" start_line=\"0\" end_line=\"-2\"]\n[/EDIT_FILE]",
			`{"commands":[{"type":"CREATE_FILE","path":"<a>","content":"<b> & \"c\"\nd\ufffd"},{"type":"EDIT_FILE","path":"","start_line":0,"end_line":-2,"content":""}]}`, true,
		},
		{
			"[DELETE_FILE path=\"a\"]\n[READ_FILE path=\"\"]\n[RUN_COMMAND]\n[/RUN_COMMAND]\n[MESSAGE]\n[/MESSAGE]\n[DONE]\nx && y\n[/DONE]",
			`{"commands":[{"type":"DELETE_FILE","path":"a"},{"type":"READ_FILE","path":""},{"type":"RUN_COMMAND","command":""},` +
				`{"type":"MESSAGE","text":""},{"type":"DONE","text":"x && y"}]}`, true,
		},
	} {
		object, ok := blocks.Parser().Parse(row.response, "")
		if b, err := terminal.EncodeLine(object); err != nil || string(b) != row.want+"\n" || ok != row.ok {
			t.Errorf("got  %s, %v, %v\nwant %s", b, ok, err, row.want)
		}
		if b, err := json.Marshal(object); err != nil || !json.Valid(b) {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// TestHostileResponsesTakeLinearTime parses 64 KiB, or 128 KiB with NANOBOT_LONG=1.
func TestHostileResponsesTakeLinearTime(t *testing.T) {
	size := killtest.Rounds(t, 1<<16, 1<<17)
	for _, piece := range []string{
		"[CREATE_FILE path=\"a\"]\n", "[EDIT_FILE path=\"a\" start_line=\"1\" end_line=\"1\"]\n", "[RUN_COMMAND]\n[MESSAGE]\n[DONE]\n", "[/MESSAGE]\n", "[MESSAGE]\nx\n[/MESSAGE]\n",
		"[MESSAGE]\n[/DONE]\n", "\n", "\r", "\r\n", " ", "\u3000", "[", "]", "[READ_FILE ", "[READ_FILE path=\"", "=", "= ", "path = ", "path=\"a\" ", "\"", "a", "[/", "\xff",
	} {
		for _, before := range []string{"", "[READ_FILE ", "[READ_FILE path=\"", "[MESSAGE]\n"} {
			lineartest.Check(t, before+piece, size, func(n int) { blocks.Parse(before + strings.Repeat(piece, n/len(piece)) + "]") })
			if t.Failed() {
				return // the others may take as long
			}
		}
	}
	lineartest.Check(t, "open commands, then closing tags", size, func(n int) {
		blocks.Parse(strings.Repeat("[MESSAGE]\n", n/20) + strings.Repeat("[/DONE]\n[/RUN_COMMAND]\n", n/40))
	})
}
