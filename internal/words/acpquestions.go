package words

// Texts of the protocol acp for the questions of agents.
const (
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
