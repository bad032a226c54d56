package words

// Texts of the protocols keys and screen.
const (

	// Commands.
	HelpScreen     Key = "helpScreen"
	HelpKey        Key = "helpKey"
	HelpType       Key = "helpType"
	HelpTake       Key = "helpTake"
	HelpGive       Key = "helpGive"
	HelpLog        Key = "helpLog"
	ButtonHandBack Key = "buttonHandBack"
	ButtonTakeOver Key = "buttonTakeOver"

	// Replies to commands.
	KeysNoTerminal    Key = "keysNoTerminal"
	KeysUsage         Key = "keysUsage"
	KeysTakenAlready  Key = "keysTakenAlready"
	KeysTaken         Key = "keysTaken"
	KeysGivenAlready  Key = "keysGivenAlready"
	KeysAgentGoesOn   Key = "keysAgentGoesOn"
	KeysGiven         Key = "keysGiven"
	KeysNothingTyped  Key = "keysNothingTyped"
	KeysShellEnded    Key = "keysShellEnded"
	KeysNoLog         Key = "keysNoLog"
	KeysLog           Key = "keysLog"
	KeysFilesAreHere  Key = "keysFilesAreHere"
	KeysProgramEnded  Key = "keysProgramEnded"
	KeysStillTaken    Key = "keysStillTaken"
	KeysIdle          Key = "keysIdle"
	KeysDone          Key = "keysDone"
	KeysTooManySteps  Key = "keysTooManySteps"
	KeysShellOfTurn   Key = "keysShellOfTurn"
	KeysAnswerLong    Key = "keysAnswerLong"
	KeysAgentEnded    Key = "keysAgentEnded"
	KeysNotUnderstood Key = "keysNotUnderstood"
	KeysNoPlan        Key = "keysNoPlan"
)

var keysTexts = map[Key]translations{
	HelpScreen: {
		"show the terminal, as text and as a picture",
		"das Terminal zeigen, als Text und als Bild",
	},
	HelpKey:        {"send keys: /key Escape :wq Enter", "Tasten senden: /key Escape :wq Enter"},
	HelpType:       {"type a text and Enter", "einen Text und Enter tippen"},
	HelpTake:       {"take the terminal over from the agent", "das Terminal vom Agenten übernehmen"},
	HelpGive:       {"hand the terminal back to the agent", "das Terminal dem Agenten zurückgeben"},
	HelpLog:        {"send the dialogue and a recording of the terminal", "den Dialog und eine Aufnahme des Terminals senden"},
	ButtonHandBack: {"Hand back", "Zurückgeben"},
	ButtonTakeOver: {"Take over", "Übernehmen"},
	KeysNoTerminal: {
		"No terminal is open. Your next message opens one.",
		"Es ist kein Terminal offen. Deine nächste Nachricht öffnet eines.",
	},
	KeysUsage: {
		"Write the keys after the command: /key Escape :wq Enter",
		"Schreib die Tasten hinter den Befehl: /key Escape :wq Enter",
	},
	KeysTakenAlready: {
		"You have the terminal already. /give hands it back to the agent.",
		"Du hast das Terminal schon. /give gibt es dem Agenten zurück.",
	},
	KeysTaken: {
		"The terminal is yours: what you write is typed, with Enter. /key sends keys. /give hands it back to the agent.",
		"Das Terminal gehört dir: Was du schreibst, wird getippt, mit Enter. /key sendet Tasten. /give gibt es dem Agenten zurück.",
	},
	KeysGivenAlready: {
		"The agent has the terminal already. /take takes it over.",
		"Der Agent hat das Terminal schon. /take übernimmt es.",
	},
	KeysAgentGoesOn: {"The agent goes on.", "Der Agent macht weiter."},
	KeysGiven: {
		"The agent has the terminal again. Your next message is for it.",
		"Der Agent hat das Terminal wieder. Deine nächste Nachricht geht an ihn.",
	},
	KeysNothingTyped: {
		"Nothing was typed: the program in the terminal does not read its input. /key C-c interrupts it.",
		"Nichts wurde getippt: Das Programm im Terminal liest seine Eingabe nicht. /key C-c unterbricht es.",
	},
	KeysShellEnded: {
		"The shell has ended ({exit}). Your next message is for the agent.",
		"Die Shell ist beendet ({exit}). Deine nächste Nachricht geht an den Agenten.",
	},
	KeysNoLog: {
		"There is no log yet: no terminal was opened in this chat.",
		"Es gibt noch kein Log: In diesem Chat war noch kein Terminal offen.",
	},
	KeysLog: {
		"What happened in the terminal. The recording can be played with asciinema.",
		"Das ist im Terminal geschehen. Die Aufnahme lässt sich mit asciinema abspielen.",
	},
	KeysFilesAreHere: {"Your files are here: {files}", "Deine Dateien sind hier: {files}"},
	KeysProgramEnded: {"The program has ended ({exit}).", "Das Programm ist beendet ({exit})."},
	KeysStillTaken: {
		"The terminal is still yours: what you write is typed. /give hands it back to the agent.",
		"Das Terminal gehört noch dir: Was du schreibst, wird getippt. /give gibt es dem Agenten zurück.",
	},
	KeysIdle: {
		"You have typed nothing for a while, so the agent goes on. /take takes the terminal over again.",
		"Du hast eine Weile nichts getippt, darum macht der Agent weiter. /take übernimmt das Terminal wieder.",
	},
	KeysDone:         {"Done.", "Fertig."},
	KeysTooManySteps: {"Stopped after {count} {count|step|steps}", "Nach {count} {count|Schritt|Schritten} gestoppt"},
	KeysShellOfTurn: {
		"The shell of the terminal has ended ({exit})",
		"Die Shell des Terminals ist beendet ({exit})",
	},
	KeysAnswerLong: {
		"The agent's response is too long: a line may have up to {count} bytes (terminal.maxLine)",
		"Die Antwort des Agenten ist zu lang: Eine Zeile darf höchstens {count} Bytes haben (terminal.maxLine)",
	},
	KeysAgentEnded: {
		"The agent has ended before the task was complete ({exit})",
		"Der Agent hat sich beendet, bevor die Aufgabe fertig war ({exit})",
	},
	KeysNotUnderstood: {"the response was not understood ✗", "die Antwort wurde nicht verstanden ✗"},
	KeysNoPlan:        {"no plan", "kein Plan"},
}
