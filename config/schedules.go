package config

// Schedule is a message at certain times: a text that is sent, a prompt for an agent, or a runbook.
type Schedule struct {
	Cron     string `json:"cron,omitempty" jsonschema_description:"Minute, hour, day, month and weekday, such as 0 9 * * MON-FRI, or @daily."`
	At       string `json:"at,omitempty" jsonschema_description:"One time instead, such as 2026-12-24T18:00:00+01:00."`
	Timezone string `json:"timezone,omitempty" jsonschema_description:"Time zone of cron. Default: gateway.timezone."`
	Chat     string `json:"chat" jsonschema:"required" jsonschema_description:"The chat, such as telegram:123456."`
	Text     string `json:"text,omitempty" jsonschema_description:"Markdown to send, or the agent's prompt."`
	Agent    string `json:"agent,omitempty" jsonschema_description:"The agent that gets text as its prompt. Default: text is sent as it is."`
	Runbook  string `json:"runbook,omitempty" jsonschema_description:"A runbook to run instead."`
	Say      string `json:"say,omitempty" jsonschema_description:"With always, the agent's turn is shown. Default: only what it sends."`
}

// checkSchedules reports schedules that could never run.
func checkSchedules(c *Config) []Problem {
	var all []Problem
	if check := c.extensions.CheckZone; check != nil {
		if text := check(c.Gateway.Timezone); text != "" {
			all = append(all, Problem{Path: splitKey("gateway.timezone"), Text: text})
		}
	}
	for name, s := range c.Schedules {
		path := []string{"schedules", name}
		all = append(all, checkOriginName(path, "a schedule's name")...)
		all = append(all, c.checkChat(joinPath(path, "chat"), s.Chat)...)
		all = append(all, c.checkAgentName(joinPath(path, "agent"), s.Agent)...)
		if c.extensions.CheckSchedule != nil {
			all = append(all, below(path, c.extensions.CheckSchedule(s))...)
		}
	}
	return all
}
