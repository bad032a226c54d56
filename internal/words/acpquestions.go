package words

// Texts of the protocol acp for the questions of agents. blocks shares those of long commands.
const (
	// Permissions.
	PermissionNobody    Key = "permissionNobody"
	PermissionTimeout   Key = "permissionTimeout"
	PermissionFailed    Key = "permissionFailed"
	ButtonAllowOnce     Key = "buttonAllowOnce"
	ButtonAllowAlways   Key = "buttonAllowAlways"
	ButtonNever         Key = "buttonNever"
	ButtonAllowCommands Key = "buttonAllowCommands"
	ButtonAllowWriting  Key = "buttonAllowWriting"
	ButtonAllowReading  Key = "buttonAllowReading"
	QuestionMore        Key = "questionMore"
	QuestionMoreBytes   Key = "questionMoreBytes"
	QuestionBlanks      Key = "questionBlanks"
	QuestionDocument    Key = "questionDocument"
	WantsCommand        Key = "wantsCommand"
	WantsRead           Key = "wantsRead"
	WantsWrite          Key = "wantsWrite"
	CommandFolder       Key = "commandFolder"
	CommandVariable     Key = "commandVariable"
	FileTarget          Key = "fileTarget"
	FileProtected       Key = "fileProtected"

	// Forms and links of the agent.
	ElicitNobody    Key = "elicitNobody"
	ElicitTimeout   Key = "elicitTimeout"
	ElicitUnknown   Key = "elicitUnknown"
	ElicitFailed    Key = "elicitFailed"
	ButtonDone      Key = "buttonDone"
	FieldNumber     Key = "fieldNumber"
	FieldDefault    Key = "fieldDefault"
	FieldChosen     Key = "fieldChosen"
	FieldOwnAnswer  Key = "fieldOwnAnswer"
	FieldNotOption  Key = "fieldNotOption"
	FieldNotNumber  Key = "fieldNotNumber"
	FieldNotInteger Key = "fieldNotInteger"
	FieldTooSmall   Key = "fieldTooSmall"
	FieldTooLarge   Key = "fieldTooLarge"
	FieldTooShort   Key = "fieldTooShort"
	FieldTooLong    Key = "fieldTooLong"
	FieldNotPattern Key = "fieldNotPattern"
	FieldNotEmail   Key = "fieldNotEmail"
	FieldNotLink    Key = "fieldNotLink"
	FieldNotDate    Key = "fieldNotDate"
	FieldNotTime    Key = "fieldNotTime"
)

var acpQuestionTexts = map[Key]translations{
	PermissionNobody: {
		"🔐 There is nobody here to ask, so this was refused: {title}",
		"🔐 Hier ist niemand, der gefragt werden kann, darum wurde dies abgelehnt: {title}",
	},
	PermissionTimeout: {
		"🔐 Nobody answered within {seconds} s, so this was refused: {title}",
		"🔐 Innerhalb von {seconds} s hat niemand geantwortet, darum wurde dies abgelehnt: {title}",
	},
	PermissionFailed: {
		"🔐 The question could not be asked, so this was refused: {title}",
		"🔐 Die Frage konnte nicht gestellt werden, darum wurde dies abgelehnt: {title}",
	},
	ButtonAllowOnce:     {"Allow once", "Einmal erlauben"},
	ButtonAllowAlways:   {"Always", "Immer"},
	ButtonNever:         {"Never", "Nie"},
	ButtonAllowCommands: {"Allow commands for this session", "Befehle in diesem Gespräch erlauben"},
	ButtonAllowWriting:  {"Allow writing for this session", "Schreiben in diesem Gespräch erlauben"},
	ButtonAllowReading:  {"Allow reading for this session", "Lesen in diesem Gespräch erlauben"},
	QuestionMore:        {"(and more)", "(und mehr)"},
	QuestionMoreBytes:   {"({count} more {count|byte|bytes})", "({count} {count|weiteres Byte|weitere Bytes})"},
	QuestionBlanks:      {"({count} blank characters)", "({count} leere Zeichen)"},
	QuestionDocument: {
		"The next question shows only a part of this.",
		"Die nächste Frage zeigt davon nur einen Teil.",
	},
	WantsCommand:    {"The agent wants to run a command", "Der Agent möchte einen Befehl ausführen"},
	WantsRead:       {"The agent wants to read a file", "Der Agent möchte eine Datei lesen"},
	WantsWrite:      {"The agent wants to write a file", "Der Agent möchte eine Datei schreiben"},
	CommandFolder:   {"in {path}", "im Ordner {path}"},
	CommandVariable: {"with {variable}", "mit {variable}"},
	FileTarget:      {"which is {path}", "tatsächlich {path}"},
	FileProtected: {
		"⚠ This file is protected: your tools may execute it later.",
		"⚠ Diese Datei ist geschützt: Deine Programme könnten sie später ausführen.",
	},
	ElicitNobody: {
		"There is nobody here to ask, so the agent gets no answer.",
		"Hier ist niemand, der gefragt werden kann, darum bekommt der Agent keine Antwort.",
	},
	ElicitTimeout: {
		"Nobody answered within {seconds} s, so the agent gets no answer.",
		"Innerhalb von {seconds} s hat niemand geantwortet, darum bekommt der Agent keine Antwort.",
	},
	ElicitUnknown: {
		"The agent asked for something that cannot be entered here.",
		"Der Agent fragt nach etwas, das hier nicht eingegeben werden kann.",
	},
	ElicitFailed: {
		"The agent's question could not be asked.",
		"Die Frage des Agenten konnte nicht gestellt werden.",
	},
	ButtonDone:      {"Done", "Fertig"},
	FieldNumber:     {"{number} of {count}", "{number} von {count}"},
	FieldDefault:    {"Default: {value}", "Vorgabe: {value}"},
	FieldChosen:     {"Chosen: {names}", "Gewählt: {names}"},
	FieldOwnAnswer:  {"Or write your own answer.", "Oder schreibe eine eigene Antwort."},
	FieldNotOption:  {"Please choose one of the options.", "Bitte wähle eine der Möglichkeiten."},
	FieldNotNumber:  {"Please write a number.", "Bitte schreibe eine Zahl."},
	FieldNotInteger: {"Please write a whole number.", "Bitte schreibe eine ganze Zahl."},
	FieldTooSmall: {
		"The number must be at least {minimum}.",
		"Die Zahl muss mindestens {minimum} sein.",
	},
	FieldTooLarge: {
		"The number must be at most {maximum}.",
		"Die Zahl darf höchstens {maximum} sein.",
	},
	FieldTooShort: {
		"The text must have at least {count} {count|character|characters}.",
		"Der Text muss mindestens {count} Zeichen haben.",
	},
	FieldTooLong: {
		"The text must have at most {count} {count|character|characters}.",
		"Der Text darf höchstens {count} Zeichen haben.",
	},
	FieldNotPattern: {
		"The text does not have the form that the agent expects.",
		"Der Text hat nicht die Form, die der Agent erwartet.",
	},
	FieldNotEmail: {"Please write an email address.", "Bitte schreibe eine E-Mail-Adresse."},
	FieldNotLink: {
		"Please write a whole link, such as https://example.com.",
		"Bitte schreibe einen ganzen Link wie https://example.com.",
	},
	FieldNotDate: {
		"Please write a date, such as 2026-01-31.",
		"Bitte schreibe ein Datum wie 2026-01-31.",
	},
	FieldNotTime: {
		"Please write a date and time, such as 2026-01-31T12:00:00Z.",
		"Bitte schreibe Datum und Uhrzeit wie 2026-01-31T12:00:00Z.",
	},
}
