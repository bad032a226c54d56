package discordtest

// Component is an action row, a button or a select menu.
type Component struct {
	Type         int         `json:"type"`
	ID           int         `json:"id,omitempty"`
	Components   []Component `json:"components,omitempty"` // of an action row
	CustomID     string      `json:"custom_id,omitempty"`
	Style        int         `json:"style,omitempty"` // of a button
	Label        string      `json:"label,omitempty"`
	URL          string      `json:"url,omitempty"`
	SKU          string      `json:"sku_id,omitempty"`
	Emoji        *Emoji      `json:"emoji,omitempty"`
	Disabled     bool        `json:"disabled,omitempty"`
	Placeholder  string      `json:"placeholder,omitempty"` // of a select menu
	MinValues    *int        `json:"min_values,omitempty"`
	MaxValues    *int        `json:"max_values,omitempty"`
	Required     *bool       `json:"required,omitempty"`
	Options      []Option    `json:"options,omitempty"`
	ChannelTypes []int       `json:"channel_types,omitempty"`
}

// Option is one choice of a select menu.
type Option struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
	Emoji       *Emoji `json:"emoji,omitempty"`
}

// Emoji is the picture on a button.
type Emoji struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name"`
	Animated bool   `json:"animated,omitempty"`
}

// Embed is a rich embed.
type Embed struct {
	Type        string       `json:"type,omitempty"`
	URL         string       `json:"url,omitempty"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	Color       int          `json:"color,omitempty"`
	Timestamp   string       `json:"timestamp,omitempty"`
	Author      *EmbedPart   `json:"author,omitempty"`
	Image       *EmbedPart   `json:"image,omitempty"`
	Thumbnail   *EmbedPart   `json:"thumbnail,omitempty"`
	Footer      *EmbedPart   `json:"footer,omitempty"`
	Provider    *EmbedPart   `json:"provider,omitempty"`
	Video       *EmbedPart   `json:"video,omitempty"`
	Fields      []EmbedField `json:"fields,omitempty"`
}

// EmbedPart is an embed's author, footer, image, thumbnail, provider or video.
type EmbedPart struct {
	Name    string `json:"name,omitempty"`
	Text    string `json:"text,omitempty"`
	URL     string `json:"url,omitempty"`
	IconURL string `json:"icon_url,omitempty"`
	Width   int    `json:"width,omitempty"`
	Height  int    `json:"height,omitempty"`
}

// EmbedField is one field of an embed.
type EmbedField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline,omitempty"`
}

// Buttons returns a message's buttons and select menus in reading order.
func (m Message) Buttons() []Component {
	var out []Component
	for _, row := range m.Components {
		out = append(out, row.Components...)
	}
	return out
}
