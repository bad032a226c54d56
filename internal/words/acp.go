package words

// Texts of the protocol acp: questions, options and sessions of the agent.
const ()

var acpTexts = map[Key]translations{}
