package words

// Texts of the protocol acp: questions, options and sessions of the agent.
const (
	// Settings of the agent.
	SettingMode       Key = "settingMode"
	SettingModel      Key = "settingModel"
	SettingOn         Key = "settingOn"
	SettingOff        Key = "settingOff"
	NoMode            Key = "noMode"
	NoModel           Key = "noModel"
	NoSettings        Key = "noSettings"
	WhichMode         Key = "whichMode"
	WhichModel        Key = "whichModel"
	WhichSetting      Key = "whichSetting"
	UnknownMode       Key = "unknownMode"
	UnknownModel      Key = "unknownModel"
	UnknownSetting    Key = "unknownSetting"
	UnknownValue      Key = "unknownValue"
	ChooseBy          Key = "chooseBy"
	ApproveMode       Key = "approveMode"
	ApproveSetting    Key = "approveSetting"
	ModeUnchanged     Key = "modeUnchanged"
	SettingUnchanged  Key = "settingUnchanged"
	SettingRefused    Key = "settingRefused"
	SettingUnanswered Key = "settingUnanswered"
	SettingNotKept    Key = "settingNotKept"

	// The agent's line in /status, and the help of its commands.
	ContextUsed  Key = "contextUsed"
	TokensUsed   Key = "tokensUsed"
	HelpSessions Key = "helpSessions"
	HelpMode     Key = "helpMode"
	HelpModel    Key = "helpModel"
	HelpConfig   Key = "helpConfig"

	// Signing in to the agent's service.
	SignInRequired  Key = "signInRequired"
	SignInCommand   Key = "signInCommand"
	SignInVariables Key = "signInVariables"

	// Programs that do not speak the protocol.
	NotAnAgent  Key = "notAnAgent"
	AgentEchoes Key = "agentEchoes"

	// Sessions of the agent.
	SessionsUnlisted  Key = "sessionsUnlisted"
	NoSessions        Key = "noSessions"
	WhichSession      Key = "whichSession"
	SessionsFixed     Key = "sessionsFixed"
	UnknownSession    Key = "unknownSession"
	SameSession       Key = "sameSession"
	SessionElsewhere  Key = "sessionElsewhere"
	SessionNotResumed Key = "sessionNotResumed"
	SessionChosen     Key = "sessionChosen"
)

var acpTexts = map[Key]translations{
	SettingMode:    {"Mode", "Modus"},
	SettingModel:   {"Model", "Modell"},
	SettingOn:      {"on", "an"},
	SettingOff:     {"off", "aus"},
	NoMode:         {"This agent has no mode to choose.", "Bei diesem Agenten gibt es keinen Modus zu wählen."},
	NoModel:        {"This agent has no model to choose.", "Bei diesem Agenten gibt es kein Modell zu wählen."},
	NoSettings:     {"This agent has no settings to choose.", "Bei diesem Agenten gibt es keine Einstellungen zu wählen."},
	WhichMode:      {"Which mode?", "Welcher Modus?"},
	WhichModel:     {"Which model?", "Welches Modell?"},
	WhichSetting:   {"Which setting?", "Welche Einstellung?"},
	UnknownMode:    {`There is no mode "{name}".`, "Den Modus „{name}“ gibt es nicht."},
	UnknownModel:   {`There is no model "{name}".`, "Das Modell „{name}“ gibt es nicht."},
	UnknownSetting: {`There is no setting "{name}".`, "Die Einstellung „{name}“ gibt es nicht."},
	UnknownValue:   {`{setting} has no value "{name}".`, "{setting} hat keinen Wert „{name}“."},
	ChooseBy: {
		"Choose with {command} and a number or a name.",
		"Wähle mit {command} und einer Nummer oder einem Namen.",
	},
	ApproveMode:      {"🔐 Change the mode to {value}?", "🔐 Den Modus auf {value} stellen?"},
	ApproveSetting:   {"🔐 Change “{setting}” to {value}?", "🔐 „{setting}“ auf {value} stellen?"},
	ModeUnchanged:    {"The mode was not changed.", "Der Modus wurde nicht geändert."},
	SettingUnchanged: {"The setting was not changed.", "Die Einstellung wurde nicht geändert."},
	SettingRefused: {
		"The agent refuses the setting that you had chosen, “{setting}”: {reason}.",
		"Der Agent lehnt die Einstellung ab, die du gewählt hattest, „{setting}“: {reason}.",
	},
	SettingUnanswered: {
		"The agent did not answer when it was told to use the setting that you had chosen, “{setting}”.",
		"Der Agent hat nicht bestätigt, was du eingestellt hattest: „{setting}“.",
	},
	SettingNotKept: {
		"The agent does not use the setting that you had chosen, “{setting}”.",
		"Der Agent verwendet die Einstellung nicht, die du gewählt hattest: „{setting}“.",
	},
	ContextUsed:  {"{used} of {size} tokens", "{used} von {size} Tokens"},
	TokensUsed:   {"{used} tokens", "{used} Tokens"},
	HelpSessions: {"earlier conversations", "frühere Gespräche"},
	HelpMode:     {"how the agent works", "wie der Agent arbeitet"},
	HelpModel:    {"which model the agent uses", "welches Modell der Agent verwendet"},
	HelpConfig:   {"all settings of the agent", "alle Einstellungen des Agenten"},
	SignInRequired: {
		"The agent requires signing in: {reason}",
		"Beim Agenten muss sich jemand anmelden: {reason}",
	},
	SignInCommand: {
		"On the bot's machine, run {command} as the user {user}, or `nanobot login`.",
		"Führe auf der Maschine des Bots {command} als Benutzer {user} aus, oder `nanobot login`.",
	},
	SignInVariables: {
		"Set the {count|variable|variables} {names} in terminal.env.",
		"Setze die {count|Variable|Variablen} {names} in terminal.env.",
	},
	NotAnAgent: {
		"{problem} It does not speak the Agent Client Protocol; it printed:\n{output}",
		"{problem} Er spricht nicht das Agent Client Protocol. Ausgegeben hat er:\n{output}",
	},
	AgentEchoes: {"The agent repeats its input.", "Der Agent wiederholt seine Eingabe."},
	SessionsUnlisted: {
		"This agent does not list its conversations.",
		"Dieser Agent listet seine Gespräche nicht auf.",
	},
	NoSessions:   {"There are no earlier conversations.", "Es gibt keine früheren Gespräche."},
	WhichSession: {"Which conversation?", "Welches Gespräch?"},
	SessionsFixed: {
		"Conversations, none of which this agent can resume:",
		"Gespräche, von denen dieser Agent keines fortsetzen kann:",
	},
	UnknownSession: {`There is no conversation "{name}".`, "Das Gespräch „{name}“ gibt es nicht."},
	SameSession: {
		"This is the conversation that you are in.",
		"In diesem Gespräch bist du schon.",
	},
	SessionElsewhere: {
		"This conversation is open in another chat.",
		"Dieses Gespräch ist in einem anderen Chat geöffnet.",
	},
	SessionNotResumed: {
		"This conversation cannot be resumed.",
		"Dieses Gespräch lässt sich nicht fortsetzen.",
	},
	SessionChosen: {"Conversation: {name}", "Gespräch: {name}"},
}
