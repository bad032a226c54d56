package words

// Texts of the channels.
const (

	// Files that were not sent or received.
	FileNotSent             Key = "fileNotSent"
	FileNotSentSize         Key = "fileNotSentSize"
	FileNotReceived         Key = "fileNotReceived"
	FileNotReceivedSize     Key = "fileNotReceivedSize"
	FileOfStranger          Key = "fileOfStranger"
	FileDownloadFailed      Key = "fileDownloadFailed"
	FileNoSpace             Key = "fileNoSpace"
	FileChatFull            Key = "fileChatFull"
	FileBotsLimit           Key = "fileBotsLimit"
	FileOperatorLimit       Key = "fileOperatorLimit"
	FileLargerThan          Key = "fileLargerThan"
	FileUnreadable          Key = "fileUnreadable"
	FileRefusedByTelegram   Key = "fileRefusedByTelegram"
	FileTooLargeForDiscord  Key = "fileTooLargeForDiscord"
	FileOfMessageUnreadable Key = "fileOfMessageUnreadable"
	LimitOfTelegram         Key = "limitOfTelegram"
	LimitOfDiscord          Key = "limitOfDiscord"
	LimitOfPage             Key = "limitOfPage"
	WholeAnswerInFile       Key = "wholeAnswerInFile"

	// Screens.
	ScreenBlank Key = "screenBlank"
	RowsAbove   Key = "rowsAbove"
	RowsBelow   Key = "rowsBelow"

	// Telegram.
	TopicClosed         Key = "topicClosed"
	UnreadableStories   Key = "unreadableStories"
	UnreadableGames     Key = "unreadableGames"
	UnreadablePaidMedia Key = "unreadablePaidMedia"
	UnreadableGiveaways Key = "unreadableGiveaways"
	UnreadableInvoices  Key = "unreadableInvoices"
	UnreadableKind      Key = "unreadableKind"

	// Discord.
	ThreadLocked       Key = "threadLocked"
	ThreadDeleted      Key = "threadDeleted"
	ThreadName         Key = "threadName"
	OnlyDirectMessages Key = "onlyDirectMessages"
	ButtonDetails      Key = "buttonDetails"
	ButtonChoose       Key = "buttonChoose"
	HelpAsk            Key = "helpAsk"
	HelpAskText        Key = "helpAskText"
	HelpAskFile        Key = "helpAskFile"
	HelpArgument       Key = "helpArgument"

	// The page.
	PageFailed          Key = "pageFailed"
	PageNoChat          Key = "pageNoChat"
	PageNoFile          Key = "pageNoFile"
	PageFileGone        Key = "pageFileGone"
	PageFileChanged     Key = "pageFileChanged"
	PageTooManyChats    Key = "pageTooManyChats"
	PageNoPage          Key = "pageNoPage"
	PageNoButton        Key = "pageNoButton"
	PageTooManyWaiting  Key = "pageTooManyWaiting"
	PageTooManyRequests Key = "pageTooManyRequests"
	PageTooManyPages    Key = "pageTooManyPages"
	PageTooManyPeople   Key = "pageTooManyPeople"
	PageTooManySending  Key = "pageTooManySending"
	PageTextTooLong     Key = "pageTextTooLong"
	PageEmptyMessage    Key = "pageEmptyMessage"
	PageFilesTooLarge   Key = "pageFilesTooLarge"
	PageTooManyFiles    Key = "pageTooManyFiles"
)

var channelsTexts = map[Key]translations{
	FileNotSent: {"⚠ {file} was not sent: {reason}.", "⚠ {file} wurde nicht gesendet: {reason}."},
	FileNotSentSize: {
		"⚠ {file} ({size}) was not sent: {reason}.",
		"⚠ {file} ({size}) wurde nicht gesendet: {reason}.",
	},
	FileNotReceived: {
		"⚠ {file} was not received: {reason}.",
		"⚠ {file} wurde nicht empfangen: {reason}.",
	},
	FileNotReceivedSize: {
		"⚠ {file} ({size}) was not received: {reason}.",
		"⚠ {file} ({size}) wurde nicht empfangen: {reason}.",
	},
	FileOfStranger:     {"its sender is not known to the bot", "der Bot kennt den Absender nicht"},
	FileDownloadFailed: {"its download failed", "sie ließ sich nicht herunterladen"},
	FileNoSpace: {
		"the bot's disk has too little free space; tell its operator",
		"auf der Festplatte des Bots ist zu wenig Platz; sag es seinem Betreiber",
	},
	FileChatFull: {
		"the files that this chat has sent may have up to {size} together; have the bot delete some of them",
		"die gesendeten Dateien dieses Chats dürfen zusammen höchstens {size} haben; lass den Bot einige davon löschen",
	},
	FileBotsLimit:         {"bots may download up to 20 MB", "Bots können höchstens 20 MB herunterladen"},
	FileOperatorLimit:     {"files may have up to {size}", "Dateien dürfen höchstens {size} groß sein"},
	FileLargerThan:        {"it is larger than {size}", "sie ist größer als {size}"},
	FileUnreadable:        {"it cannot be read", "sie ist nicht lesbar"},
	FileRefusedByTelegram: {"Telegram does not accept it", "Telegram nimmt sie nicht an"},
	FileTooLargeForDiscord: {
		"the upload was larger than Discord accepts here",
		"sie war größer, als Discord hier annimmt",
	},
	FileOfMessageUnreadable: {
		"a file of this message can no longer be read",
		"eine Datei dieser Nachricht ist nicht mehr lesbar",
	},
	LimitOfTelegram: {
		"Telegram accepts files up to {size} MB",
		"Telegram nimmt Dateien bis {size} MB an",
	},
	LimitOfDiscord: {
		"Discord accepts files up to {size} MB here",
		"Discord nimmt hier Dateien bis {size} MB an",
	},
	LimitOfPage: {
		"files here may have up to {size} MB",
		"Dateien dürfen hier höchstens {size} MB groß sein",
	},
	WholeAnswerInFile: {"(the whole answer is in the file)", "(die ganze Antwort ist in der Datei)"},
	ScreenBlank:       {"(the screen is blank)", "(der Bildschirm ist leer)"},
	RowsAbove:         {"… {count} {count|row|rows} above", "… {count} {count|Zeile|Zeilen} darüber"},
	RowsBelow:         {"… {count} {count|row|rows} below", "… {count} {count|Zeile|Zeilen} darunter"},
	TopicClosed: {
		"The topic of this answer is closed or deleted, so it is here:",
		"Das Thema dieser Antwort ist geschlossen oder gelöscht, darum steht sie hier:",
	},
	UnreadableStories:   {"I cannot read stories.", "Storys kann ich nicht lesen."},
	UnreadableGames:     {"I cannot read games.", "Spiele kann ich nicht lesen."},
	UnreadablePaidMedia: {"I cannot read paid media.", "Bezahlte Medien kann ich nicht lesen."},
	UnreadableGiveaways: {"I cannot read giveaways.", "Gewinnspiele kann ich nicht lesen."},
	UnreadableInvoices:  {"I cannot read invoices.", "Rechnungen kann ich nicht lesen."},
	UnreadableKind:      {"I cannot read this kind of message.", "Diese Art von Nachricht kann ich nicht lesen."},
	ThreadLocked: {
		"The thread is locked, so the answer is here.",
		"Der Thread ist gesperrt, darum steht die Antwort hier.",
	},
	ThreadDeleted: {
		"The thread was deleted, so the answer is here.",
		"Der Thread wurde gelöscht, darum steht die Antwort hier.",
	},
	ThreadName: {"Conversation", "Gespräch"},
	OnlyDirectMessages: {
		"I answer in direct messages only.",
		"Ich antworte nur in Direktnachrichten.",
	},
	ButtonDetails: {"Details", "Einzelheiten"},
	ButtonChoose:  {"Choose…", "Auswählen…"},
	HelpAsk:       {"ask the agent", "den Agenten fragen"},
	HelpAskText:   {"what to ask", "die Frage"},
	HelpAskFile:   {"a file to go with it", "eine Datei dazu"},
	HelpArgument:  {"what follows the command", "was auf den Befehl folgt"},
	PageFailed: {
		"This did not work. The bot's log has the reason.",
		"Das hat nicht funktioniert. Der Grund steht im Log des Bots.",
	},
	PageNoChat: {"There is no such chat.", "Diesen Chat gibt es nicht."},
	PageNoFile: {"There is no such file.", "Diese Datei gibt es nicht."},
	PageFileGone: {
		"This file was removed or moved after it was sent.",
		"Diese Datei wurde nach dem Senden gelöscht oder verschoben.",
	},
	PageFileChanged: {
		"This file was changed after it was sent.",
		"Diese Datei wurde nach dem Senden geändert.",
	},
	PageTooManyChats: {
		"You have {count} chats, which is the limit. Write in one of them; a chat no longer counts 30 days after its last message.",
		"Du hast {count} Chats, mehr sind nicht möglich. Schreibe in einem davon; ein Chat zählt 30 Tage nach seiner letzten Nachricht nicht mehr.",
	},
	PageNoPage:   {"There is no such page.", "Diese Seite gibt es nicht."},
	PageNoButton: {"This button no longer exists.", "Diesen Knopf gibt es nicht mehr."},
	PageTooManyWaiting: {
		"Too many messages are waiting in this chat. Try again later.",
		"In diesem Chat warten zu viele Nachrichten. Versuche es später wieder.",
	},
	PageTooManyRequests: {
		"You have too many requests open. Try again in a moment.",
		"Du hast zu viele Anfragen offen. Versuche es gleich noch einmal.",
	},
	PageTooManyPages: {
		"You have too many pages open. Close some of them.",
		"Du hast zu viele Seiten offen. Schließe einige davon.",
	},
	PageTooManyPeople: {
		"Too many pages are open. Try again later.",
		"Es sind zu viele Seiten offen. Versuche es später wieder.",
	},
	PageTooManySending: {
		"Too many of your messages are being sent. Try again in a moment.",
		"Zu viele deiner Nachrichten werden gerade gesendet. Versuche es gleich noch einmal.",
	},
	PageTextTooLong: {
		"That is more than {size} of text. Send it as a file.",
		"Das sind mehr als {size} Text. Sende ihn als Datei.",
	},
	PageEmptyMessage: {
		"A message needs a text or a file.",
		"Eine Nachricht braucht einen Text oder eine Datei.",
	},
	PageFilesTooLarge: {
		"The files of a message may have at most {size} in total.",
		"Die Dateien einer Nachricht dürfen zusammen höchstens {size} groß sein.",
	},
	PageTooManyFiles: {
		"A message may have at most {count} files.",
		"Eine Nachricht darf höchstens {count} Dateien haben.",
	},
}
