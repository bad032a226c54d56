package words

// Texts of the gateway about access, commands, questions and the queue.
const (

	// Access.
	TooManyMessages Key = "tooManyMessages"
	PairingCode     Key = "pairingCode"
	PairingLater    Key = "pairingLater"
	AccessGranted   Key = "accessGranted"

	// Commands.
	HelpStop            Key = "helpStop"
	HelpStatus          Key = "helpStatus"
	HelpNew             Key = "helpNew"
	HelpRetry           Key = "helpRetry"
	HelpVerbose         Key = "helpVerbose"
	HelpWhoami          Key = "helpWhoami"
	HelpHelp            Key = "helpHelp"
	HelpAgent           Key = "helpAgent"
	HelpRunbooks        Key = "helpRunbooks"
	HelpRun             Key = "helpRun"
	Hello               Key = "hello"
	AgentCommands       Key = "agentCommands"
	EverythingElse      Key = "everythingElse"
	NewConversation     Key = "newConversation"
	WhoAmI              Key = "whoAmI"
	StillWorking        Key = "stillWorking"
	NothingToRetry      Key = "nothingToRetry"
	AuthorWithoutAccess Key = "authorWithoutAccess"
	NotWaiting          Key = "notWaiting"
	Cancelled           Key = "cancelled"
	DetailsGone         Key = "detailsGone"
	CommandFailed       Key = "commandFailed"
	TextFailed          Key = "textFailed"
	FileNotWritten      Key = "fileNotWritten"

	// Agents.
	OnlyAgent        Key = "onlyAgent"
	CurrentAgent     Key = "currentAgent"
	SameAgent        Key = "sameAgent"
	NextAgent        Key = "nextAgent"
	NextAgentBusy    Key = "nextAgentBusy"
	UnknownAgent     Key = "unknownAgent"
	UnknownAgentNear Key = "unknownAgentNear"
	AgentGone        Key = "agentGone"
	AgentGoneChoose  Key = "agentGoneChoose"

	// Verbosity.
	VerboseOff   Key = "verboseOff"
	VerboseOn    Key = "verboseOn"
	VerboseUsage Key = "verboseUsage"
	VerboseIsOff Key = "verboseIsOff"
	VerboseIsOn  Key = "verboseIsOn"

	// Questions.
	QuestionClosed Key = "questionClosed"
	NothingChosen  Key = "nothingChosen"
	Dismissed      Key = "dismissed"
	// The outcome of a dismissed question that asks for no permission.
	DismissedQuestion Key = "dismissedQuestion"
	DoneElsewhere     Key = "doneElsewhere"
	WhichQuestion     Key = "whichQuestion"
	AnsweredBy        Key = "answeredBy"
	// The answer in answeredBy, if it is a password.
	SecretAnswer     Key = "secretAnswer"
	SecretNotDeleted Key = "secretNotDeleted"
	TooOldButton     Key = "tooOldButton"
	OnlyApprovers    Key = "onlyApprovers"

	// Edited messages.
	EditedRunning    Key = "editedRunning"
	EditedSendAgain  Key = "editedSendAgain"
	EditedCommand    Key = "editedCommand"
	ButtonRunNewText Key = "buttonRunNewText"

	// The queue.
	Busy         Key = "busy"
	QueueFull    Key = "queueFull"
	Queued       Key = "queued"
	ButtonCancel Key = "buttonCancel"

	// The answers to /stop.
	EndedAlready    Key = "endedAlready"
	CommandsStopped Key = "commandsStopped"
	AlreadyStopping Key = "alreadyStopping"
	NothingRunning  Key = "nothingRunning"
	WaitingDropped  Key = "waitingDropped"
	WaitingLeft     Key = "waitingLeft"

	// The parts of /status.
	StatusRunning       Key = "statusRunning"
	StatusWaitingForYou Key = "statusWaitingForYou"
	StatusWaiting       Key = "statusWaiting"
	StatusWarm          Key = "statusWarm"
	StatusAgent         Key = "statusAgent"
	StatusByAgent       Key = "statusByAgent"
	StatusLastTurns     Key = "statusLastTurns"
	StatusTurn          Key = "statusTurn"
	StatusExitCode      Key = "statusExitCode"
	StatusCPU           Key = "statusCPU"
	StatusMemory        Key = "statusMemory"
	StatusUndelivered   Key = "statusUndelivered"
	StatusDelivery      Key = "statusDelivery"
	OutcomeDone         Key = "outcomeDone"
	OutcomeFailed       Key = "outcomeFailed"
	OutcomeTimeout      Key = "outcomeTimeout"
	OutcomeStopped      Key = "outcomeStopped"
	OutcomeCutOff       Key = "outcomeCutOff"
	DeliveryPending     Key = "deliveryPending"
	DeliverySending     Key = "deliverySending"
	DeliveryFailed      Key = "deliveryFailed"
	DeliveryUnknown     Key = "deliveryUnknown"
	ButtonRun           Key = "buttonRun"
)

var intakeTexts = map[Key]translations{
	TooManyMessages: {
		"That is more than {limit} messages a minute. Please wait a little.",
		"Das sind mehr als {limit} Nachrichten pro Minute. Bitte warte ein wenig.",
	},
	PairingCode: {
		"This bot is private. Its operator can let you in with:\n\nnanobot pair {code}\n\nThe code is valid for {minutes} minutes.",
		"Dieser Bot ist privat. Sein Betreiber kann dich freischalten mit:\n\nnanobot pair {code}\n\nDer Code gilt {minutes} Minuten.",
	},
	PairingLater: {
		"This bot is private, and too many people are asking to be let in. Please try again in an hour.",
		"Dieser Bot ist privat, und gerade bitten zu viele um Zugang. Bitte versuche es in einer Stunde wieder.",
	},
	AccessGranted: {"You have access now.", "Du hast jetzt Zugang."},
	HelpStop: {
		"stop the current work; /stop all also drops the waiting messages",
		"die laufende Arbeit stoppen; /stop all verwirft auch wartende Nachrichten",
	},
	HelpStatus: {
		"show what is running, waiting and undelivered",
		"zeigen, was läuft, wartet und nicht zugestellt ist",
	},
	HelpNew:   {"start a new conversation", "ein neues Gespräch beginnen"},
	HelpRetry: {"run your last message again", "deine letzte Nachricht noch einmal ausführen"},
	HelpVerbose: {
		"show the work while it runs (1) or only answers (0)",
		"die Arbeit zeigen, während sie läuft (1), oder nur Antworten (0)",
	},
	HelpWhoami:   {"show your ID and this chat's", "deine ID und die dieses Chats zeigen"},
	HelpHelp:     {"list these commands", "diese Befehle auflisten"},
	HelpAgent:    {"show or choose the agent", "den Agenten zeigen oder wählen"},
	HelpRunbooks: {"list the runbooks", "die Runbooks auflisten"},
	HelpRun: {
		"run a runbook, or continue one with /run resume",
		"ein Runbook ausführen oder mit /run resume fortsetzen",
	},
	Hello: {
		"Hello! Send me a message to begin. /help lists the commands.",
		"Hallo! Schick mir eine Nachricht, und es geht los. /help listet die Befehle auf.",
	},
	AgentCommands:  {"The agent's own commands:", "Befehle des Agenten:"},
	EverythingElse: {"Everything else goes to the agent.", "Alles andere geht an den Agenten."},
	NewConversation: {
		"This is a new conversation. The agent does not see the earlier messages.",
		"Dies ist ein neues Gespräch. Der Agent sieht die früheren Nachrichten nicht.",
	},
	WhoAmI:       {"user id: {user}\nchat: {chat}", "Benutzer-ID: {user}\nChat: {chat}"},
	StillWorking: {"I am still working. Send /stop first.", "Ich arbeite noch. Sende zuerst /stop."},
	NothingToRetry: {
		"There is nothing to run again.",
		"Es gibt nichts, was noch einmal laufen könnte.",
	},
	AuthorWithoutAccess: {
		"The person who wrote that no longer has access.",
		"Wer das geschrieben hat, hat keinen Zugang mehr.",
	},
	NotWaiting: {"That message is no longer waiting.", "Diese Nachricht wartet nicht mehr."},
	Cancelled:  {"Cancelled.", "Abgebrochen."},
	DetailsGone: {
		"The details of that work are no longer stored.",
		"Die Einzelheiten dieser Arbeit sind nicht mehr gespeichert.",
	},
	CommandFailed: {
		"{command} did not work: {reason}.",
		"{command} hat nicht funktioniert: {reason}.",
	},
	TextFailed: {"That did not work: {reason}.", "Das hat nicht funktioniert: {reason}."},
	FileNotWritten: {
		"⚠ A file was not sent: it could not be written to the bot's disk.",
		"⚠ Eine Datei wurde nicht gesendet: Sie ließ sich nicht auf die Festplatte des Bots schreiben.",
	},
	OnlyAgent: {
		"You are talking to {agent}, the only agent.",
		"Du sprichst mit {agent}, dem einzigen Agenten.",
	},
	CurrentAgent: {
		"You are talking to {agent}. To change, send /agent NAME: {others}.",
		"Du sprichst mit {agent}. Zum Wechseln sende /agent NAME: {others}.",
	},
	SameAgent: {"You are already talking to {agent}.", "Du sprichst schon mit {agent}."},
	NextAgent: {"Your next message goes to {agent}.", "Deine nächste Nachricht geht an {agent}."},
	NextAgentBusy: {
		"Your next message goes to {agent}. {running} is still working.",
		"Deine nächste Nachricht geht an {agent}. {running} arbeitet noch.",
	},
	UnknownAgent: {
		"There is no agent \"{name}\". These are the agents: {agents}.",
		"Es gibt keinen Agenten „{name}“. Die Agenten sind: {agents}.",
	},
	UnknownAgentNear: {
		"There is no agent \"{name}\". Did you mean {near}? These are the agents: {agents}.",
		"Es gibt keinen Agenten „{name}“. Meintest du {near}? Die Agenten sind: {agents}.",
	},
	AgentGone: {
		"The agent {gone} is no longer available, so {agent} answers from now on.",
		"Den Agenten {gone} gibt es nicht mehr, ab jetzt antwortet {agent}.",
	},
	AgentGoneChoose: {
		"The agent {gone} is no longer available, so {agent} answers from now on. /agent chooses another.",
		"Den Agenten {gone} gibt es nicht mehr, ab jetzt antwortet {agent}. /agent wählt einen anderen.",
	},
	VerboseOff: {
		"From the next message on I show only answers and questions. /verbose 1 shows the work again.",
		"Ab der nächsten Nachricht zeige ich nur Antworten und Fragen. /verbose 1 zeigt die Arbeit wieder.",
	},
	VerboseOn: {
		"From the next message on I show the work while it runs. /verbose 0 hides it.",
		"Ab der nächsten Nachricht zeige ich die Arbeit, während sie läuft. /verbose 0 verbirgt sie.",
	},
	VerboseUsage: {
		"Send /verbose 0 to see only answers, or /verbose 1 to see the work while it runs.",
		"Sende /verbose 0, um nur Antworten zu sehen, oder /verbose 1, um die Arbeit zu sehen, während sie läuft.",
	},
	VerboseIsOff: {
		"This chat sees only answers and questions. /verbose 1 shows the work while it runs.",
		"In diesem Chat zeige ich nur Antworten und Fragen. /verbose 1 zeigt die Arbeit, während sie läuft.",
	},
	VerboseIsOn: {
		"This chat sees the work while it runs. /verbose 0 hides it.",
		"In diesem Chat zeige ich die Arbeit, während sie läuft. /verbose 0 verbirgt sie.",
	},
	NothingChosen: {"nothing chosen", "nichts gewählt"},
	DoneElsewhere: {"done", "erledigt"},
	Dismissed: {
		"refused, since {person} wrote something else",
		"abgelehnt, denn {person} hat etwas anderes geschrieben",
	},
	DismissedQuestion: {
		"cancelled, since {person} wrote something else",
		"abgebrochen, denn {person} hat etwas anderes geschrieben",
	},
	QuestionClosed: {"This question is no longer open.", "Diese Frage ist nicht mehr offen."},
	WhichQuestion: {
		"Which question do you mean? Press a button under it, or reply to it.",
		"Welche Frage meinst du? Drück einen Knopf darunter oder antworte auf sie.",
	},
	AnsweredBy:   {"{answer} (by {person})", "{answer} (von {person})"},
	SecretAnswer: {"🔒 not shown", "🔒 nicht angezeigt"},
	SecretNotDeleted: {
		"I may not delete your message with the secret in this chat, so please delete it yourself.",
		"Ich darf deine Nachricht mit dem Geheimnis in diesem Chat nicht löschen; bitte lösche sie selbst.",
	},
	TooOldButton: {
		"This button is too old. Please write your answer instead.",
		"Dieser Knopf ist zu alt. Bitte schreibe deine Antwort stattdessen.",
	},
	OnlyApprovers: {"Only approvers can decide this.", "Das dürfen nur die dafür Berechtigten entscheiden."},
	EditedRunning: {
		"You edited this after I had started on it.",
		"Du hast das geändert, nachdem ich damit angefangen hatte.",
	},
	EditedSendAgain: {
		"You edited this after I had started on it. Send the new text again if you want me to work on it.",
		"Du hast das geändert, nachdem ich damit angefangen hatte. Sende den neuen Text noch einmal, wenn ich damit arbeiten soll.",
	},
	EditedCommand: {
		"This message no longer waits. I do not carry out commands in edited messages: send it as a new message.",
		"Diese Nachricht wartet nicht mehr. Befehle in geänderten Nachrichten führe ich nicht aus: Sende sie als neue Nachricht.",
	},
	ButtonRunNewText: {"Run again with the new text", "Mit dem neuen Text wiederholen"},
	Busy: {
		"I am still working on your last message. Send it again later, or /stop.",
		"Ich arbeite noch an deiner letzten Nachricht. Sende das später noch einmal oder stoppe mich mit /stop.",
	},
	QueueFull: {
		"{count} {count|message|messages} already waiting, which is the limit. /stop all empties the queue.",
		"Schon {count} {count|Nachricht wartet|Nachrichten warten}, mehr geht nicht. /stop all leert die Warteschlange.",
	},
	Queued:       {"Queued.", "In der Warteschlange."},
	ButtonCancel: {"Cancel", "Abbrechen"},
	EndedAlready: {"That has ended already.", "Das ist schon zu Ende."},
	CommandsStopped: {
		"{count} {count|command|commands} stopped.",
		"{count} {count|Befehl|Befehle} gestoppt.",
	},
	AlreadyStopping: {"I am already stopping it.", "Ich stoppe es schon."},
	NothingRunning:  {"Nothing is running.", "Es läuft nichts."},
	WaitingDropped: {
		"{count} waiting {count|message|messages} dropped.",
		"{count} wartende {count|Nachricht|Nachrichten} verworfen.",
	},
	WaitingLeft: {
		"{count} {count|message still waits; /stop all drops it|messages still wait; /stop all drops them}.",
		"{count} {count|Nachricht wartet noch; /stop all verwirft sie|Nachrichten warten noch; /stop all verwirft sie}.",
	},
	StatusRunning: {"Running for {time}{agent}: {text}", "Läuft seit {time}{agent}: {text}"},
	StatusWaitingForYou: {
		"Waiting for you for {time}{agent}: {text}",
		"Wartet auf dich seit {time}{agent}: {text}",
	},
	StatusWaiting:   {"Waiting: {count}", "Wartend: {count}"},
	StatusWarm:      {"Processes that wait for a message: {count}", "Prozesse, die auf eine Nachricht warten: {count}"},
	StatusAgent:     {"Agent: {agent}", "Agent: {agent}"},
	StatusByAgent:   {" (agent {agent})", " (Agent {agent})"},
	StatusLastTurns: {"Last turns:", "Zuletzt:"},
	StatusTurn: {
		"- {outcome}{agent}, {time}{usage}: {text}",
		"- {outcome}{agent}, {time}{usage}: {text}",
	},
	StatusExitCode:    {"{outcome} (exit code {code})", "{outcome} (Exit-Code {code})"},
	StatusCPU:         {", CPU {time}", ", CPU {time}"},
	StatusMemory:      {", {size} MiB", ", {size} MiB"},
	StatusUndelivered: {"Not delivered:", "Nicht zugestellt:"},
	StatusDelivery:    {"- {state} for {time}: {text}", "- {state} seit {time}: {text}"},
	OutcomeDone:       {"done", "fertig"},
	OutcomeFailed:     {"failed", "fehlgeschlagen"},
	OutcomeTimeout:    {"timeout", "Zeit abgelaufen"},
	OutcomeStopped:    {"stopped", "gestoppt"},
	OutcomeCutOff:     {"cut off", "abgebrochen"},
	DeliveryPending:   {"pending", "wartet"},
	DeliverySending:   {"sending", "wird gesendet"},
	DeliveryFailed:    {"failed", "fehlgeschlagen"},
	DeliveryUnknown:   {"unknown", "unbekannt"},
	ButtonRun:         {"Run {name}", "{name} starten"},
}
