package turn

// DurationText is durationText.
var DurationText = durationText
