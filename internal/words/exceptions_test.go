package words_test

const (
	forLog      = "in the log and in records of the audit, which are English"
	forModel    = "read by the model, whose protocol is English"
	forAgent    = "read by the agent"
	forOperator = "read by the operator, in doctor, check-config and the console"
	forStore    = "texts in the store, not in chats"
	forPrograms = "read by programs that use the API of the page"
	foreign     = "a text that a network sends"
	unit        = "units and marks, which are the same in both languages"
)

// exceptions are the parts of the speaking packages whose texts are not for people in chats, with
// the reason. A name is a folder, a file, or a file and a function.
var exceptions = map[string]string{
	"gateway/store":               forStore,
	"gateway/metrics":             forOperator,
	"gateway/toolsocket":          forLog,
	"gateway/operator.go ":        forOperator,
	"gateway/outbox/chat.go":      "the state of a delivery, for the console",
	"gateway/outbox/send.go":      "the state of a delivery, for the console",
	"gateway/turn/audit.go ":      forLog,
	"gateway/turn/duration.go":    unit,
	"gateway/tools":               "the tools of agents: read by the agent, and by the user of an MCP client, whose language is unknown",
	"gateway/toolrates.go":        forAgent,
	"gateway/toolserve.go":        "output of a command of an agent",
	"gateway/runbook/shellstep":   "output of a command of a step",
	"gateway/runbook/verify.go":   forOperator,
	"gateway/runbook/answer.go":   forModel,
	"gateway/runbook/solution.go": forModel,
	"gateway/runbook/rating.go":   forModel,
	"gateway/runbook/minted.go":   "for the author of a runbook, who may be a model; docs/words.md says so",
	"gateway/runbook/source.go":   "part of a hash",

	"gateway/runbook/challenge.go":              forModel,
	"gateway/runbook/nexttransition.go":         forModel,
	"gateway/runbook/transitions.go":            forModel,
	"gateway/runbook/proofofwork.go":            "a mark in the text of a runbook",
	"gateway/runbook/definition.go":             "for the author of a runbook, who may be a model; docs/words.md says so",
	"gateway/runbook/parse.go":                  "for the author of a runbook, who may be a model; docs/words.md says so",
	"gateway/runbook/parsewarnings.go":          "for the author of a runbook, who may be a model; docs/words.md says so",
	"gateway/runbook/chatrun/prompt.go":         forAgent,
	"gateway/runbook/chatrun/step.go proveStep": "in the records of a run",

	"channels/accesslist.go":     forOperator,
	"channels/finding.go":        forOperator,
	"channels/channels.go Error": forLog,
	"channels/linkwarning.go":    "the host is what matters; docs/words.md says that this is English",
	"channels/shownhost.go":      "names of hosts",
	"channels/size.go":           unit,

	"channels/discord/api.go":           "the name of the program for Discord",
	"channels/discord/bucket.go":        forLog,
	"channels/discord/download.go":      forLog,
	"channels/discord/examine.go":       forOperator,
	"channels/discord/gatewayerrors.go": forOperator,
	"channels/discord/incoming.go":      "an idempotency key",
	"channels/discord/interactions.go ": "an idempotency key",
	"channels/discord/ratelimits.go":    forLog,
	"channels/discord/settings.go":      forOperator,
	"channels/telegram/closedtopic.go":  foreign,
	"channels/telegram/download.go":     forLog,
	"channels/telegram/errors.go":       foreign,
	"channels/telegram/examine.go":      forOperator,
	"channels/telegram/local.go":        forLog,
	"channels/telegram/reactions.go":    foreign,
	"channels/telegram/settings.go":     forOperator,
	"channels/telegram/types.go":        "the description of a message, which the agent reads",
	"channels/telegram/webhook.go":      forLog,
	"channels/web/api.go":               forPrograms,
	"channels/web/history":              forStore,
	"channels/web/post.go":              forPrograms,
	"channels/web/press.go":             forPrograms,
	"channels/web/settings.go":          forOperator,
	"channels/web/stream.go":            forPrograms,

	"terminal/process":        forLog,
	"terminal/sandbox":        forOperator,
	"terminal/sandbox.go":     forOperator,
	"terminal/line_reader.go": forLog,
	"terminal/questions.go":   forLog,

	"terminal/plain/describe.go":   forOperator,
	"terminal/rich/describe.go":    forOperator,
	"terminal/rich/buttons.go":     forLog,
	"terminal/rich/hints.go":       forLog,
	"terminal/rich/interactive.go": forLog,
	"terminal/rich/rich.go":        forLog,

	"terminal/blocks/approve.go askApproval":  forLog,
	"terminal/blocks/changes_diff.go":         "the format of diff and git",
	"terminal/blocks/execute.go readCommands": forModel,
	"terminal/blocks/execute.go ":             forModel,
	"terminal/blocks/outbox.go":               forModel,
	"terminal/blocks/protocol.go":             forModel,
	"terminal/blocks/run.go ":                 forModel,
	"terminal/blocks/settings.go":             forOperator,
	"terminal/blocks/trial.go":                forOperator,
	"terminal/blocks/turn.go task":            forModel,

	"terminal/keys/control.go ":          "names of keys",
	"terminal/keys/control.go runTake":   "in the log of the terminal",
	"terminal/keys/control.go runGive":   "in the log of the terminal",
	"terminal/keys/control.go typeInput": "in the log of the terminal",
	"terminal/keys/turn.go logStep":      "in the log of the terminal",
	"terminal/keys/turn.go instruction":  forModel,
	"terminal/keys/turn.go typeCommands": forModel,
	"terminal/keys/turn.go dropCommands": forModel,
	"terminal/keys/feedback.go":          forModel,
	"terminal/keys/json.go":              forModel,
	"terminal/keys/output.go":            forModel,
	"terminal/keys/prompt.go":            forModel,
	"terminal/keys/response.go":          forModel,
	"terminal/keys/settings.go":          forOperator,
	"terminal/keys/trial.go":             forOperator,
	"terminal/keys/xml.go":               forModel,
	"terminal/keys/xmlcommand.go":        forModel,

	"terminal/acp": "NOT YET",
}
