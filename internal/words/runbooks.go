package words

// Texts of runs of runbooks.
const (

	// The options of a question.
	ButtonApprove Key = "buttonApprove"
	ButtonReject  Key = "buttonReject"
	ButtonRetry   Key = "buttonRetry"
	ButtonSkip    Key = "buttonSkip"
	ButtonAbort   Key = "buttonAbort"

	// Replies to answers.
	RunSkipReason      Key = "runSkipReason"
	RunNothingToSkip   Key = "runNothingToSkip"
	RunNoAgentWaits    Key = "runNoAgentWaits"
	RunApprovedAlready Key = "runApprovedAlready"
	RunApprovals       Key = "runApprovals"
	RunCommentShort    Key = "runCommentShort"
	RunCommentRefused  Key = "runCommentRefused"

	// How questions ended.
	RunDecided    Key = "runDecided"
	RunAskedAgain Key = "runAskedAgain"
	RunSkipped    Key = "runSkipped"
	RunCommented  Key = "runCommented"

	// The commands /run and /runbooks.
	RunNoneWaiting    Key = "runNoneWaiting"
	RunNotWaiting     Key = "runNotWaiting"
	RunbooksNotRead   Key = "runbooksNotRead"
	RunbooksNone      Key = "runbooksNone"
	RunbooksList      Key = "runbooksList"
	RunbookReserved   Key = "runbookReserved"
	RunbookListed     Key = "runbookListed"
	RunbookInvalid    Key = "runbookInvalid"
	RunbookUnknown    Key = "runbookUnknown"
	RunbookUnreadable Key = "runbookUnreadable"
	RunUsage          Key = "runUsage"
	RunWaits          Key = "runWaits"

	// The progress and the end of a run.
	RunStopped      Key = "runStopped"
	RunEndedAlready Key = "runEndedAlready"
	RunComplete     Key = "runComplete"
	RunDeclined     Key = "runDeclined"
	RunEnded        Key = "runEnded"
	RunAborted      Key = "runAborted"
	RunHash         Key = "runHash"
	// Whose word a proof is.
	RunWordOfAgent   Key = "runWordOfAgent"
	RunWordOfGateway Key = "runWordOfGateway"
	RunAgentsWord    Key = "runAgentsWord"
	RunStepsBefore   Key = "runStepsBefore"
	RunStepsAfter    Key = "runStepsAfter"

	// Questions about steps.
	RunPeopleNeeded  Key = "runPeopleNeeded"
	RunStepFailed    Key = "runStepFailed"
	RunWriteComment  Key = "runWriteComment"
	RunHowToSkip     Key = "runHowToSkip"
	RunByAgent       Key = "runByAgent"
	RunMinted        Key = "runMinted"
	RunAgentReported Key = "runAgentReported"
	RunPermitCommand Key = "runPermitCommand"

	// Why a step was not proved. The agent gets these texts in English.
	RunCommandFailed Key = "runCommandFailed"
	RunNoOutput      Key = "runNoOutput"
	RunToolNotCalled Key = "runToolNotCalled"
	RunAnswerShort   Key = "runAnswerShort"
	RunNoAnswer      Key = "runNoAnswer"
)

var runbookTexts = map[Key]translations{
	ButtonApprove: {"Approve", "Genehmigen"},
	ButtonReject:  {"Reject", "Ablehnen"},
	ButtonRetry:   {"Retry", "Noch einmal"},
	ButtonSkip:    {"Skip", "Überspringen"},
	ButtonAbort:   {"Abort", "Abbrechen"},
	RunSkipReason: {
		"Why do you skip it? Send /run skip and the reason, such as /run skip done by hand.",
		"Warum überspringst du ihn? Sende /run skip und den Grund, etwa /run skip von Hand erledigt.",
	},
	RunNothingToSkip: {
		"There is no step here that can be skipped or commented on now.",
		"Hier gibt es gerade keinen Schritt, der sich überspringen oder kommentieren lässt.",
	},
	RunNoAgentWaits: {
		"No agent is waiting for this decision. Ask it to go on with run {run}.",
		"Kein Agent wartet auf diese Entscheidung. Bitte ihn, mit dem Lauf {run} weiterzumachen.",
	},
	RunApprovedAlready: {
		"You have approved already. Somebody else has to approve, too.",
		"Du hast schon zugestimmt. Es muss noch jemand anders zustimmen.",
	},
	RunApprovals: {
		"{count} of {needed} approvals. Somebody else has to approve, too.",
		"{count} von {needed} Zustimmungen. Es muss noch jemand anders zustimmen.",
	},
	RunCommentShort: {
		"The comment must have at least {count} characters.",
		"Der Kommentar muss mindestens {count} Zeichen haben.",
	},
	RunCommentRefused: {"The comment was not accepted.", "Der Kommentar wurde nicht angenommen."},
	RunDecided:        {"decided already", "schon entschieden"},
	RunAskedAgain:     {"asked again below", "unten noch einmal gefragt"},
	RunSkipped:        {"Skip: {reason}", "Überspringen: {reason}"},
	RunCommented:      {"Commented", "Kommentiert"},
	RunNoneWaiting: {
		"No run is waiting here. /runbooks lists the runbooks.",
		"Hier wartet kein Lauf. /runbooks listet die Runbooks auf.",
	},
	RunNotWaiting: {
		"No run {run} is waiting here. /run lists those that are.",
		"Hier wartet kein Lauf {run}. /run listet die wartenden auf.",
	},
	RunbooksNotRead: {
		"The runbooks cannot be read. The bot's log has the reason.",
		"Die Runbooks sind nicht lesbar. Der Grund steht im Log des Bots.",
	},
	RunbooksNone: {"There are no runbooks.", "Es gibt keine Runbooks."},
	RunbooksList: {
		"Runbooks. To run one, send /run and its name:",
		"Runbooks. Um eines auszuführen, sende /run und seinen Namen:",
	},
	RunbookReserved: {
		"{runbook}: cannot be run in a chat, because /run {name} means something else. Rename the file.",
		"{runbook}: lässt sich nicht im Chat ausführen, weil /run {name} etwas anderes bedeutet. Benenne die Datei um.",
	},
	RunbookListed: {
		"{runbook}: {label} ({count} {count|step|steps})",
		"{runbook}: {label} ({count} {count|Schritt|Schritte})",
	},
	RunbookInvalid: {"{runbook} cannot be run: {reason}", "{runbook} lässt sich nicht ausführen: {reason}"},
	RunbookUnknown: {
		"There is no runbook \"{name}\". /runbooks lists them.",
		"Es gibt kein Runbook „{name}“. /runbooks listet sie auf.",
	},
	RunbookUnreadable: {
		"The runbook \"{name}\" cannot be read. /runbooks lists them.",
		"Das Runbook „{name}“ ist nicht lesbar. /runbooks listet alle auf.",
	},
	RunUsage: {
		"To run a runbook, send /run and its name. /runbooks lists them.",
		"Um ein Runbook auszuführen, sende /run und seinen Namen. /runbooks listet sie auf.",
	},
	RunWaits: {
		"The run {run} of \"{runbook}\" waits at step {step} of {steps}. To continue, send /run resume {run}",
		"Der Lauf {run} von „{runbook}“ wartet bei Schritt {step} von {steps}. Um fortzufahren, sende /run resume {run}",
	},
	RunStopped: {
		"Stopped. The run of \"{runbook}\" waits at step {step}. To continue, send /run resume",
		"Gestoppt. Der Lauf von „{runbook}“ wartet bei Schritt {step}. Um fortzufahren, sende /run resume",
	},
	RunEndedAlready: {
		"This run has ended. /run {name} begins a new one.",
		"Dieser Lauf ist zu Ende. /run {name} beginnt einen neuen.",
	},
	RunComplete: {"The run is complete.", "Der Lauf ist fertig."},
	RunDeclined: {
		"The run was declined at step {step} by {person}.",
		"Der Lauf wurde bei Schritt {step} von {person} abgelehnt.",
	},
	RunEnded: {
		"The run was ended at step {step} by {person}: {reason}.",
		"Der Lauf wurde bei Schritt {step} von {person} beendet: {reason}.",
	},
	RunAborted:       {"aborted", "abgebrochen"},
	RunHash:          {"Run {run}, last hash {hash}.", "Lauf {run}, letzter Hash {hash}."},
	RunWordOfAgent:   {"the agent's word", "laut Agent"},
	RunWordOfGateway: {"seen by nanobot", "von nanobot gesehen"},
	RunAgentsWord: {
		"{count} of {total} {total|proof|proofs} {count|is|are} the agent's own word.",
		"{count} von {total} {total|Beweis|Beweisen} {count|ist|sind} nur das Wort des Agenten.",
	},
	RunStepsBefore:  {"… {count} before", "… {count} davor"},
	RunStepsAfter:   {"… {count} more", "… {count} weitere"},
	RunPeopleNeeded: {"{count} people have to approve.", "{count} Personen müssen zustimmen."},
	RunStepFailed:   {"Step {step} has failed {count} {count|time|times}.", "Schritt {step} ist {count}-mal gescheitert."},
	RunWriteComment: {
		"You can write the comment yourself: reply to this message with it, or send /run comment and the text.",
		"Du kannst den Kommentar selbst schreiben: Antworte damit auf diese Nachricht oder sende /run comment und den Text.",
	},
	RunHowToSkip: {
		"To skip the step, send /run skip and the reason.",
		"Um den Schritt zu überspringen, sende /run skip und den Grund.",
	},
	RunByAgent: {"🤖 The agent executes this run.", "🤖 Der Agent führt diesen Lauf aus."},
	RunMinted:  {"It was written by an agent.", "Das Runbook hat ein Agent geschrieben."},
	RunAgentReported: {
		"The agent itself reported how its commands ended.",
		"Wie seine Befehle endeten, hat der Agent selbst gemeldet.",
	},
	RunPermitCommand: {
		"The runbook {runbook} was written by an agent. May nanobot run this command to check that it succeeds?",
		"Das Runbook {runbook} hat ein Agent geschrieben. Darf nanobot diesen Befehl ausführen, um zu prüfen, ob er gelingt?",
	},
	RunCommandFailed: {
		"The command {command} ended with exit status {code}.",
		"Der Befehl {command} endete mit Exit-Status {code}.",
	},
	RunNoOutput: {"It printed nothing.", "Er hat nichts ausgegeben."},
	RunToolNotCalled: {
		"The agent has not proved with kairos_next that it called the tool {tool}.",
		"Der Agent hat nicht mit kairos_next belegt, dass er das Tool {tool} aufgerufen hat.",
	},
	RunAnswerShort: {
		"The agent's answer must have at least {count} characters.",
		"Die Antwort des Agenten muss mindestens {count} Zeichen haben.",
	},
	RunNoAnswer: {
		"The agent has not answered, or has failed.",
		"Der Agent hat nicht geantwortet oder ist gescheitert.",
	},
}
