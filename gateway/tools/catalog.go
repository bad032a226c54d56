package tools

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool of the server.
type tool struct {
	name, title string
	description string // for the model
	schema      string // JSON Schema of its arguments
	readOnly    bool   // changes nothing
	execute     func(context.Context, call) (any, error)
}

// describe returns the MCP description of the tool.
func (t tool) describe() *mcp.Tool {
	harmless := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: json.RawMessage(t.schema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.readOnly, DestructiveHint: &harmless, OpenWorldHint: &harmless},
	}
}

// tools returns the tools of the connection.
func (s *session) tools() []tool {
	all := []tool{
		{"kairos_search", "Find runbooks", describeSearch, schemaSearch, true, s.kairosSearch},
		{"kairos_begin", "Begin a run", describeBegin, schemaBegin, false, s.kairosBegin},
		{"kairos_next", "Prove a step", describeNext, schemaNext, false, s.kairosNext},
		{"kairos_attest", "Rate a run", describeAttest, schemaAttest, false, s.kairosAttest},
		{"kairos_mint", "Store a runbook", describeMint, schemaMint, false, s.kairosMint},
		{"kairos_dump", "Read a runbook", describeDump, schemaDump, true, s.kairosDump},
	}
	if s.options.Chat == nil {
		return all
	}
	return append(
		all,
		tool{"send_message", "Send a message", describeMessage, schemaMessage, false, s.sendMessage},
		tool{"send_files", "Send files", describeFiles, schemaFiles, false, s.sendFiles},
		tool{s.askTool(), "Ask the user", describeAsk, schemaAsk, false, s.askUser},
		tool{"progress", "Show progress", describeProgress, schemaProgress, false, s.progress},
		tool{"search_history", "Search the chat", describeHistory, schemaHistory, true, s.searchHistory},
		tool{"schedule_message", "Schedule a message", describeSchedule, schemaSchedule, false, s.scheduleMessage},
		tool{"list_schedules", "List the schedules", describeSchedules, `{"type": "object"}`, true, s.listSchedules},
		tool{"cancel_schedule", "Cancel a schedule", describeCancel, schemaCancel, false, s.cancelSchedule},
	)
}

func (s *session) askTool() string { return cmp.Or(s.options.AskTool, "ask_user") }

// instructions returns the server's instructions for the model.
func (s *session) instructions() string {
	text := "Runbooks are procedures whose steps must be proved in order. Find one with kairos_search, begin a run with " +
		"kairos_begin, prove each step with kairos_next, and follow next_action of each result. Errors say what to do."
	if s.options.Chat != nil {
		text += " The other tools act in the chat that you work for: send_message, send_files, " + s.askTool() +
			", progress, " +
			"search_history, schedule_message, list_schedules, cancel_schedule. " +
			"Your final answer is sent to that chat anyway, so do not send it with send_message."
	}
	return text
}

const (
	describeSearch = `Find runbooks: procedures in Markdown whose steps must be proved in order. Call it before a task that may have a procedure, ` +
		`such as a deployment or a review. An empty query lists all. Follow next_action of the choice that fits.`
	schemaSearch = `{"type": "object", "properties": {
		"query": {"type": "string",
			"description": "Words of the runbook's label, file name, steps or text. Empty: all runbooks."}
	}}`

	describeBegin = `Begin a new run of a runbook. The result has the first step, its challenge, and the ID of the run. Do what current_step says, ` +
		`then call kairos_next as next_action says.`
	schemaBegin = `{"type": "object", "properties": {
		"uri": {"type": "string", "description":
			"kairos://mem/{uuid} of a step, from kairos_search. A run begins with the first step whichever it is."}
	}, "required": ["uri"]}`

	describeNext = `Prove the present step of a run and get the next one. Do first what the step says, then send a solution of the challenge's type, ` +
		`with challenge.nonce and challenge.proof_hash copied from the last result. Report what really happened: proofs are recorded. ` +
		`For user_input ask the user, and send what they said; in a run of a chat the call waits until the people of the chat have decided. ` +
		`If the result has error_code, nothing was accepted: follow next_action.`
	// The schema accepts every solution, because the engine has an answer to solutions that are
	// incomplete or of the wrong type.
	schemaNext = `{"type": "object", "properties": {
		"uri": {"type": "string", "description": "URI of the step to be proved: current_step.uri of the last result."},
		"solution": {"description": "An object that proves the step.", "properties": {
			"type": {"description": "challenge.type: shell, mcp, user_input or comment."},
			"nonce": {"description": "challenge.nonce."},
			"proof_hash": {"description": "challenge.proof_hash."},
			"shell": {"description": "For shell, after you have run challenge.shell.cmd.", "properties": {
				"exit_code": {"description": "Number: the exit code. 0 is success."},
				"stdout": {"description": "Output, or its last lines."},
				"stderr": {"description": "Error output, or its last lines."},
				"duration_seconds": {"description": "Number: how long it took."}
			}},
			"mcp": {"description": "For mcp, after you have called the tool.", "properties": {
				"tool_name": {"description": "Name of the tool."},
				"arguments": {"description": "Its arguments."},
				"result": {"description": "Its result."},
				"success": {"description": "true if it succeeded, else false."}
			}},
			"user_input": {"description": "For user_input, after you have asked the user.", "properties": {
				"confirmation": {"description": "What the user said. Leave it out to have the user asked, if your client can."},
				"timestamp": {"description": "When, in ISO 8601."}
			}},
			"comment": {"description": "For comment.", "properties": {
				"text": {"description": "What you did, with at least challenge.comment.min_length characters."}
			}}
		}},
		"run": {"type": "string",
			"description": "ID of the run, from the last result. Needed if several runs of one runbook are open."}
	}, "required": ["uri"]}`

	describeAttest = `Rate a run, at its end or to give up on it. Optional. outcome failure ends a run that is open; outcome success is accepted only if ` +
		`all steps are proved.`
	schemaAttest = `{"type": "object", "properties": {
		"uri": {"type": "string", "description": "URI of a step of the run."},
		"outcome": {"type": "string", "enum": ["success", "failure"]},
		"message": {"type": "string", "description": "Why. Must not be empty."},
		"quality_bonus": {"type": "number", "description": "How good the runbook was; 0 by default."},
		"run": {"type": "string", "description": "ID of the run, from the last result."}
	}, "required": ["uri", "outcome", "message"]}`

	describeMint = `Store a runbook, so that it can be found and executed later in this chat. The document has a # H1, its label, and a ## H2 for each ` +
		"step; each further H1 begins another runbook. A step that must be proved ends with a fenced ```json block that has one object, {\"challenge\": {\"type\": " +
		"\"shell\", \"shell\": {\"cmd\": \"make test\", " +
		"\"timeout_seconds\": 60}, \"required\": true}}. Other types: mcp {\"tool_name\"}, user_input {\"prompt\"}, " +
		"comment {\"min_length\"}. " +
		`Use force_update to replace a stored runbook with the same label. Runbooks of the workspace cannot be replaced.`
	schemaMint = `{"type": "object", "properties": {
		"markdown_doc": {"type": "string", "description": "The whole document, at most 256 KiB."},
		"llm_model_id": {"type": "string", "description": "Your model's name."},
		"force_update": {"type": "boolean", "description": "Replace the stored runbook with the same label."}
	}, "required": ["markdown_doc"]}`

	describeDump = `Read the text of a step, or with protocol true the whole document of its runbook, which kairos_mint accepts again.`
	schemaDump   = `{"type": "object", "properties": {
		"uri": {"type": "string", "description": "kairos://mem/{uuid} of a step."},
		"protocol": {"type": "boolean", "description": "Return the whole document."}
	}, "required": ["uri"]}`
)

const (
	describeMessage = `Send a message to the chat at once, in the middle of your work: a result that should not wait for your final answer, for example. ` +
		`Do not repeat your final answer with it. At most 30 messages a minute.`
	schemaMessage = `{"type": "object", "properties": {
		"text": {"type": "string", "description": "Markdown. Long texts are split."}
	}, "required": ["text"]}`

	describeFiles = `Send files to the chat: photos and videos become albums. Only files that you may send are accepted; the error names the one that is not.`
	schemaFiles   = `{"type": "object", "properties": {
		"files": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "object", "properties": {
			"path": {"type": "string", "description": "Absolute, or relative to your working directory."},
			"caption": {"type": "string", "description": "Shown with the file."}
		}, "required": ["path"]}},
		"text": {"type": "string", "description": "A message that comes with them."}
	}, "required": ["files"]}`

	describeAsk = `Ask the user in the chat and wait for the answer, which can take long. Give options where there are few answers: the user then chooses with a button. ` +
		`Returns the answer and who gave it.`
	schemaAsk = `{"type": "object", "properties": {
		"question": {"type": "string"},
		"options": {"type": "array", "maxItems": 20, "items": {"type": "string"},
			"description": "Answers to choose from. None: any text."},
		"secret": {"type": "boolean",
			"description": "The answer is a password or another secret, which the chat must not show or keep."},
		"timeout_seconds": {"type": "number", "description": "How long to wait. By default as long as the chat allows."}
	}, "required": ["question"]}`

	describeProgress = `Show in the chat what you do now, in one line, in place of the line before. It is not a message, and notifies nobody.`
	schemaProgress   = `{"type": "object", "properties": {
		"text": {"type": "string", "description": "Such as: Running the tests"}
	}, "required": ["text"]}`

	describeSchedule = `Send a message to this chat later, once or again and again: "remind me tomorrow at nine". Give exactly one of at, in and cron. ` +
		`The result has the next time; list_schedules says what time it is now.`
	schemaSchedule = `{"type": "object", "properties": {
		"text": {"type": "string", "description": "Markdown: the message, or with prompt what you are to do then."},
		"at": {"type": "string", "description": "Such as 2026-12-24T18:00, in the time zone of the bot, or with an offset."},
		"in": {"type": "string", "description": "A duration from now, such as 20m, 1h30m or 2d."},
		"cron": {"type": "string", "description":
			"Five fields, minute hour day month weekday: 0 9 * * 1 is every Monday at nine. At most once a minute."},
		"prompt": {"type": "boolean", "description":
			"The text is given to you as a task at that time. What you then send is shown in the chat."}
	}, "required": ["text"]}`

	describeSchedules = `List the reminders and schedules of this chat with their next times, and the time that it is now.`

	describeCancel = `Remove a schedule of this chat that was made in it.`
	schemaCancel   = `{"type": "object", "properties": {
		"name": {"type": "string", "description": "As in list_schedules."}
	}, "required": ["name"]}`

	describeHistory = `Find earlier messages of this chat, the newest first. Use it when the user refers to something that you do not know.`
	schemaHistory   = `{"type": "object", "properties": {
		"query": {"type": "string", "description": "Words that a message must all have. Empty: the newest messages."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many; 20 by default."}
	}, "required": ["query"]}`
)
