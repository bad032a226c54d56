package discord

import (
	"strconv"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

const (
	rowSize  = 5 // buttons in a row
	maxRows  = 5
	maxLabel = 80 // of a button; an option may have 100
	// mostButtons and longestButton are where a list to choose from is easier to read.
	mostButtons, longestButton = 10, 40
	maxOptions                 = 25 // in a list
)

// components lays out buttons: in rows, or as lists to choose from when they are many or long.
// Those that Discord has no room for are left out: the text says what to type instead.
func components(buttons []channels.Button) []discordgo.MessageComponent {
	buttons = distinct(buttons)
	if len(buttons) == 0 {
		return nil
	}
	long := len(buttons) > mostButtons
	for _, b := range buttons {
		long = long || len([]rune(b.Label)) > longestButton
	}
	if long && len(buttons) > 1 {
		return lists(buttons)
	}
	var rows []discordgo.MessageComponent
	for len(buttons) > 0 && len(rows) < maxRows {
		n := min(len(buttons), rowSize)
		row := discordgo.ActionsRow{}
		for _, b := range buttons[:n] {
			row.Components = append(row.Components, discordgo.Button{Label: label(b), Style: discordgo.SecondaryButton, CustomID: buttonData(b)})
		}
		rows, buttons = append(rows, row), buttons[n:]
	}
	return rows
}

// lists puts buttons into lists to choose from.
func lists(buttons []channels.Button) []discordgo.MessageComponent {
	var rows []discordgo.MessageComponent
	for len(buttons) > 0 && len(rows) < maxRows {
		n := min(len(buttons), maxOptions)
		menu := discordgo.SelectMenu{MenuType: discordgo.StringSelectMenu, CustomID: "list-" + strconv.Itoa(len(rows)+1), Placeholder: "Choose…"}
		for _, b := range buttons[:n] {
			menu.Options = append(menu.Options, discordgo.SelectMenuOption{Label: label(b), Value: buttonData(b)})
		}
		rows, buttons = append(rows, discordgo.ActionsRow{Components: []discordgo.MessageComponent{menu}}), buttons[n:]
	}
	return rows
}

// distinct leaves out buttons that do the same as another, which Discord refuses, and those that do
// nothing.
func distinct(buttons []channels.Button) []channels.Button {
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

// stayMark leads the data of a button that stays when it is pressed, so that the press tells.
const stayMark = "+"

// buttonData is what a button carries to Discord and back.
func buttonData(b channels.Button) string {
	if b.Stays {
		return stayMark + b.Data
	}
	return b.Data
}

func label(b channels.Button) string {
	text := []rune(b.Label)
	switch {
	case len(text) == 0:
		text = []rune(b.Data)
	case len(text) > maxLabel:
		text = append(text[:maxLabel-1:maxLabel-1], '…')
	}
	return string(text)
}
