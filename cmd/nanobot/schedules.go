package main

import (
	"cmp"
	"errors"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/schedule"
)

// checkSchedule returns the mistakes of a configured schedule that package config cannot find.
func checkSchedule(s config.Schedule) []config.Problem {
	var all []config.Problem
	_, mistakes := schedule.Parse(scheduleSpec(s, ""))
	for _, m := range mistakes {
		all = append(all, config.Problem{Path: []string{m.Key}, Text: m.Text})
	}
	return all
}

// checkZone returns what is wrong with the name of a time zone, or "".
func checkZone(name string) string {
	if _, err := schedule.LoadZone(name); err != nil {
		return err.Error()
	}
	return ""
}

// scheduleSpec returns a schedule of the config as the gateway knows it.
func scheduleSpec(s config.Schedule, zone string) schedule.Spec {
	return schedule.Spec{
		Cron: s.Cron, At: s.At, Timezone: cmp.Or(s.Timezone, zone), Text: s.Text, Agent: s.Agent, Runbook: s.Runbook,
		Say: s.Say,
	}
}

// newSchedules returns the schedules of a config that has no mistakes.
func newSchedules(cfg *config.Config) map[string]schedule.Configured {
	all := map[string]schedule.Configured{}
	for name, s := range cfg.Schedules {
		if plan, mistakes := schedule.Parse(scheduleSpec(s, cfg.Gateway.Timezone)); len(mistakes) == 0 {
			chat, _ := channels.ParseChat(s.Chat)
			all[name] = schedule.Configured{Chat: chat, Spec: plan.Spec}
		}
	}
	return all
}

// checkScheduleChats returns chats of schedules that their networks cannot have.
func checkScheduleChats(cfg *config.Config, open map[string]channels.Channel) error {
	var all []error
	for name, s := range cfg.Schedules {
		chat, _ := channels.ParseChat(s.Chat)
		if checker, ok := open[chat.Channel].(channels.ChatChecker); ok {
			if err := checker.CheckChat(chat.ID); err != nil {
				all = append(all, config.Problem{Path: []string{"schedules", name, "chat"}, Text: err.Error()})
			}
		}
	}
	return errors.Join(all...)
}

