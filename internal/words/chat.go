package words

// Texts of a chat in a terminal.
const (
	ChatGreeting     Key = "chatGreeting"
	ChatDemo         Key = "chatDemo"
	ChatNoConfig     Key = "chatNoConfig"
	ChatStatus       Key = "chatStatus"
	ChatLastTurn     Key = "chatLastTurn"
	ChatAnswerHow    Key = "chatAnswerHow"
	ChatNotRead      Key = "chatNotRead"
	ChatSecretEnded  Key = "chatSecretEnded"
	ChatFileNotSaved Key = "chatFileNotSaved"
	HelpChatStatus   Key = "helpChatStatus"
	HelpChatStop     Key = "helpChatStop"
	HelpChatQuit     Key = "helpChatQuit"
	KindImage        Key = "kindImage"
	KindVideo        Key = "kindVideo"
	KindAudio        Key = "kindAudio"
	KindDocument     Key = "kindDocument"
)

var chatTexts = map[Key]translations{
	ChatGreeting: {
		"Talking to: {agent}\n/help lists the commands. Ctrl-C stops a turn, Ctrl-D leaves.",
		"Du sprichst mit: {agent}\n/help listet die Befehle auf. Strg-C bricht eine Antwort ab, Strg-D beendet den Chat.",
	},
	ChatDemo: {
		"There is no config.json here, so this is the built-in demo agent.\n" +
			"Say hello, or type: {examples}. /help lists the commands, Ctrl-D leaves.\n" +
			"To write your own agent:  {init}\n" +
			"To use any program:       {command}",
		"Hier gibt es keine config.json, darum ist dies der eingebaute Demo-Agent.\n" +
			"Sag hallo oder schreib: {examples}. /help listet die Befehle auf, Strg-D beendet den Chat.\n" +
			"Für einen eigenen Agenten:     {init}\n" +
			"Für ein beliebiges Programm:   {command}",
	},
	ChatNoConfig: {"none", "keine"},
	ChatStatus: {
		"Agent: {agent} ({protocol})\nWorkspace: {workspace}\nConfig: {config}\nChat: {chat}",
		"Agent: {agent} ({protocol})\nArbeitsordner: {workspace}\nEinstellungen: {config}\nChat: {chat}",
	},
	ChatLastTurn: {"Last turn: {outcome}, {time}", "Zuletzt: {outcome}, {time}"},
	ChatAnswerHow: {
		"Please answer with a number or the words of an option.",
		"Bitte antworte mit der Nummer oder dem Text einer Möglichkeit.",
	},
	ChatNotRead: {
		"The agent does not read messages now.",
		"Der Agent liest gerade keine Nachrichten.",
	},
	ChatSecretEnded: {
		"The password is no longer needed. Press Enter.",
		"Das Passwort wird nicht mehr gebraucht. Drück die Eingabetaste.",
	},
	ChatFileNotSaved: {
		"⚠ {file} could not be saved in the chat's folder.",
		"⚠ {file} ließ sich nicht im Ordner des Chats speichern.",
	},
	HelpChatStatus: {"show what this chat talks to", "zeigen, mit wem dieser Chat spricht"},
	HelpChatStop: {
		"stop the agent when it asks you something; Ctrl-C stops it at any time",
		"den Agenten stoppen, wenn er etwas fragt; Strg-C stoppt ihn jederzeit",
	},
	HelpChatQuit: {"leave the chat, as Ctrl-D does", "den Chat beenden, wie Strg-D"},
	KindImage:    {"image", "Bild"},
	KindVideo:    {"video", "Video"},
	KindAudio:    {"audio", "Audio"},
	KindDocument: {"document", "Dokument"},
}
