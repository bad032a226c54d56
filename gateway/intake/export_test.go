package intake

// Approves is exported for tests.
var Approves = approves
