package confine

// Divide is what becomes of limits where control groups count memory or processes.
func Divide(o Options, memory, processes bool) (help, group Limits, lacks []string) {
	c := &Confinement{o: o, help: o.Limits}
	if o.User != "" {
		c.who = &who{name: o.User, uid: 1}
	}
	c.divide(memory, processes)
	return c.help, c.group, c.Lacks()
}
