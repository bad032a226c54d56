package words

// Texts of turns and of their final responses.
const (

	// Turns and their boards.
	Working          Key = "working"
	Stopping         Key = "stopping"
	WaitingForYou    Key = "waitingForYou"
	BoardStep        Key = "boardStep"
	BoardWaiting     Key = "boardWaiting"
	ButtonStop       Key = "buttonStop"
	FoldSteps        Key = "foldSteps"
	FoldFiles        Key = "foldFiles"
	Done             Key = "done"
	Restarted        Key = "restarted"
	ButtonRunAgain   Key = "buttonRunAgain"
	ShortOfResources Key = "shortOfResources"
	StoppedText      Key = "stoppedText"
	StoppedLate      Key = "stoppedLate"
	CouldNotRun      Key = "couldNotRun"

	// Files and questions of an agent.
	FileNoRoom  Key = "fileNoRoom"
	FileCopyCut Key = "fileCopyCut"
	FileRemoved Key = "fileRemoved"
	FileChanged Key = "fileChanged"
	FileGone    Key = "fileGone"
	RestInFile  Key = "restInFile"
	NoAnswer    Key = "noAnswer"

	// The final response.
	NoOutput       Key = "noOutput"
	TimedOut       Key = "timedOut"
	MoreRemarks    Key = "moreRemarks"
	SomethingWrong Key = "somethingWrong"
	PrintedNothing Key = "printedNothing"
	KilledBy       Key = "killedBy"
	ExitCode       Key = "exitCode"
	SwitchedOff    Key = "switchedOff"
	MessageTooLong Key = "messageTooLong"
	MoreNotSent    Key = "moreNotSent"
	TooManyFiles   Key = "tooManyFiles"
	LineSkipped    Key = "lineSkipped"
)

var turnTexts = map[Key]translations{
	Working:       {"Working…", "In Arbeit…"},
	Stopping:      {"Stopping…", "Wird gestoppt…"},
	WaitingForYou: {"Waiting for you…", "Wartet auf dich…"},
	BoardStep:     {"step {number}", "Schritt {number}"},
	BoardWaiting:  {"waiting for you", "wartet auf dich"},
	ButtonStop:    {"Stop", "Stopp"},
	FoldSteps:     {"{count} {count|step|steps}", "{count} {count|Schritt|Schritte}"},
	FoldFiles:     {"{count} {count|file|files}", "{count} {count|Datei|Dateien}"},
	Done:          {"✓ done, {time}", "✓ fertig, {time}"},
	Restarted: {
		"I was restarted while working on this. /retry runs it again.",
		"Ich wurde währenddessen neu gestartet. /retry wiederholt es.",
	},
	ButtonRunAgain: {"Run again", "Wiederholen"},
	ShortOfResources: {
		"This machine is short of resources. Your message waits until the agent can start; /stop drops it.",
		"Dieser Maschine fehlen Ressourcen. Deine Nachricht wartet, bis der Agent starten kann; /stop verwirft sie.",
	},
	StoppedText: {"Stopped.", "Gestoppt."},
	StoppedLate: {
		"Stopped. The agent did not end in time, so I continued without it.",
		"Gestoppt. Der Agent hörte nicht rechtzeitig auf, darum mache ich ohne ihn weiter.",
	},
	CouldNotRun: {
		"Sorry, the agent could not be run. The bot's operator can find the reason in the log.",
		"Der Agent ließ sich leider nicht starten. Der Betreiber des Bots findet den Grund im Log.",
	},
	FileNoRoom: {
		"there is not enough room for a copy of it on the bot's disk",
		"auf der Festplatte des Bots ist kein Platz für eine Kopie",
	},
	FileCopyCut: {
		"it was still being copied when the turn ended",
		"sie wurde noch kopiert, als die Arbeit zu Ende war",
	},
	FileRemoved: {"the agent removed it at once", "der Agent hat sie sofort gelöscht"},
	FileChanged: {"the agent changed it at once", "der Agent hat sie sofort geändert"},
	FileGone:    {"it can no longer be read", "sie ist nicht mehr lesbar"},
	RestInFile: {
		"… (the whole answer is in the file below)",
		"… (die ganze Antwort ist in der Datei unten)",
	},
	NoAnswer:    {"no answer", "keine Antwort"},
	NoOutput:    {"(no output)", "(keine Ausgabe)"},
	TimedOut:    {"Timed out after {seconds} s.", "Nach {seconds} s abgebrochen, weil es zu lange dauerte."},
	MoreRemarks: {"⚠ and {count} more like these.", "⚠ und {count} weitere dieser Art."},
	SomethingWrong: {
		"Something went wrong. The bot's log has the reason.",
		"Etwas ist schiefgegangen. Der Grund steht im Log des Bots.",
	},
	PrintedNothing: {"The program printed nothing.", "Das Programm hat nichts ausgegeben."},
	KilledBy:       {"Killed by {signal}", "Beendet durch {signal}"},
	ExitCode:       {"Exit code: {code}", "Exit-Code: {code}"},
	SwitchedOff:    {"This bot is switched off at the moment.", "Dieser Bot ist gerade ausgeschaltet."},
	MessageTooLong: {
		"Your message is too long for this bot: its command line holds at most {size} KiB.",
		"Deine Nachricht ist zu lang für diesen Bot: Seine Befehlszeile fasst höchstens {size} KiB.",
	},
	MoreNotSent: {
		"⚠ and {count} more were not sent.",
		"⚠ und {count} weitere wurden nicht gesendet.",
	},
	LineSkipped: {
		"⚠ a line of {size} bytes was skipped; the limit is {limit} bytes.",
		"⚠ Eine Zeile von {size} Bytes wurde übersprungen, erlaubt sind {limit} Bytes.",
	},
	TooManyFiles: {
		"⚠ {count} more files were not sent: of the files that a text names, {limit} at most are sent.",
		"⚠ {count} weitere Dateien wurden nicht gesendet: Von den Dateien, die ein Text nennt, werden höchstens {limit} gesendet.",
	},
}
