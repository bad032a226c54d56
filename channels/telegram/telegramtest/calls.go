package telegramtest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"nanobot/channels/channelstest/fakenet"
)

// Download is the name of file downloads in Call.Method and FailNext.
const Download = "download"

// Call is one request of the bot.
type Call struct {
	fakenet.Call
	Method      string
	Params      map[string]string // strings unquoted, everything else as JSON
	Uploads     []Upload
	Description string    // of the error
	Messages    []int     // IDs of the messages that it has sent
	Shown       []Message // that it has sent or edited, as they were then
}

// CallName returns the method.
func (c *Call) CallName() string { return c.Method }

// Upload is one file in a request.
type Upload struct {
	Field   string // name of the part: a parameter, or the name after attach://
	Name    string
	MIME    string
	Content []byte
}

// IntParam returns the value of a numeric parameter, or 0.
func (c Call) IntParam(name string) int64 {
	n, _ := strconv.ParseInt(c.Params[name], 10, 64)
	return n
}

// DecodeParam decodes the value of a JSON parameter.
func (c Call) DecodeParam(name string, v any) error {
	if err := json.Unmarshal([]byte(c.Params[name]), v); err != nil {
		return fmt.Errorf("%s of %s: %w", name, c.Method, err)
	}
	return nil
}

func (c Call) has(name string) bool { return c.Params[name] != "" }

func (c Call) flag(name string) bool {
	b, _ := strconv.ParseBool(c.Params[name])
	return b
}
