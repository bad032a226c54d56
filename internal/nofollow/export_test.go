package nofollow

// OpenChecked is Open without openat2.
var OpenChecked = openChecked
