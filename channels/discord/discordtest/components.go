package discordtest

import (
	"fmt"
	"unicode/utf8"
)

// The types of components, and the styles of buttons that behave differently.
const (
	ActionRow    = 1
	Button       = 2
	StringSelect = 3
	userSelect   = 5
	channelList  = 8

	linkButton    = 5
	premiumButton = 6
)

// checkComponents checks action rows and the components in them.
func checkComponents(field string, rows []Component) error {
	if len(rows) > 5 {
		return fieldError(field, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	ids := map[string]bool{}
	for i, row := range rows {
		at := fmt.Sprintf("%s.%d", field, i)
		if row.Type != ActionRow {
			return fieldError(at+".type", "UNION_TYPE_CHOICES", "an action row (1) belongs here; discordtest knows no layouts")
		}
		if n := len(row.Components); n < 1 || n > 5 {
			return fieldError(at+".components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
		}
		for j, c := range row.Components {
			at := fmt.Sprintf("%s.components.%d", at, j)
			if err := c.check(at, len(row.Components)); err != nil {
				return err
			}
			if c.CustomID != "" && ids[c.CustomID] {
				return fieldError(at+".custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
			}
			ids[c.CustomID] = true
		}
	}
	return nil
}

func (c Component) check(at string, inRow int) error {
	switch {
	case c.Type == Button:
		return c.checkButton(at)
	case c.Type == StringSelect || c.Type >= userSelect && c.Type <= channelList:
		if inRow > 1 {
			return fieldError(at, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
		}
		return c.checkSelect(at)
	}
	return fieldError(at+".type", "UNION_TYPE_CHOICES", "a button (2) or a select menu (3, 5 to 8) belongs in an action row")
}

func (c Component) checkButton(at string) error {
	switch {
	case c.Style < 1 || c.Style > premiumButton:
		return fieldError(at+".style", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5, 6).")
	case (c.Style == linkButton) != (c.URL != ""):
		return fieldError(at+".url", "BUTTON_COMPONENT_INVALID_URL", "A link button has a URL, and no other has")
	case (c.Style == premiumButton) != (c.SKU != ""):
		return fieldError(at+".sku_id", "BUTTON_COMPONENT_INVALID_SKU", "A premium button has an SKU, and no other has")
	case (c.Style < linkButton) != (c.CustomID != ""):
		return fieldError(at+".custom_id", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required, but not on links")
	case c.Label == "" && c.Emoji == nil && c.Style != premiumButton:
		return fieldError(at, "BUTTON_COMPONENT_INVALID_LABEL", "A label or an emoji is required")
	case len(c.Options) > 0:
		return fieldError(at+".options", "UNSUPPORTED", "A button has no options")
	}
	return checkLengths(at, []lengthLimit{
		{"custom_id", c.CustomID, 0, 100}, {"label", c.Label, 0, 80}, {"url", c.URL, 0, 512},
	})
}

func (c Component) checkSelect(at string) error {
	if n := len(c.Options); c.Type == StringSelect && (n < 1 || n > 25) {
		return fieldError(at+".options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
	}
	minimum, maximum := c.valueBounds()
	if minimum < 0 || maximum < 1 || maximum > 25 || minimum > maximum || c.Type == StringSelect && maximum > len(c.Options) {
		return fieldError(at+".max_values", "NUMBER_TYPE_MAX", "min_values and max_values do not fit the options")
	}
	values := map[string]bool{}
	for i, o := range c.Options {
		at := fmt.Sprintf("%s.options.%d", at, i)
		if values[o.Value] {
			return fieldError(at+".value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used")
		}
		values[o.Value] = true
		if err := checkLengths(at, []lengthLimit{
			{"label", o.Label, 1, 100}, {"value", o.Value, 1, 100}, {"description", o.Description, 0, 100},
		}); err != nil {
			return err
		}
	}
	return checkLengths(at, []lengthLimit{{"custom_id", c.CustomID, 1, 100}, {"placeholder", c.Placeholder, 0, 150}})
}

// valueBounds returns how many values a select menu accepts.
func (c Component) valueBounds() (minimum, maximum int) {
	minimum, maximum = 1, 1
	if c.MinValues != nil {
		minimum = *c.MinValues
	}
	if c.MaxValues != nil {
		maximum = *c.MaxValues
	}
	return minimum, maximum
}

// lengthLimit is a text and its limits, in code points.
type lengthLimit struct {
	name, text       string
	minimum, maximum int
}

func checkLengths(at string, all []lengthLimit) error {
	for _, l := range all {
		if n := utf8.RuneCountInString(l.text); n < l.minimum || n > l.maximum {
			return fieldError(at+"."+l.name, "BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", l.minimum, l.maximum)
		}
	}
	return nil
}

// checkEmbeds checks each embed, and that all embeds together have at most 6000 characters.
func checkEmbeds(field string, embeds []Embed) error {
	if len(embeds) > 10 {
		return fieldError(field, "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	total := 0
	for i, e := range embeds {
		at := fmt.Sprintf("%s.%d", field, i)
		all := []lengthLimit{{"title", e.Title, 0, 256}, {"description", e.Description, 0, 4096}}
		if e.Footer != nil {
			all = append(all, lengthLimit{"footer.text", e.Footer.Text, 0, 2048})
		}
		if e.Author != nil {
			all = append(all, lengthLimit{"author.name", e.Author.Name, 0, 256})
		}
		if len(e.Fields) > 25 {
			return fieldError(at+".fields", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
		}
		for j, f := range e.Fields {
			at := fmt.Sprintf("fields.%d.", j)
			all = append(all, lengthLimit{at + "name", f.Name, 1, 256}, lengthLimit{at + "value", f.Value, 1, 1024})
		}
		if err := checkLengths(at, all); err != nil {
			return err
		}
		for _, l := range all {
			total += utf8.RuneCountInString(l.text)
		}
	}
	if total > 6000 {
		return fieldError(field, "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
	}
	return nil
}
