// Package page holds the files of the chat page: one HTML file, one style sheet, an icon and a few
// ES modules. They are served from the root of the server, under a content security policy without
// inline scripts and styles. It knows nothing of the server.
package page

import (
	"embed"
	"encoding/json"
	"html"
	"strings"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// Files are the page. The document is index.html, whose texts Document fills in; all other files
// are served unchanged.
//
//go:embed index.html style.css icon.svg *.js
var Files embed.FS

// scriptTexts are the texts that the script uses.
var scriptTexts = []words.Key{
	words.PageAsksYou, words.PageAttached, words.PageAwaitsAnswer, words.PageChosen, words.PageCopied, words.PageCopy,
	words.PageDidNotWork, words.PageDiscard, words.PageErrorMessage, words.PageFileChanged,
	words.PageFileGone, words.PageFiles, words.PageFromYou, words.PageNewChat,
	words.PageNewMessages, words.PageNoConnection, words.PageNotSent, words.PageNumberOfPictures, words.PagePicture,
	words.PagePictureOf, words.PageReconnected, words.PageReconnecting, words.PageRemove, words.PageRemoved,
	words.PageSecretRemoved,
	words.PageRetries, words.PageSending, words.PageSent, words.PageServerAnswered, words.PageStopping, words.PageTable,
	words.PageTaskDone, words.PageTryAgain, words.PageUntitled, words.SignInAskForLink, words.Working,
}

// placeholder is a place in the document for a text of the catalogue.
var placeholder = lazyregexp.New(`{{\w+}}`)

// helpCommand is the command that the welcome of an empty chat shows.
const helpCommand = "/help"

// Document returns the document in the language of the words.
func Document(w words.Words) (string, error) {
	source, err := Files.ReadFile("index.html")
	if err != nil {
		return "", err
	}
	templates := map[words.Key]string{}
	for _, key := range scriptTexts {
		templates[key] = w.Template(key)
	}
	script, err := json.Marshal(templates) // escapes <, so that no text ends the script element
	if err != nil {
		return "", err
	}
	return placeholder().ReplaceAllStringFunc(string(source), func(place string) string {
		switch key := words.Key(strings.Trim(place, "{}")); key {
		case "language":
			return string(w.Language())
		case "texts":
			return string(script)
		case words.PageHelloText:
			command := "<kbd>" + helpCommand + "</kbd>"
			return strings.ReplaceAll(html.EscapeString(w.Text(key, helpCommand)), helpCommand, command)
		default:
			return html.EscapeString(w.Text(key))
		}
	}), nil
}
