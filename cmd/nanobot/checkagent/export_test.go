package checkagent

// Rules returns the section of the manual of each case, by the ID of the case.
func Rules() map[string]string {
	rules := map[string]string{}
	for _, c := range cases {
		rules[c.id] = c.rule
	}
	return rules
}
