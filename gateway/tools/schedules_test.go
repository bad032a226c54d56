package tools_test

import (
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAnAgentSchedulesMessages(t *testing.T) {
	fx := newFixture(t)
	k := &fakeChat{name: "telegram:1"}
	c := fx.connect(fx.inChat(k), nil)
	for _, a := range []args{
		{"text": "x"},
		{"text": "x", "at": "2030-01-02T09:00", "in": "20m"},
		{"text": "x", "at": "tomorrow"},
		{"text": "x", "in": "soon"},
		{"in": "20m"},
	} {
		c.call("schedule_message", a).fails("INVALID_ARGUMENT", "")
	}
	c.call("schedule_message", args{"text": "x", "cron": "every day"}).fails("NOT_SCHEDULED", "")
	year := time.Now().Year() + 1
	at := time.Date(year, 1, 2, 9, 0, 0, 0, k.Zone())
	c.call("schedule_message", args{"text": "tea", "at": at.Format("2006-01-02T15:04")}).ok().
		want("name", "chat.x").want("next", at.In(k.schedules[0].Next.Location()).Format(time.RFC3339))
	wanttest.Equal(t, "it is a prompt:", k.prompt, false)
	before := time.Now()
	got := c.call("schedule_message", args{"text": "look", "in": "1h30m", "prompt": true}).ok()
	next := musttest.Get(time.Parse(time.RFC3339, got.str("next")))(t)
	if d := next.Sub(before); d < 89*time.Minute || d > 95*time.Minute {
		t.Errorf("it is due in %s", d)
	}
	wanttest.Equal(t, "it is a prompt:", k.prompt, true)
	list := c.call("list_schedules", args{}).ok().want("schedules.0.text", "tea").want("schedules.1.text", "look")
	musttest.Get(time.Parse(time.RFC3339, list.str("now")))(t)
	c.call("cancel_schedule", args{"name": "chat.x"}).ok().want("cancelled", true)
	k.err = errTest
	c.call("cancel_schedule", args{"name": "chat.x"}).fails("NOT_SCHEDULED", "Disk on fire.")
	c.call("list_schedules", args{}).fails("NOT_SCHEDULED", "")
}
