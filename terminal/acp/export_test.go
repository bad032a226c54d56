package acp

// VisibleCommand is visibleCommand.
var VisibleCommand = visibleCommand
