package media

// ProtectedNames is protectedNames.
var ProtectedNames = protectedNames
