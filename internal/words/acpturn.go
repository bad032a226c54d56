package words

// Texts of the protocol acp about turns and background work of the agent.
const (

	// The board of a turn.
	AgentStarting Key = "agentStarting"
	AgentThinking Key = "agentThinking"
	AgentSilent   Key = "agentSilent"

	// The end of a turn.
	ConversationLost   Key = "conversationLost"
	AgentNotReady      Key = "agentNotReady"
	AgentEndedEarly    Key = "agentEndedEarly"
	AgentEndedResumes  Key = "agentEndedResumes"
	AgentEndedForgets  Key = "agentEndedForgets"
	StoppedByTokens    Key = "stoppedByTokens"
	StoppedByRequests  Key = "stoppedByRequests"
	StoppedByCancel    Key = "stoppedByCancel"
	StoppedByRefusal   Key = "stoppedByRefusal"
	StoppedByReason    Key = "stoppedByReason"
	AgentErrorUnknown  Key = "agentErrorUnknown"
	BackgroundTooLong  Key = "backgroundTooLong"
	BackgroundTooMany  Key = "backgroundTooMany"
	BackgroundStopping Key = "backgroundStopping"
)

var acpTurnTexts = map[Key]translations{
	AgentStarting: {"Starting the agent…", "Der Agent startet…"},
	AgentThinking: {"Thinking…", "Denkt nach…"},
	AgentSilent: {
		"⚠ No sign of life from the agent for {count} {count|minute|minutes}. /stop ends the turn.",
		"⚠ Seit {count} {count|Minute|Minuten} kein Lebenszeichen vom Agenten. /stop beendet die Arbeit.",
	},
	ConversationLost: {
		"The earlier conversation could not be resumed; this is a new one.",
		"Das frühere Gespräch ließ sich nicht fortsetzen; dies ist ein neues.",
	},
	AgentNotReady: {
		"The agent did not get ready within {seconds} s.",
		"Der Agent war nach {seconds} s noch nicht bereit.",
	},
	AgentEndedEarly: {"The agent ended before it was ready.", "Der Agent endete, bevor er bereit war."},
	AgentEndedResumes: {
		"The agent ended. Your next message resumes the conversation.",
		"Der Agent ist beendet. Deine nächste Nachricht setzt das Gespräch fort.",
	},
	AgentEndedForgets: {
		"The agent ended. Your next message starts a new conversation, because this agent cannot resume one.",
		"Der Agent ist beendet. Deine nächste Nachricht beginnt ein neues Gespräch, weil dieser Agent keines fortsetzen kann.",
	},
	StoppedByTokens: {
		"The agent stopped because it reached its token limit. Send “go on” to let it continue, or /new to start a new conversation.",
		"Der Agent hat sein Token-Limit erreicht und aufgehört. Mit „mach weiter“ fährt er fort, /new beginnt ein neues Gespräch.",
	},
	StoppedByRequests: {
		"The agent stopped because it reached its limit of model requests for one turn. Send “go on” to let it continue.",
		"Der Agent hat sein Limit an Modellanfragen für eine Nachricht erreicht und aufgehört. Mit „mach weiter“ fährt er fort.",
	},
	StoppedByCancel: {
		"The agent reports that its work was cancelled.",
		"Der Agent meldet, dass seine Arbeit abgebrochen wurde.",
	},
	StoppedByRefusal:  {"The agent refused to continue.", "Der Agent weigert sich fortzufahren."},
	StoppedByReason:   {"The agent stopped: {reason}.", "Der Agent hat aufgehört: {reason}."},
	AgentErrorUnknown: {"The agent reports an error without saying which.", "Der Agent meldet einen Fehler, ohne zu sagen, welchen."},
	BackgroundTooLong: {
		"The agent was ended, because its background work took longer than {count} {count|hour|hours}. Your next message resumes the conversation.",
		"Der Agent wurde beendet, weil seine Arbeit im Hintergrund länger als {count} {count|Stunde|Stunden} dauerte. Deine nächste Nachricht setzt das Gespräch fort.",
	},
	BackgroundStopping: {
		"The agent was told to stop its background work.",
		"Der Agent wurde angewiesen, seine Arbeit im Hintergrund zu stoppen.",
	},
	BackgroundTooMany: {
		"The agent was ended together with its background work, because too many agents are running. Your next message resumes the conversation.",
		"Der Agent wurde samt seiner Arbeit im Hintergrund beendet, weil zu viele Agenten laufen. Deine nächste Nachricht setzt das Gespräch fort.",
	},
}
