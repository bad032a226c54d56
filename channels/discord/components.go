package discord

import (
	"strconv"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
	"nanobot/internal/words"
)

const (
	rowSize  = 5 // buttons in a row
	maxRows  = 5
	maxLabel = 80 // of a button; an option may have 100
	// Beyond maxButtons and maxButtonLabel a select menu is easier to read.
	maxButtons, maxButtonLabel = 10, 40
	maxOptions                 = 25 // in a list
)

// components lays out buttons: in rows, or as select menus if they are many or long. Buttons beyond
// Discord's limits are left out: the text says what to type instead.
func components(buttons []channels.Button, w words.Words) []discordgo.MessageComponent {
	buttons = distinctButtons(buttons)
	if len(buttons) == 0 {
		return nil
	}
	long := len(buttons) > maxButtons
	for _, b := range buttons {
		long = long || len([]rune(b.Label)) > maxButtonLabel
	}
	if long && len(buttons) > 1 {
		return selectMenus(buttons, w)
	}
	var rows []discordgo.MessageComponent
	for len(buttons) > 0 && len(rows) < maxRows {
		n := min(len(buttons), rowSize)
		row := discordgo.ActionsRow{}
		for _, b := range buttons[:n] {
			row.Components = append(row.Components,
				discordgo.Button{Label: buttonLabel(b), Style: discordgo.SecondaryButton, CustomID: b.Encode()})
		}
		rows, buttons = append(rows, row), buttons[n:]
	}
	return rows
}

// selectMenus lays out buttons as select menus.
func selectMenus(buttons []channels.Button, w words.Words) []discordgo.MessageComponent {
	var rows []discordgo.MessageComponent
	for len(buttons) > 0 && len(rows) < maxRows {
		n := min(len(buttons), maxOptions)
		menu := discordgo.SelectMenu{
			MenuType: discordgo.StringSelectMenu, CustomID: "list-" + strconv.Itoa(len(rows)+1),
			Placeholder: w.Text(words.ButtonChoose),
		}
		for _, b := range buttons[:n] {
			menu.Options = append(menu.Options, discordgo.SelectMenuOption{Label: buttonLabel(b), Value: b.Encode()})
		}
		rows, buttons = append(rows, discordgo.ActionsRow{Components: []discordgo.MessageComponent{menu}}), buttons[n:]
	}
	return rows
}

// distinctButtons removes buttons without data and those with the data of another, which Discord
// refuses.
func distinctButtons(buttons []channels.Button) []channels.Button {
	seen := map[string]bool{"": true}
	var out []channels.Button
	for _, b := range buttons {
		if !seen[b.Data] {
			seen[b.Data] = true
			out = append(out, b)
		}
	}
	return out
}

func buttonLabel(b channels.Button) string {
	text := []rune(b.Label)
	switch {
	case len(text) == 0:
		text = []rune(b.Data)
	case len(text) > maxLabel:
		text = append(text[:maxLabel-1:maxLabel-1], '…')
	}
	return string(text)
}
