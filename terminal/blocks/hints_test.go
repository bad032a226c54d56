package blocks_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/internal/lineartest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/blocks"
)

// The hints about each command.
const (
	createHint = `write [CREATE_FILE path="FILE"] alone on its line, the body on the lines after it, and then [/CREATE_FILE] alone on its line`
	editHint   = `write [EDIT_FILE path="FILE" start_line="N" end_line="M"] alone on its line, the body on the lines after it, and then [/EDIT_FILE] alone on its line`
	deleteHint = `write [DELETE_FILE path="FILE"] alone on its line, without a closing tag`
	readHint   = `write [READ_FILE path="FILE"] alone on its line, without a closing tag`
	runHint    = "write [RUN_COMMAND] alone on its line, the body on the lines after it, and then [/RUN_COMMAND] alone on its line"
	sayHint    = "write [MESSAGE] alone on its line, the body on the lines after it, and then [/MESSAGE] alone on its line"
	doneHint   = "write [DONE] alone on its line, the body on the lines after it, and then [/DONE] alone on its line"
	fenceHint  = "write the body without a code fence around it, because the fence is a part of the body"
)

func TestEachNearMissGetsAHintWithTheRightForm(t *testing.T) {
	t.Parallel()
	for hint, lines := range map[string][]string{
		runHint: {
			"- [RUN_COMMAND]", "* [RUN_COMMAND]", "+ [RUN_COMMAND]", "• [RUN_COMMAND]", "1. [RUN_COMMAND]", "12) [RUN_COMMAND]", "> [RUN_COMMAND]", "> - [RUN_COMMAND]",
			"**[RUN_COMMAND]**", "__[RUN_COMMAND]__", "`[RUN_COMMAND]`", "```[RUN_COMMAND]", "### [RUN_COMMAND]", "  - **[RUN_COMMAND]**", "[run_command]", "[Run_Command]", "[RunCommand]",
			"[RUN COMMAND]", "[RUN-COMMAND]", "[ RUN_COMMAND ]", "[[RUN_COMMAND]]", "<RUN_COMMAND>", "<run_command>ls</run_command>", "[RUN_COMMAND]ls[/RUN_COMMAND]", "[RUN_COMMAND] ls -l [/RUN_COMMAND]",
			"[RUN_COMMAND] ls", "[RUN_COMMAND]: ls", "[RUN_COMMAND: ls]", "[RUN_COMMAND command=\"ls\"]", "[RUN_COMMAND \"ls\"]", "[RUN_COMMAND", "- [run_command]ls[/run_command]",
			"RUN_COMMAND", "RUN_COMMAND: ls", "**RUN_COMMAND**", "### RUN_COMMAND", "```RUN_COMMAND", "RUN_COMMAND(\"ls\")",
		},
		readHint: {
			`- [READ_FILE path="a"]`, `[read_file path="a"]`, `[READ_FILE]`, `[READ_FILE: a]`, `[READ_FILE path="a"] please`, "`[READ_FILE path=\"a\"]`", `<READ_FILE path="a"/>`, `[READ_FILEpath="a"]`,
			`[READ_FILE path="a"].`, `[READ_FILE path="a"`, `READ_FILE path="a"`, `READ_FILE("a")`, `[ReadFile path="a"]`,
		},
		createHint: {`[create_file path="a"]`, `[CREATE_FILE]`, `**[CREATE_FILE path="a"]**`, `[CREATE_FILE path="a"]x`, `CREATE_FILE: a`},
		editHint:   {`[edit_file path="a" start_line="1" end_line="2"]`, `- [EDIT_FILE path="a" start_line="1" end_line="2"]`, "[EDIT_FILE]"},
		deleteHint: {`[Delete_File path="a"]`, `1. [DELETE_FILE path="a"]`, "[DELETE_FILE]"},
		sayHint:    {"[message]", "[MESSAGE]hello[/MESSAGE]", "<message>", "[MESSAGE title=\"x\"]", "[MESSAGE ]"},
		doneHint:   {"[done]", "[Done] It works.", "[DONE]ready[/DONE]", "[DONE /]", "- [DONE]"},
	} {
		for _, line := range lines {
			response := "First.\r\n\r\n" + line + "\n"
			if got := blocks.Parse(response); len(got) > 0 {
				t.Errorf("%q is executed: %+v", line, got)
			}
			wanttest.EqualSlices(t, "hints about "+line, blocks.Hints(response), []string{"line 3: " + hint})
		}
	}
}

func TestACommandThatCannotBeParsedGetsAHintWithTheRightForm(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ response, want string }{
		{"[RUN_COMMAND]\nls\n", "line 1: " + runHint},
		{"x\n[RUN_COMMAND]\nls\n[/run_command]", "line 2: " + runHint},
		{"[RUN_COMMAND]\nls [/RUN_COMMAND]", "line 1: " + runHint},
		{"[READ_FILE path='a']", "line 1: " + readHint},
		{"[READ_FILE \"a\"]", "line 1: " + readHint},
		{"[DELETE_FILE file=\"a\"]", "line 1: " + deleteHint},
		{"\n\n[EDIT_FILE path=\"a\" line=\"3\"]\nx\n[/EDIT_FILE]", "line 3: " + editHint},
		{"[CREATE_FILE path=\"a\"]\nx\n", "line 1: " + createHint},
		{"[CREATE_FILE path=\"a\"]x[/CREATE_FILE]", "line 1: " + createHint},
		{"[DONE]\nready", "line 1: " + doneHint},
		{"[MESSAGE]\nhello\n[READ_FILE path=\"a\"]", "line 1: " + sayHint},
		// a forgotten closing tag, so that the one of the next command was found
		{"[RUN_COMMAND]\nls\n[RUN_COMMAND]\npwd\n[/RUN_COMMAND]", "line 1: " + runHint},
		{"[CREATE_FILE path=\"a\"]\nx\n[/create_file]\n[CREATE_FILE path=\"b\"]\ny\n[/CREATE_FILE]", "line 1: " + createHint},
		{"[RUN_COMMAND]\n```sh\nls\n```\n[/RUN_COMMAND]", "line 1: " + fenceHint},
		{"[CREATE_FILE path=\"a.go\"]\n```go\npackage a\n```\n[/CREATE_FILE]", "line 1: " + fenceHint},
		// several lines: after bodies, too
		{
			"[CREATE_FILE path=\"a\"]\n1\n2\n[/CREATE_FILE]\n- [RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[done]\nready\n[/done]",
			"line 5: " + runHint + "|line 8: " + doneHint,
		},
	} {
		wanttest.Equal(t, row.response+":", strings.Join(blocks.Hints(row.response), "|"), row.want)
	}
}

func TestAProperResponseGetsNoHint(t *testing.T) {
	t.Parallel()
	near := "- [RUN_COMMAND]\n[run_command]\n**[DONE]**\n[MESSAGE]x[/MESSAGE]\n<READ_FILE path=\"a\">\nREAD_FILE: x\n[DELETE_FILE path='x']"
	for _, response := range []string{
		"", "I would create a file.", blocks.ProtocolText, "```\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n```", "```text\n[READ_FILE path=\"a\"]\n```\n",
		"Use [RUN_COMMAND] for this:\n  [RUN_COMMAND]\n\n  ls; ls -l\n  [/RUN_COMMAND]\n",
		"RUN_COMMAND runs a command, and READ_FILE reads.\nI send [DONE] next.\n- then a [MESSAGE]\n- [ ] done\n- [x] message\n[done](https://example.org) and [message_id]\nDONE: the first step\n# Done\n`message`\nMessage",
		"[CREATE_FILE path=\"doc.txt\"]\n" + near + "\n[/CREATE_FILE]", "[MESSAGE]\n" + near + "\n[/MESSAGE]\n[DONE]\n" + strings.ReplaceAll(near, "DONE", "x") + "\n[/DONE]",
		"[CREATE_FILE path=\"README.md\"]\n```sh\nmake\n```\n[/CREATE_FILE]", "[CREATE_FILE path=\"a.py\"]\n```\nx\n[/CREATE_FILE]", "[READ_FILE path=\"a\" /]\n[/READ_FILE]\n[/MESSAGE]",
		blocks.Outbox{Sequence: 2, Task: "a", Hints: []string{"line 1: " + runHint}, Results: []blocks.Result{{Type: blocks.Done, Summary: "x"}}}.Text(),
	} {
		if got := blocks.Hints(response); len(got) > 0 {
			t.Errorf("%s\ngets hints %q", response, got)
		}
	}
}

func TestHintsStandBelowTheResultsOfTheNextOutbox(t *testing.T) {
	t.Parallel()
	r := newFixture(t, "- [RUN_COMMAND]\n  touch never\n  [/RUN_COMMAND]\n", "[READ_FILE path=\"a\"]\n[read_file path=\"b\"]", "[MESSAGE]\nfine\n[/MESSAGE]", doneBlock)
	r.runToDone("go")
	checkEqual(t, "what was not executed", r.readFile("never"), "(none)")
	all := r.outboxes()
	checkEqual(t, "results 1", resultsIn(all[1]), "[FAILED] PARSE_ERROR: No commands found in the response\n[HINT] line 1: "+runHint)
	checkEqual(t, "results 2", resultsIn(all[2]), "[FAILED] READ_FILE: File 'a' not found\n[HINT] line 2: "+readHint)
	checkEqual(t, "results 3", resultsIn(all[3]), "[OK] MESSAGE: fine")
}

func TestTheNumberOfHintsIsLimited(t *testing.T) {
	t.Parallel()
	got := blocks.Hints(strings.Repeat("- [DONE]\n", 1000))
	checkEqual(t, "hints", len(got), 10)
	checkEqual(t, "the last", got[9], fmt.Sprintf("line 10: %s", doneHint))
}

func TestHintsTakeLinearTime(t *testing.T) {
	for _, piece := range []string{"- [DONE]\n", "- ", "1.", "[RUN ", "<", "`", "[MESSAGE]\n", "- [RUN_COMMAND", "[CREATE_FILE path=\"a\"]\n[/create_file]\n"} {
		for _, before := range []string{"", "[RUN_COMMAND]\n"} {
			lineartest.Check(t, before+piece, 1<<16, func(n int) { blocks.Hints(before + strings.Repeat(piece, n/len(piece)) + "\n[/RUN_COMMAND]") })
		}
	}
}
