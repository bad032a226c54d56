package words

// Texts of the protocol blocks.
const (

	// Commands.
	HelpResume           Key = "helpResume"
	HelpDiff             Key = "helpDiff"
	HelpUndo             Key = "helpUndo"
	BlocksNoTask         Key = "blocksNoTask"
	BlocksNothingChanged Key = "blocksNothingChanged"
	BlocksChangedBy      Key = "blocksChangedBy"
	BlocksUnchangedBy    Key = "blocksUnchangedBy"
	BlocksUndone         Key = "blocksUndone"
	BlocksNothingUndone  Key = "blocksNothingUndone"
	BlocksRestored       Key = "blocksRestored"
	BlocksRemoved        Key = "blocksRemoved"
	BlocksNotRestored    Key = "blocksNotRestored"
	BlocksMoreRefused    Key = "blocksMoreRefused"
	BlocksCommandsStay   Key = "blocksCommandsStay"
	BlocksChangedSince   Key = "blocksChangedSince"
	BlocksInterrupted    Key = "blocksInterrupted"
	BlocksCopyChanged    Key = "blocksCopyChanged"

	// Questions for approval.
	ButtonYes           Key = "buttonYes"
	ButtonNo            Key = "buttonNo"
	ButtonAlways        Key = "buttonAlways"
	BlocksRefused       Key = "blocksRefused"
	BlocksNeverChanged  Key = "blocksNeverChanged"
	BlocksRunThis       Key = "blocksRunThis"
	BlocksDelete        Key = "blocksDelete"
	BlocksDeleteLink    Key = "blocksDeleteLink"
	BlocksEdit          Key = "blocksEdit"
	BlocksOverwrite     Key = "blocksOverwrite"
	BlocksCreate        Key = "blocksCreate"
	BlocksTooLarge      Key = "blocksTooLarge"
	BlocksNoChange      Key = "blocksNoChange"
	BlocksMoreLines     Key = "blocksMoreLines"
	BlocksRound         Key = "blocksRound"
	BlocksAwaitsPerson  Key = "blocksAwaitsPerson"
	BlocksAwaitsModel   Key = "blocksAwaitsModel"
	BlocksGiveFile      Key = "blocksGiveFile"
	BlocksEmptyAnswer   Key = "blocksEmptyAnswer"
	BlocksNotText       Key = "blocksNotText"
	BlocksNotRead       Key = "blocksNotRead"
	BlocksInboxNotRead  Key = "blocksInboxNotRead"
	BlocksNotRegular    Key = "blocksNotRegular"
	BlocksFileTooLarge  Key = "blocksFileTooLarge"
	BlocksDone          Key = "blocksDone"
	BlocksDoneAlready   Key = "blocksDoneAlready"
	BlocksCreated       Key = "blocksCreated"
	BlocksChanged       Key = "blocksChanged"
	BlocksDeleted       Key = "blocksDeleted"
	BlocksMoreFiles     Key = "blocksMoreFiles"
	BlocksDiffOmits     Key = "blocksDiffOmits"
	BlocksTooManyRounds Key = "blocksTooManyRounds"
	BlocksResumable     Key = "blocksResumable"
	BlocksAnswerLong    Key = "blocksAnswerLong"
	BlocksAgentFailed   Key = "blocksAgentFailed"

	// Results of commands. Their English texts are also the results that the model gets, as the
	// protocol describes them.
	BlocksCreatedFile  Key = "blocksCreatedFile"
	BlocksEditedFile   Key = "blocksEditedFile"
	BlocksDeletedFile  Key = "blocksDeletedFile"
	BlocksRequested    Key = "blocksRequested"
	BlocksCreateFailed Key = "blocksCreateFailed"
	BlocksEditFailed   Key = "blocksEditFailed"
	BlocksDeleteFailed Key = "blocksDeleteFailed"
	BlocksReadFailed   Key = "blocksReadFailed"
	BlocksNoSuchLines  Key = "blocksNoSuchLines"
	BlocksOutside      Key = "blocksOutside"
	BlocksNotFound     Key = "blocksNotFound"
	BlocksNotApproved  Key = "blocksNotApproved"
	BlocksProtected    Key = "blocksProtected"
	BlocksCutOff       Key = "blocksCutOff"
	BlocksRan          Key = "blocksRan"
	BlocksRunTimedOut  Key = "blocksRunTimedOut"
	BlocksRunFailed    Key = "blocksRunFailed"

	// Exits of processes.
	ExitKilled Key = "exitKilled"
	ExitStatus Key = "exitStatus"
)

var blocksTexts = map[Key]translations{
	HelpResume: {"go on with the newest unfinished task", "die neueste unfertige Aufgabe fortsetzen"},
	HelpDiff:   {"show what the last task has changed", "zeigen, was die letzte Aufgabe geändert hat"},
	HelpUndo: {
		"put back the files that the last task has changed",
		"die Dateien zurücksetzen, die die letzte Aufgabe geändert hat",
	},
	BlocksNoTask: {
		"There is no unfinished task. Your next message begins one.",
		"Es gibt keine unfertige Aufgabe. Deine nächste Nachricht beginnt eine.",
	},
	BlocksNothingChanged: {"No task has changed a file here.", "Hier hat noch keine Aufgabe eine Datei geändert."},
	BlocksChangedBy:      {"What this task has changed: {task}", "Das hat diese Aufgabe geändert: {task}"},
	BlocksUnchangedBy: {
		"The files are as they were before this task: {task}",
		"Die Dateien sind so wie vor dieser Aufgabe: {task}",
	},
	BlocksUndone:        {"Undone: {task}", "Rückgängig gemacht: {task}"},
	BlocksNothingUndone: {"Nothing was put back of: {task}", "Nichts wurde zurückgesetzt von: {task}"},
	BlocksRestored:      {"Put back: {files}", "Zurückgesetzt: {files}"},
	BlocksRemoved:       {"Removed: {files}", "Entfernt: {files}"},
	BlocksNotRestored:   {"⚠ Not put back: {file}: {reason}", "⚠ Nicht zurückgesetzt: {file}: {reason}"},
	BlocksMoreRefused:   {"⚠ and {count} more", "⚠ und {count} weitere"},
	BlocksCommandsStay: {
		"Commands that were run (RUN_COMMAND) are not undone.",
		"Ausgeführte Befehle (RUN_COMMAND) werden nicht rückgängig gemacht.",
	},
	BlocksChangedSince: {
		"something else has changed it since",
		"etwas anderes hat sie seitdem geändert",
	},
	BlocksInterrupted: {
		"the command that changed it was interrupted",
		"der Befehl, der sie geändert hat, wurde unterbrochen",
	},
	BlocksCopyChanged: {
		"the saved copy was changed or removed",
		"die gespeicherte Kopie wurde geändert oder entfernt",
	},
	ButtonYes:    {"Yes", "Ja"},
	ButtonNo:     {"No", "Nein"},
	ButtonAlways: {"Always in this session", "Immer in diesem Gespräch"},
	BlocksRefused: {
		"🔐 There was no answer, so this was refused: {command}",
		"🔐 Es kam keine Antwort, darum wurde das abgelehnt: {command}",
	},
	BlocksNeverChanged: {
		"🔐 {file} was not changed: your tools may execute it later, and blocks.approve is never.",
		"🔐 {file} wurde nicht geändert: Deine Programme könnten die Datei ausführen, und blocks.approve ist never.",
	},
	BlocksRunThis:    {"🔐 Run this command?", "🔐 Diesen Befehl ausführen?"},
	BlocksDelete:     {"🔐 Delete {file}?", "🔐 {file} löschen?"},
	BlocksDeleteLink: {"🔐 Delete {link}, which is a link to {file}?", "🔐 {link} löschen, einen Link auf {file}?"},
	BlocksEdit:       {"🔐 Edit {file}?", "🔐 {file} bearbeiten?"},
	BlocksOverwrite:  {"🔐 Overwrite {file}?", "🔐 {file} überschreiben?"},
	BlocksCreate:     {"🔐 Create {file}?", "🔐 {file} anlegen?"},
	BlocksTooLarge: {
		"(too large to be compared; it will have {count} bytes)",
		"(zu groß zum Vergleichen; danach sind es {count} Bytes)",
	},
	BlocksNoChange:  {"(no change)", "(keine Änderung)"},
	BlocksMoreLines: {"({count} more {count|line|lines})", "({count} weitere {count|Zeile|Zeilen})"},
	BlocksRound:     {"Round {number}", "Runde {number}"},
	BlocksAwaitsPerson: {
		"waiting for you to send the model's answer",
		"wartet darauf, dass du die Antwort des Modells schickst",
	},
	BlocksAwaitsModel: {"waiting for the model's answer", "wartet auf die Antwort des Modells"},
	BlocksGiveFile: {
		"Round {number}: give this file to the model, and send me its answer, as text or as a .txt or .md file.",
		"Runde {number}: Gib diese Datei dem Modell und schick mir seine Antwort, als Text oder als .txt- oder .md-Datei.",
	},
	BlocksEmptyAnswer: {
		"There is no command in that answer. The next file says so to the model. /stop ends this task.",
		"In dieser Antwort ist kein Befehl. Die nächste Datei sagt das dem Modell. /stop beendet diese Aufgabe.",
	},
	BlocksNotText: {
		"⚠ {file} was not read: an answer is text, or a .txt or .md file.",
		"⚠ {file} wurde nicht gelesen: Eine Antwort ist Text oder eine .txt- oder .md-Datei.",
	},
	BlocksNotRead: {"⚠ {file} was not read: {reason}.", "⚠ {file} wurde nicht gelesen: {reason}."},
	BlocksInboxNotRead: {
		"⚠ {file} in the inbox was not read: {reason}.",
		"⚠ {file} in der Inbox wurde nicht gelesen: {reason}.",
	},
	BlocksNotRegular: {"it is not a regular file", "sie ist keine gewöhnliche Datei"},
	BlocksFileTooLarge: {
		"it has more than {count} bytes; send it in several parts",
		"sie hat mehr als {count} Bytes; schick sie in mehreren Teilen",
	},
	BlocksDone: {"Done.", "Fertig."},
	BlocksDoneAlready: {
		"This task is done. Send it as a new message to have it done again.",
		"Diese Aufgabe ist fertig. Schick sie als neue Nachricht, damit sie noch einmal ausgeführt wird.",
	},
	BlocksCreated:   {"Created: {files}", "Angelegt: {files}"},
	BlocksChanged:   {"Changed: {files}", "Geändert: {files}"},
	BlocksDeleted:   {"Deleted: {files}", "Gelöscht: {files}"},
	BlocksMoreFiles: {"and {count} more", "und {count} weitere"},
	BlocksDiffOmits: {
		"The diff leaves out {count} {count|file|files}, because it would be too large.",
		"Im Diff {count|fehlt|fehlen} {count} {count|Datei|Dateien}, weil er sonst zu groß wäre.",
	},
	BlocksTooManyRounds: {"Stopped after {count} {count|round|rounds}", "Nach {count} {count|Runde|Runden} gestoppt"},
	BlocksResumable:     {"/resume continues the task.", "/resume setzt die Aufgabe fort."},
	BlocksAnswerLong: {
		"The agent's response is too long: it has more than {count} bytes (terminal.maxLine)",
		"Die Antwort des Agenten ist zu lang: Sie hat mehr als {count} Bytes (terminal.maxLine)",
	},
	BlocksAgentFailed: {"The agent has failed ({exit})", "Der Agent ist gescheitert ({exit})"},
	BlocksCreatedFile: {"Created '{file}'", "'{file}' angelegt"},
	BlocksEditedFile:  {"Edited '{file}' lines {first}-{last}", "'{file}' Zeilen {first}-{last} bearbeitet"},
	BlocksDeletedFile: {"Deleted '{file}'", "'{file}' gelöscht"},
	BlocksRequested:   {"Queued '{file}' for next outbox", "'{file}' kommt in die nächste Outbox"},
	BlocksCreateFailed: {
		"Failed to create '{file}': {reason}",
		"'{file}' ließ sich nicht anlegen: {reason}",
	},
	BlocksEditFailed: {
		"Failed to edit '{file}': {reason}",
		"'{file}' ließ sich nicht bearbeiten: {reason}",
	},
	BlocksDeleteFailed: {
		"Failed to delete '{file}': {reason}",
		"'{file}' ließ sich nicht löschen: {reason}",
	},
	BlocksReadFailed: {"Failed to read '{file}': {reason}", "'{file}' ließ sich nicht lesen: {reason}"},
	BlocksNoSuchLines: {
		"Invalid line range {first}-{last} for file with {count} lines",
		"Ungültige Zeilen {first}-{last}, die Datei hat {count} Zeilen",
	},
	BlocksOutside: {
		"REJECTED: Path '{path}' is outside workspace",
		"ABGELEHNT: Der Pfad '{path}' ist außerhalb des Arbeitsordners",
	},
	BlocksNotFound:    {"File '{file}' not found", "Datei '{file}' nicht gefunden"},
	BlocksNotApproved: {"REJECTED: not approved: {command}", "ABGELEHNT: nicht genehmigt: {command}"},
	BlocksProtected: {
		"REJECTED: not approved: {file} (protected, because the user's tools may execute it)",
		"ABGELEHNT: nicht genehmigt: {file} (geschützt, weil deine Programme die Datei ausführen könnten)",
	},
	BlocksCutOff: {
		"Interrupted: the gateway stopped while this ran",
		"Unterbrochen: Das Gateway wurde währenddessen beendet",
	},
	BlocksRan: {"Ran '{command}' (exit code {code})", "'{command}' ausgeführt (Exit-Code {code})"},
	BlocksRunTimedOut: {
		"Command timed out ({seconds}s): {command}",
		"Befehl nach {seconds} s abgebrochen: {command}",
	},
	BlocksRunFailed: {"Failed to run '{command}': {reason}", "'{command}' ließ sich nicht ausführen: {reason}"},
	ExitKilled:      {"killed by {signal}", "beendet durch {signal}"},
	ExitStatus:      {"exit status {code}", "Exit-Status {code}"},
}
