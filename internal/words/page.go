package words

// Texts of the chat page itself. Those of its script are sent to the browser with their
// placeholders.
const (

	// Names of controls and regions.
	PageSkip         Key = "pageSkip"
	PageChatList     Key = "pageChatList"
	PageViews        Key = "pageViews"
	PageChat         Key = "pageChat"
	PageConsole      Key = "pageConsole"
	PageSignOut      Key = "pageSignOut"
	PageChats        Key = "pageChats"
	PageNewChat      Key = "pageNewChat"
	PageConversation Key = "pageConversation"
	PageOlder        Key = "pageOlder"
	PageNewest       Key = "pageNewest"
	PageFilesToSend  Key = "pageFilesToSend"
	PageAttach       Key = "pageAttach"
	PageMessage      Key = "pageMessage"
	PageSend         Key = "pageSend"
	PageDrop         Key = "pageDrop"
	PagePicture      Key = "pagePicture"
	PagePrevious     Key = "pagePrevious"
	PageNext         Key = "pageNext"
	PageDownload     Key = "pageDownload"
	PageClose        Key = "pageClose"
	PageTable        Key = "pageTable"
	PageTaskDone     Key = "pageTaskDone"
	PageCopy         Key = "pageCopy"
	PageCopied       Key = "pageCopied"

	// An empty chat, and a page that does not work.
	PageHello       Key = "pageHello"
	PageHelloText   Key = "pageHelloText"
	PageNeedsScript Key = "pageNeedsScript"

	// The connection.
	PageSignedOut      Key = "pageSignedOut"
	PageSentLater      Key = "pageSentLater"
	PageReconnecting   Key = "pageReconnecting"
	PageReconnected    Key = "pageReconnected"
	PageNoConnection   Key = "pageNoConnection"
	PageServerAnswered Key = "pageServerAnswered"
	PageDidNotWork     Key = "pageDidNotWork"

	// Messages that are being sent.
	PageSending  Key = "pageSending"
	PageSent     Key = "pageSent"
	PageNotSent  Key = "pageNotSent"
	PageRetries  Key = "pageRetries"
	PageTryAgain Key = "pageTryAgain"
	PageDiscard  Key = "pageDiscard"
	PageAttached Key = "pageAttached"
	PageRemove   Key = "pageRemove"
	PageRemoved  Key = "pageRemoved"
	// What a message shows whose text was a password.
	PageSecretRemoved Key = "pageSecretRemoved"

	// Chats and messages.
	PageUntitled         Key = "pageUntitled"
	PageNewMessages      Key = "pageNewMessages"
	PageAsksYou          Key = "pageAsksYou"
	PageAwaitsAnswer     Key = "pageAwaitsAnswer"
	PageChosen           Key = "pageChosen"
	PageStopping         Key = "pageStopping"
	PageFiles            Key = "pageFiles"
	PageFromYou          Key = "pageFromYou"
	PageErrorMessage     Key = "pageErrorMessage"
	PagePictureOf        Key = "pagePictureOf"
	PageNumberOfPictures Key = "pageNumberOfPictures"
)

var pageTexts = map[Key]translations{
	PageSkip:         {"Skip to content", "Zum Inhalt"},
	PageChatList:     {"List of chats", "Liste der Chats"},
	PageViews:        {"Views", "Ansichten"},
	PageChat:         {"Chat", "Chat"},
	PageConsole:      {"Console", "Konsole"},
	PageSignOut:      {"Sign out", "Abmelden"},
	PageChats:        {"Chats", "Chats"},
	PageNewChat:      {"New chat", "Neuer Chat"},
	PageConversation: {"Conversation", "Gespräch"},
	PageOlder:        {"Earlier messages", "Frühere Nachrichten"},
	PageNewest:       {"Newest message", "Neueste Nachricht"},
	PageFilesToSend:  {"Files to send", "Ausgewählte Dateien"},
	PageAttach:       {"Attach files", "Dateien anhängen"},
	PageMessage:      {"Message", "Nachricht"},
	PageSend:         {"Send", "Senden"},
	PageDrop:         {"Drop files to attach them", "Dateien hier ablegen, um sie anzuhängen"},
	PagePicture:      {"Picture", "Bild"},
	PagePrevious:     {"Previous picture", "Vorheriges Bild"},
	PageNext:         {"Next picture", "Nächstes Bild"},
	PageDownload:     {"Download the picture", "Bild herunterladen"},
	PageClose:        {"Close", "Schließen"},
	PageTable:        {"Table", "Tabelle"},
	PageTaskDone:     {"Done", "Erledigt"},
	PageCopy:         {"Copy", "Kopieren"},
	PageCopied:       {"Copied", "Kopiert"},
	PageHello:        {"Say hello", "Sag hallo"},
	PageHelloText: {
		"What you write goes to the agent. Its answers appear here, with their pictures and files. " +
			"{command} lists the commands.",
		"Was du schreibst, geht an den Agenten. Seine Antworten erscheinen hier, mit Bildern und Dateien. " +
			"{command} zeigt die Befehle.",
	},
	PageNeedsScript: {"This page needs JavaScript.", "Diese Seite braucht JavaScript."},
	PageSignedOut:   {"You are signed out", "Du bist abgemeldet"},
	PageSentLater: {
		"Unsent messages are sent when you are signed in again.",
		"Wartende Nachrichten werden gesendet, sobald du wieder angemeldet bist.",
	},
	PageReconnecting:   {"Reconnecting…", "Verbinde neu…"},
	PageReconnected:    {"Reconnected", "Wieder verbunden"},
	PageNoConnection:   {"no connection", "keine Verbindung"},
	PageServerAnswered: {"the server answered {status}", "der Server antwortete mit {status}"},
	PageDidNotWork:     {"That did not work: {reason}", "Das hat nicht funktioniert: {reason}"},
	PageSending:        {"Sending…", "Wird gesendet…"},
	PageSent:           {"Sent", "Gesendet"},
	PageNotSent:        {"Not sent: {reason}", "Nicht gesendet: {reason}"},
	PageRetries: {
		"Not sent yet: {reason}. Will retry.",
		"Noch nicht gesendet: {reason}. Wird erneut versucht.",
	},
	PageTryAgain:         {"Try again", "Erneut versuchen"},
	PageDiscard:          {"Discard", "Verwerfen"},
	PageAttached:         {"Attached {files}", "Angehängt: {files}"},
	PageRemove:           {"Remove {file}", "{file} entfernen"},
	PageRemoved:          {"Removed {file}", "Entfernt: {file}"},
	PageSecretRemoved:    {"Removed, since it was a secret.", "Entfernt, denn es war ein Geheimnis."},
	PageUntitled:         {"Untitled", "Ohne Titel"},
	PageNewMessages:      {"new messages", "neue Nachrichten"},
	PageAsksYou:          {"Asks you", "Fragt dich"},
	PageAwaitsAnswer:     {"Waiting for your answer", "Wartet auf deine Antwort"},
	PageChosen:           {"Chosen: {choice}", "Gewählt: {choice}"},
	PageStopping:         {"Stopping", "Wird gestoppt"},
	PageFiles:            {"Files", "Dateien"},
	PageFromYou:          {"You:", "Du:"},
	PageErrorMessage:     {"Error:", "Fehler:"},
	PagePictureOf:        {"Picture {number} of {count}", "Bild {number} von {count}"},
	PageNumberOfPictures: {"{number} of {count}", "{number} von {count}"},
}
