package telegramtest

import (
	"encoding/json"
)

// inlineButton is a Bot API InlineKeyboardButton with all fields.
type inlineButton struct {
	Button
	Icon          string          `json:"icon_custom_emoji_id"`
	WebApp        json.RawMessage `json:"web_app"`
	LoginURL      json.RawMessage `json:"login_url"`
	Switch        *string         `json:"switch_inline_query"`
	SwitchCurrent *string         `json:"switch_inline_query_current_chat"`
	SwitchChosen  json.RawMessage `json:"switch_inline_query_chosen_chat"`
	CopyText      json.RawMessage `json:"copy_text"`
	Game          json.RawMessage `json:"callback_game"`
	Pay           bool            `json:"pay"`
}

// parseKeyboard returns the inline keyboard of a call, or nil. Other keyboards are accepted
// unchecked.
func parseKeyboard(c *Call) (*Keyboard, error) {
	if !c.has("reply_markup") {
		return nil, nil
	}
	var probe map[string]json.RawMessage
	if err := decodeStrict("reply markup", c.Params["reply_markup"], &probe); err != nil {
		return nil, err
	}
	if _, inline := probe["inline_keyboard"]; !inline {
		return nil, nil
	}
	var markup struct {
		Rows [][]inlineButton `json:"inline_keyboard"`
	}
	if err := decodeStrict("inline keyboard", c.Params["reply_markup"], &markup); err != nil {
		return nil, err
	}
	var k Keyboard
	total := 0
	for _, row := range markup.Rows {
		var shown []Button
		for _, b := range row {
			if err := b.check(); err != nil {
				return nil, err
			}
			shown = append(shown, b.Button)
			total++
		}
		k.Rows = append(k.Rows, shown)
	}
	if total > 100 {
		return nil, violationError("reply markup is too long")
	}
	if total == 0 {
		return nil, nil // an empty keyboard removes the buttons
	}
	return &k, nil
}

// check requires a label and exactly one action.
func (b inlineButton) check() error {
	does := 0
	for _, is := range []bool{
		b.Data != "", b.URL != "", b.WebApp != nil, b.LoginURL != nil, b.Switch != nil, b.SwitchCurrent != nil,
		b.SwitchChosen != nil, b.CopyText != nil, b.Game != nil, b.Pay,
	} {
		if is {
			does++
		}
	}
	switch {
	case b.Text == "":
		return violationError("can't parse inline keyboard button: Field \"text\" must be non-empty")
	case does == 0:
		return violationError("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
	case does > 1:
		return violationError("can't parse inline keyboard button: %d actions in one button", does)
	case len(b.Data) > 64:
		return violationError("BUTTON_DATA_INVALID")
	}
	return nil
}
