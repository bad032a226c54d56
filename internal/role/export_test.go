package role

// Actions are the actions that have a row.
func Actions() (all []Action) {
	for a := range least {
		all = append(all, a)
	}
	return all
}
