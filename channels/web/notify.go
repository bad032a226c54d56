package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/web/history"
	"nanobot/channels/web/page"
	"nanobot/channels/web/push"
	"nanobot/internal/words"
)

const (
	// maxSubscriptionBody bounds the body of a request about a subscription, in bytes.
	maxSubscriptionBody = 8 << 10
	// maxChecksPerUser is how many subscriptions of a user may be checked at the same time, which
	// looks up the address of their push service.
	maxChecksPerUser = 2
	// maxNotificationAge is how old a message may be that is told of. A member that begins to
	// receive learns of messages that another member has told of.
	maxNotificationAge = time.Minute
	// maxNotified is how many bytes of a message are read for a notification, which shows 240
	// characters.
	maxNotified = 4 << 10
)

// newPush makes the sender of notifications, if there are any.
func (c *Channel) newPush() (err error) {
	if c.o.Push == nil {
		return nil
	}
	o := *c.o.Push
	o.History, o.Log, o.Name = c.openHistory, c.log, cmp.Or(c.o.Name, page.DefaultName)
	c.push, err = push.New(o)
	return err
}

// signInOf returns the function of Options.SignIn.
func signInOf(all channels.SignIns) func(*http.Request) string {
	if all == nil {
		return nil
	}
	return all.Of
}

// signIn returns the sign-in of a request; "" for a script.
func (c *Channel) signIn(r *http.Request) string {
	if c.o.SignIn == nil {
		return ""
	}
	return c.o.SignIn(r)
}

// pushNotification tells the owner of a chat of a message of the bot, unless they see it on a page.
func (c *Channel) pushNotification(e history.Event) {
	if c.push == nil || !c.running.Load() || e.Type != history.Message || e.From != fromBot ||
		e.Silent || e.Inserted || e.Owner == "" ||
		e.Kind == string(channels.Progress) || time.Since(e.Time) > maxNotificationAge || c.hub.isShownTo(e.Owner) {
		return
	}
	question := slices.ContainsFunc(e.Buttons, func(b channels.Button) bool { return b.Role == channels.Answers })
	c.push.Notify(push.Notification{Owner: e.Owner, Chat: e.Chat, Text: notificationText(e.Body), Question: question})
}

// notificationText returns the beginning of a message without the marks of Markdown.
func notificationText(b history.Body) string {
	text := strings.ToValidUTF8(b.Text[:min(len(b.Text), maxNotified)], "")
	if b.Format == channels.Markdown {
		return plainText(text)
	}
	return text
}

var errNoPush = requestError{status: http.StatusNotFound, text: "Notifications are off (channels.web.push.enabled)."}

// getPush returns the key for which a browser subscribes.
func (c *Channel) getPush(w http.ResponseWriter, r *http.Request) error {
	if c.push == nil {
		return errNoPush
	}
	key, err := c.push.PublicKey(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"key": key})
	return nil
}

// subscription is the body of a request: a PushSubscription as browsers encode it.
type subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256DH string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
	Text bool `json:"text"` // with the beginning of the message
}

func readSubscription(w http.ResponseWriter, r *http.Request) (s subscription, err error) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSubscriptionBody)).Decode(&s); err != nil {
		return s, badRequest("The request cannot be read: %v.", err)
	}
	return s, nil
}

// postPush stores a subscription of the browser that is signed in.
func (c *Channel) postPush(w http.ResponseWriter, r *http.Request) error {
	if c.push == nil {
		return errNoPush
	}
	body, err := readSubscription(w, r)
	if err != nil {
		return err
	}
	user := c.requester(r).User
	s := history.Subscription{
		Endpoint: body.Endpoint, P256DH: body.Keys.P256DH, Auth: body.Keys.Auth, Owner: user,
		SignIn: c.signIn(r), Origin: "https://" + r.Host, Detailed: body.Text,
	}
	if s.SignIn == "" {
		return requestError{
			status: http.StatusForbidden,
			text:   "Only a browser that is signed in by a link gets notifications.",
		}
	}
	name := "subscribes " + user
	if !c.inFlight.tryAdd(name, maxChecksPerUser) {
		return shownError(http.StatusTooManyRequests, words.PageTooManyRequests)
	}
	defer c.inFlight.remove(name)
	switch err := c.push.Check(r.Context(), s); {
	case errors.Is(err, push.ErrNotPublic):
		c.log.Info("subscription refused", zap.Error(err)) // the operator may allow the push service
		return shownError(http.StatusBadRequest, words.PageNotifyRefused)
	case err != nil:
		return badRequest("%v.", err)
	}
	h, err := c.openHistory()
	if err == nil {
		err = h.Subscribe(r.Context(), s)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// deletePush removes a subscription of the user.
func (c *Channel) deletePush(w http.ResponseWriter, r *http.Request) error {
	body, err := readSubscription(w, r)
	if err != nil {
		return err
	}
	h, err := c.openHistory()
	if err == nil {
		err = h.Unsubscribe(r.Context(), c.requester(r).User, body.Endpoint)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
