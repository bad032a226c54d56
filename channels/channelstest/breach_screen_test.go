package channelstest

import "nanobot/channels"

var screenBreaches = []breach{
	{"the screen of progress is cut into parts", changeMessage(func(m *channels.Message) {
		if m.Screen != nil && m.Kind == channels.Progress {
			m.Text, m.Screen = m.Screen.Fenced(m.Text), nil
		}
	}), []string{"a screen of any content is one call that fits"}},
	{"the text above a screen is lost", changeMessage(func(m *channels.Message) {
		if m.Screen != nil {
			m.Text = ""
		}
	}), []string{"the screen of an answer arrives below its whole text"}},
	{"screens are lost", changeMessage(func(m *channels.Message) {
		if m.Kind == channels.Answer {
			m.Screen = nil
		}
	}), []string{"the screen of an answer arrives below its whole text"}},
	{"buttons disappear when they are pressed", changeMessage(func(m *channels.Message) {
		for i := range m.Buttons {
			m.Buttons[i].Stays = false
		}
	}), []string{"a button that stays can be pressed again"}},
}
