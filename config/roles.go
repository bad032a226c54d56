package config

import (
	"fmt"
	"slices"
	"strconv"

	"nanobot/internal/role"
)

// Roles are people with more or fewer rights than others, as channel:userid.
type Roles struct {
	Owner    []string `json:"owner" jsonschema_description:"People who may do everything in a chat."`
	Approver []string `json:"approver" jsonschema_description:"People who may also give permission and approve steps, unless a list of approvers names others."`
	Guest    []string `json:"guest" jsonschema_description:"People who may talk only to agents that a route gives them."`
}

// People returns the people by role; nil if no list names anybody, so that there are no roles.
func (r Roles) People() map[role.Role][]string {
	if len(r.Owner)+len(r.Approver)+len(r.Guest) == 0 {
		return nil
	}
	return map[role.Role][]string{role.Owner: r.Owner, role.Approver: r.Approver, role.Guest: r.Guest}
}

// checkRoles reports entries that identify nobody, and people with two roles.
func checkRoles(c *Config) []Problem {
	var all []Problem
	first := map[string]string{}
	for _, name := range role.Names() {
		list := c.Roles.People()[role.Role(name)]
		at := []string{"roles", name}
		all = append(all, checkPeople(c, at, list, "; who is in no list is a user")...)
		for i, person := range list {
			if other, found := first[person]; found && person != "" {
				all = append(all, Problem{
					Path: joinPath(at, strconv.Itoa(i)), Text: fmt.Sprintf("is in %s already; a person has one role", other),
				})
			}
			first[person] = "roles." + name
		}
	}
	return all
}

// warnRoles returns a warning for each guest in a list of approvers, who may not approve.
func (c *Config) warnRoles() []string {
	var all []string
	warn := func(key string, list []string) {
		for _, person := range list {
			if slices.Contains(c.Roles.Guest, person) {
				all = append(all, fmt.Sprintf("%s has %s, who is in roles.guest: guests may not approve", key, person))
			}
		}
	}
	warn("runbooks.approvers", c.Runbooks.Approvers)
	for _, agent := range c.agentSections() {
		warn(agent.dottedKey+".approvers", agent.Approvers)
	}
	return all
}
