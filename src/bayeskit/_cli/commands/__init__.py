"""One file a command: a function whose parameters are its arguments and options."""
