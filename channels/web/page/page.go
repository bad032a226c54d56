// Package page holds the files of the chat page: one HTML file, one style sheet, icons and a few
// ES modules. They are served from the root of the server, under a content security policy without
// inline scripts and styles. It knows nothing of the server.
package page

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// Files are the page. The document is index.html, whose texts Document fills in; all other files
// are served unchanged.
//
//go:embed index.html style.css icon.svg icon-192.png icon-512.png *.js
var Files embed.FS

// DevFiles are the script and the style of the panel of nanobot dev, which nothing else serves.
//
//go:embed dev
var DevFiles embed.FS

// devDocument loads them into the document.
const devDocument = `<link rel="stylesheet" href="dev/dev.css"><script type="module" src="dev/dev.js"></script>`

// IconSizes are the widths and heights of the icons of the installed app by name. Notifications
// show the smaller one. A bot with a picture of its own has others under the same names.
var IconSizes = map[string]int{"icon-192.png": 192, "icon-512.png": 512}

// Manifest returns the description of the page as an app that can be installed.
func (b Bot) Manifest() ([]byte, error) {
	purpose := "any"
	if b.Picture == "" {
		purpose = "any maskable" // the system may cut off the corners of nanobot's
	}
	var icons []map[string]string
	for _, name := range slices.Sorted(maps.Keys(IconSizes)) {
		sizes := fmt.Sprintf("%[1]dx%[1]d", IconSizes[name])
		icons = append(icons, map[string]string{"src": name, "type": "image/png", "sizes": sizes, "purpose": purpose})
	}
	name := cmp.Or(b.Name, DefaultName)
	return json.Marshal(map[string]any{
		"name": name, "short_name": name, "id": ".", "start_url": ".", "scope": ".", "display": "standalone",
		"background_color": "#ffffff", "theme_color": "#ffffff", "icons": icons,
	})
}

// scriptTexts are the texts that the script uses.
var scriptTexts = []words.Key{
	words.ButtonRunAgain, words.PageActions, words.PageAsksYou, words.PageAttached, words.PageAwaitsAnswer,
	words.PageCancel, words.PageChat, words.PageChatDeleted, words.PageChooseName, words.PageChosen,
	words.PageCopied, words.PageCopy, words.PageDelete, words.PageDeleteChat, words.PageDidNotWork,
	words.PageDiscard, words.PageEdit, words.PageEdited, words.PageEditing, words.PageErrorMessage,
	words.PageExport, words.PageFileChanged, words.PageFileGone, words.PageFiles, words.PageFound,
	words.PageFoundMore, words.PageFromYou, words.PageNewChat, words.PageNewMessages, words.PageNoConnection,
	words.PageNoMicrophone, words.PageNotSent, words.PageNotifyBlocked, words.PageNotifyInsecure,
	words.PageNotifyOff, words.PageNotifyText, words.PageNotifyTitle, words.PageNumberOfPictures,
	words.PagePicture, words.PagePictureOf, words.PagePin, words.PagePinned, words.PageReconnected,
	words.PageReconnecting, words.PageRecordNeedsHttps, words.PageRecording, words.PageRemove, words.PageRemoved,
	words.PageRename, words.PageRenameChat, words.PageRetries, words.PageSave, words.PageSecretRemoved,
	words.PageSending, words.PageSent, words.PageServerAnswered, words.PageStopping, words.PageTable,
	words.PageTaskDone, words.PageThemeDark, words.PageThemeLight, words.PageThemeSystem, words.PageTryAgain,
	words.PageUnpin, words.PageUntitled, words.PageYourName, words.SignInAskForLink, words.Working,
}

// devTexts are the texts that the script of DevFiles uses besides.
var devTexts = []words.Key{
	words.DevKey, words.DevLeft, words.DevName, words.DevNone, words.DevSave, words.DevSaved, words.DevTitle,
}

// placeholder is a place in the document for a text of the catalogue.
var placeholder = lazyregexp.New(`{{\w+}}`)

// helpCommand is the command that the welcome of an empty chat shows.
const helpCommand = "/help"

// Bot is the bot as the page shows it.
type Bot struct {
	Name    string // "": DefaultName
	Picture string // address of its picture; "": that of nanobot
	Dev     bool   // the page has the panel of DevFiles
}

// DefaultName is the name of a bot that has none.
const DefaultName = "nanobot"

// Document returns the document in the language of the words.
func Document(w words.Words, bot Bot) (string, error) {
	source, err := Files.ReadFile("index.html")
	if err != nil {
		return "", err
	}
	templates, dev, keys := map[words.Key]string{}, "", scriptTexts
	if bot.Dev {
		dev, keys = devDocument, slices.Concat(scriptTexts, devTexts)
	}
	for _, key := range keys {
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
		case "dev":
			return dev
		case "name":
			return html.EscapeString(cmp.Or(bot.Name, DefaultName))
		case "picture":
			return html.EscapeString(cmp.Or(bot.Picture, "icon.svg"))
		case words.PageHelloText:
			command := "<kbd>" + helpCommand + "</kbd>"
			return strings.ReplaceAll(html.EscapeString(w.Text(key, helpCommand)), helpCommand, command)
		default:
			return html.EscapeString(w.Text(key))
		}
	}), nil
}
