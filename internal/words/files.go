package words

// Reasons why a file of an agent is not sent, for FileNotSent.
const (
	FileNotAbsolute  Key = "fileNotAbsolute"
	FileOutside      Key = "fileOutside"
	FileUnseen       Key = "fileUnseen"
	FileNotReadable  Key = "fileNotReadable"
	FileIsFolder     Key = "fileIsFolder"
	FileNotRegular   Key = "fileNotRegular"
	FileEmpty        Key = "fileEmpty"
	FileMissing      Key = "fileMissing"
	FileOfGateway    Key = "fileOfGateway"
	FileOfOtherChat  Key = "fileOfOtherChat"
	FileHasHardLinks Key = "fileHasHardLinks"
)

var filesTexts = map[Key]translations{
	FileNotAbsolute: {"not an absolute path", "kein absoluter Pfad"},
	FileOutside: {
		"outside the folders that files may be sent from (mediaRoots)",
		"außerhalb der Ordner, aus denen Dateien gesendet werden dürfen (mediaRoots)",
	},
	FileUnseen: {
		"the agent does not see that file, because it has a folder of its own there",
		"der Agent sieht diese Datei nicht, weil er dort einen eigenen Ordner hat",
	},
	FileNotReadable: {"not readable", "nicht lesbar"},
	FileIsFolder:    {"a folder, not a file", "ein Ordner, keine Datei"},
	FileNotRegular:  {"not a regular file", "keine gewöhnliche Datei"},
	FileEmpty:       {"the file is empty", "die Datei ist leer"},
	FileMissing:     {"no such file", "die Datei gibt es nicht"},
	FileOfGateway:   {"one of the gateway's own files", "eine eigene Datei des Gateways"},
	FileOfOtherChat: {"it belongs to another chat", "sie gehört zu einem anderen Chat"},
	FileHasHardLinks: {
		"it has several names (hard links), and there are too many private files to compare it with; send a copy of it",
		"sie hat mehrere Namen (Hardlinks), und es gibt zu viele private Dateien, um sie mit allen zu vergleichen; sende eine Kopie",
	},
}
