package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

// runSeparator separates the ID of a message from the number of its run in the IDs for the gateway,
// for which each run is a message.
const runSeparator = "~"

// runID returns the ID of a run of a message. The first run, 0, has that of the message.
func runID(message string, run int) string {
	if run == 0 {
		return message
	}
	return message + runSeparator + strconv.Itoa(run)
}

// messageID returns the ID of the message of a run.
func messageID(run string) string {
	id, _, _ := strings.Cut(run, runSeparator)
	return id
}

// patchMessage replaces the text of the last message of a user, which is run again.
func (c *Channel) patchMessage(w http.ResponseWriter, r *http.Request) error {
	h, chat, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	actor := c.requester(r)
	name := jsonType + " " + actor.User
	if !c.inFlight.tryAdd(name, maxConcurrentPosts[jsonType]) {
		return shownError(http.StatusTooManyRequests, words.PageTooManySending)
	}
	defer c.inFlight.remove(name)
	p := postedMessage{media: []history.Media{{}}} // it may have some
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON)).Decode(&p); err != nil {
		return badRequest("The request cannot be read: %v.", err)
	}
	if err := p.validate(); err != nil {
		return err
	}
	d := history.NewEvent{
		Chat: chat, Actor: actor, ID: r.PathValue("message"), MaxWaiting: maxWaiting,
		Body: history.Body{Language: requestLanguage(r), Text: p.Text},
	}
	if p.ClientID != "" {
		d.Key = userKey(chat, actor, p.ClientID)
	}
	e, err := h.Edit(r.Context(), d)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, postResponse{e.ID, e.Seq})
	return nil
}

// menu is what a person can choose in a chat.
type menu struct {
	Commands []menuCommand `json:"commands"`
	Agent    string        `json:"agent,omitempty"` // answers the next message
	Agents   []string      `json:"agents"`          // that can be chosen
}

type menuCommand struct {
	Name string `json:"name"`
	Help string `json:"help"`
	Args bool   `json:"args"` // more can follow the name
}

// SetMenuSource sets the source of the menus of chats.
func (c *Channel) SetMenuSource(read channels.MenuSource) { c.readMenu = read }

func (c *Channel) getMenu(w http.ResponseWriter, r *http.Request) error {
	_, chat, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	m := menu{Commands: []menuCommand{}}
	if c.readMenu != nil {
		actor, language := c.requester(r), requestLanguage(r)
		user := channels.User{ID: actor.User, Name: actor.User, Language: language}
		choices, err := c.readMenu(r.Context(), channels.Chat{Channel: Name, ID: chat}, user)
		if err != nil {
			return err
		}
		language = string(c.words.For(language).Language())
		for _, command := range choices.Commands {
			m.Commands = append(m.Commands, menuCommand{command.Name, command.HelpFor(language), command.Args})
		}
		m.Agent, m.Agents = choices.Agent, choices.Agents
	}
	m.Agents = nonNil(m.Agents)
	writeJSON(w, http.StatusOK, m)
	return nil
}
