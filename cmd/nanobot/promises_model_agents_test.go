//go:build agents

package main

import (
	"regexp"
	"slices"
	"strings"

	"nanobot/terminal/acp/agentstest"
)

// The prompts that the scripted model knows. They are unlike anything that agents write by
// themselves.
const (
	promptAnswer   = "ANSWER-PLEASE"
	promptRun      = "RUN-PLEASE"
	promptOutput   = "OUTPUT-PLEASE"
	promptExact    = "EXACT-PLEASE"
	promptKill     = "SLEEP-PLEASE"
	promptWait     = "WAIT-PLEASE"
	promptRefused  = "REFUSED-PLEASE"
	promptHang     = "HANG-PLEASE"
	promptRemember = "REMEMBER-PELICAN"
	promptRecall   = "RECALL-PLEASE"
	promptAsk      = "ASK-PLEASE"
	promptLink     = "LINK-PLEASE"
	promptPlan     = "PLAN-PLEASE"
	promptTools    = "TOOLS-PLEASE"
	promptSilent   = "SILENT-PLEASE"
)

// printResult prints a text that it does not contain itself, and leaves a file.
const printResult = `printf 'RESULT-OF-%s\n' COMMAND | tee made.txt`

// commands are the commands that the model runs, by prompt.
var commands = map[string]string{
	promptRun:    printResult,
	promptOutput: printResult,
	// Titles of tool calls are shorter than this.
	promptExact:   "printf first > made.txt\n: " + strings.Repeat("between ", 60) + "\nprintf ' and last' >> made.txt",
	promptKill:    `echo $$ > sleeping; exec sleep 900`,
	promptWait:    `touch waiting; until test -e go; do sleep 0.1; done`,
	promptRefused: `touch made.txt`,
}

// replies are the model's replies by prompt. n is the number of tool results since the prompt.
var replies = map[string]func(r agentstest.Request, since string, n int) agentstest.Reply{
	promptAnswer:   always(agentstest.Reply{Text: "Here is **the answer**."}),
	promptRun:      runCommand,
	promptOutput:   runCommand,
	promptExact:    runCommand,
	promptKill:     runCommand,
	promptWait:     runCommand,
	promptRefused:  runCommand,
	promptHang:     always(agentstest.Reply{Text: "I begin and ", Hang: true}),
	promptRemember: always(agentstest.Reply{Text: "Noted."}),
	promptLink:     always(agentstest.Reply{Text: "Look at ![the chart](a.png) and [the report](report.txt)."}),
	promptSilent:   always(agentstest.Reply{}),
	promptAsk:      askPerson,
	promptPlan:     proposePlan,
	promptRecall: func(r agentstest.Request, _ string, _ int) agentstest.Reply {
		if strings.Contains(r.Body, promptRemember) {
			return agentstest.Reply{Text: "It was a pelican."}
		}
		return agentstest.Reply{Text: "I do not remember."}
	},
	promptTools: func(r agentstest.Request, _ string, _ int) agentstest.Reply {
		// Codex has a search for tools instead, whose description names them.
		_, searchable, _ := strings.Cut(r.Body, `"type":"tool_search"`)
		for _, tool := range []string{"send_message", "send_files", "progress", "search_history", "kairos_search"} {
			if r.Tool(tool) == "" && !strings.Contains(searchable, tool) {
				return agentstest.Reply{Text: "There is no " + tool + " among " + strings.Join(r.Tools, ", ") + "."}
			}
		}
		if r.Tool("nanobot_ask_user", "nanobot__ask_user", "ask_person") == "" && !strings.Contains(searchable, "ask_user") {
			return agentstest.Reply{Text: "There is no ask_user among " + strings.Join(r.Tools, ", ") + "."}
		}
		return agentstest.Reply{Text: "All tools are there."}
	},
}

func always(reply agentstest.Reply) func(agentstest.Request, string, int) agentstest.Reply {
	return func(agentstest.Request, string, int) agentstest.Reply { return reply }
}

// replyToPrompt is the scripted model: it replies to the last prompt that it knows.
func replyToPrompt(r agentstest.Request) agentstest.Reply {
	prompt, at := "", -1
	for p := range replies {
		if i := strings.LastIndex(r.Body, p); i > at {
			prompt, at = p, i
		}
	}
	if at < 0 || len(r.Tools) == 0 || strings.Contains(r.Body[at:], "[SUGGESTION MODE: ") { // of Claude Code
		return agentstest.Reply{Text: "A title", Aside: true}
	}
	return replies[prompt](r, r.Body[at:], r.ToolResultsAfter(at))
}

// runCommand calls the tool for commands with the arguments that each agent expects.
func runCommand(r agentstest.Request, since string, n int) agentstest.Reply {
	prompt, _, _ := strings.Cut(since, "-PLEASE")
	prompt += "-PLEASE"
	switch {
	case n > 0 && prompt == promptRefused:
		return agentstest.Reply{}
	case n > 0:
		return agentstest.Reply{Text: "The command has ended.", Hang: prompt == promptOutput}
	}
	tool := r.Tool("bash", "run_shell_command", "exec_command")
	input := map[string]any{"command": commands[prompt], "description": "Run the command"}
	if tool == "exec_command" { // of Codex, which asks only for commands outside its own sandbox
		input = map[string]any{
			"cmd": commands[prompt], "sandbox_permissions": "require_escalated", "justification": "Run the command?",
		}
	}
	return agentstest.Reply{Tool: tool, Input: input}
}

// askPerson calls the tool for questions with the arguments that each agent expects.
func askPerson(r agentstest.Request, since string, n int) agentstest.Reply {
	if n > 0 {
		return agentstest.Reply{Text: "The person chose " + chosen(since) + "."}
	}
	tool := r.Tool("AskUserQuestion", "request_user_input")
	question := map[string]any{
		"question": "Which database?", "header": "Database",
		"options": []any{
			map[string]any{"label": "Postgres", "description": "big"},
			map[string]any{"label": "SQLite", "description": "small"},
		},
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

// planText is a line of the plan.
const planText = "Paint the shed green"

var (
	planFile   = regexp.MustCompile("/[^\\s\"'`\\\\]+/plans/[\\w.-]+\\.md")
	planFolder = regexp.MustCompile("/[^\\s\"'`\\\\]+/plans\\b")
)

// proposePlan proposes a plan as each agent expects it: Codex in a text, Claude Code in the
// arguments of the tool that asks for the approval, Gemini CLI and Kimi Code in a file. The path of
// the file is in the prompt, or in the result of that tool.
func proposePlan(r agentstest.Request, since string, n int) agentstest.Reply {
	const plan = "# The plan\n\n1. " + planText + "\n2. Look at it\n"
	type args = map[string]any
	over := agentstest.Reply{Text: "The planning is over."}
	exit, write := r.Tool("ExitPlanMode", "exit_plan_mode", "plan_exit"), r.Tool("write_file", "WriteFile", "Write")
	steps := []agentstest.Reply{{Tool: exit, Input: args{"plan": plan}}}
	switch {
	case exit == "" && strings.Contains(since, planText):
		return over
	case exit == "" && r.Tool("exec_command") == "":
		return agentstest.Reply{Text: "There is no tool for plans among " + strings.Join(r.Tools, ", ") + "."}
	case exit == "":
		return agentstest.Reply{Text: "<proposed_plan>\n" + plan + "</proposed_plan>"}
	case exit == "exit_plan_mode":
		folders := append(planFolder.FindAllString(r.Body, -1), "") // also relative ones, which are shorter
		file := slices.MaxFunc(folders, func(a, b string) int { return len(a) - len(b) }) + "/shed.md"
		steps = []agentstest.Reply{
			{Tool: write, Input: args{"file_path": file, "content": plan}}, {Tool: exit, Input: args{"plan_filename": "shed.md"}},
		}
	case strings.Contains(r.Body, `"model":"fake"`):
		file := planFile.FindString(since)
		steps = []agentstest.Reply{
			{Tool: exit, Input: args{}}, {Tool: write, Input: args{"path": file, "content": plan}}, {Tool: exit, Input: args{}},
		}
	}
	return append(steps, over)[min(n, len(steps))]
}
