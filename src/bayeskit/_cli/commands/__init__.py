"""The commands, one per file: functions whose parameters are the arguments and options."""
