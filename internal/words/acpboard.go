package words

// Texts of the protocol acp about the work of an agent: its board, its changes and its files.
const (
	AgentDone      Key = "agentDone"
	PlanDone       Key = "planDone"
	PlanMore       Key = "planMore"
	UnnamedTool    Key = "unnamedTool"
	EarlierSteps   Key = "earlierSteps"
	FilesChanged   Key = "filesChanged"
	MoreFiles      Key = "moreFiles"
	ChangeNew      Key = "changeNew"
	ChangeTooLarge Key = "changeTooLarge"

	// Content that cannot be shown.
	PictureUnshown Key = "pictureUnshown"
	SoundUnshown   Key = "soundUnshown"
	FileUnshown    Key = "fileUnshown"
	DataTooLarge   Key = "dataTooLarge"
	DataInvalid    Key = "dataInvalid"
	DataEmpty      Key = "dataEmpty"
	DataNotWritten Key = "dataNotWritten"
)

var acpBoardTexts = map[Key]translations{
	AgentDone:      {"Done.", "Fertig."},
	PlanDone:       {"{count} done", "{count} erledigt"},
	PlanMore:       {"{count} more", "{count} weitere"},
	UnnamedTool:    {"tool", "Werkzeug"},
	EarlierSteps:   {"{count} earlier {count|step|steps}", "{count} {count|früherer Schritt|frühere Schritte}"},
	FilesChanged:   {"{count} {count|file|files} changed", "{count} {count|Datei|Dateien} geändert"},
	MoreFiles:      {"and {count} more {count|file|files}", "und {count} weitere {count|Datei|Dateien}"},
	ChangeNew:      {"new", "neu"},
	ChangeTooLarge: {"too large to be compared", "zu groß für einen Vergleich"},

	PictureUnshown: {
		"The agent sent a picture that cannot be shown: {reason}.",
		"Der Agent hat ein Bild gesendet, das nicht angezeigt werden kann: {reason}.",
	},
	SoundUnshown: {
		"The agent sent a sound that cannot be shown: {reason}.",
		"Der Agent hat eine Tonaufnahme gesendet, die nicht angezeigt werden kann: {reason}.",
	},
	FileUnshown: {
		"The agent sent a file that cannot be shown: {reason}.",
		"Der Agent hat eine Datei gesendet, die nicht angezeigt werden kann: {reason}.",
	},
	DataTooLarge:   {"larger than {size} MiB", "größer als {size} MiB"},
	DataInvalid:    {"not valid base64", "kein gültiges Base64"},
	DataEmpty:      {"empty", "leer"},
	DataNotWritten: {"it could not be written", "konnte nicht geschrieben werden"},
}
