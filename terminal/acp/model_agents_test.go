//go:build agents

package acp_test

import (
	"strings"

	"nanobot/terminal/acp/agentstest"
)

// The prompts that the scripted model knows. They are unlike anything that agents write by
// themselves.
const (
	promptAnswer   = "ANSWER-PLEASE"
	promptRun      = "RUN-PLEASE"
	promptHang     = "HANG-PLEASE"
	promptRemember = "REMEMBER-PELICAN"
	promptRecall   = "RECALL-PLEASE"
	promptAsk      = "ASK-PLEASE"
	promptLink     = "LINK-PLEASE"
)

// command prints a text that it does not contain itself, and leaves a file.
const command = `printf 'RESULT-OF-%s\n' COMMAND | tee made.txt`

// replyToPrompt is the scripted model: it replies to the last prompt that it knows.
func replyToPrompt(r agentstest.Request) agentstest.Reply {
	prompt, at := "", -1
	for _, p := range []string{promptAnswer, promptRun, promptHang, promptRemember, promptRecall, promptAsk, promptLink} {
		if i := strings.LastIndex(r.Body, p); i > at {
			prompt, at = p, i
		}
	}
	if at < 0 || len(r.Tools) == 0 {
		return agentstest.Reply{Text: "A title"}
	}
	toolDone := r.ToolResultsAfter(at) > 0
	switch prompt {
	case promptRun:
		if !toolDone {
			return runCommand(r)
		}
		return agentstest.Reply{Text: "The command has ended."}
	case promptAsk:
		if !toolDone {
			return askPerson(r)
		}
		return agentstest.Reply{Text: "The person chose " + chosen(r.Body[at:]) + "."}
	case promptHang:
		return agentstest.Reply{Text: "I begin and ", Hang: true}
	case promptRemember:
		return agentstest.Reply{Text: "Noted."}
	case promptRecall:
		if strings.Contains(r.Body, promptRemember) {
			return agentstest.Reply{Text: "It was a pelican."}
		}
		return agentstest.Reply{Text: "I do not remember."}
	case promptLink:
		return agentstest.Reply{Text: "Look at ![the chart](chart.png) and [the report](report.txt)."}
	}
	return agentstest.Reply{Text: "Here is **the answer**."}
}

// runCommand calls the tool for commands with the arguments that each agent expects.
func runCommand(r agentstest.Request) agentstest.Reply {
	tool := r.Tool("bash", "run_shell_command", "exec_command")
	input := map[string]any{"command": command, "description": "Run the command"}
	if tool == "exec_command" { // of Codex, which asks only for commands outside its own sandbox
		input = map[string]any{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "Run the command?"}
	}
	return agentstest.Reply{Tool: tool, Input: input}
}

// askPerson calls the tool for questions with the arguments that each agent expects.
func askPerson(r agentstest.Request) agentstest.Reply {
	tool := r.Tool("AskUserQuestion", "request_user_input")
	question := map[string]any{
		"question": "Which database?", "header": "Database",
		"options": []any{map[string]any{"label": "Postgres", "description": "big"}, map[string]any{"label": "SQLite", "description": "small"}},
	}
	if tool == "request_user_input" {
		question["id"] = "database"
	}
	return agentstest.Reply{Tool: tool, Input: map[string]any{"questions": []any{question}}}
}

// chosen returns the option that the result of a question names.
func chosen(result string) string {
	for _, mark := range []string{"tool_result", `"role":"tool"`, "function_call_output"} {
		if i := strings.LastIndex(result, mark); i >= 0 {
			for _, name := range []string{"SQLite", "MariaDB"} {
				if strings.Contains(result[i:], name) {
					return name
				}
			}
		}
	}
	return "nothing"
}
