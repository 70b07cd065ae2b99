"""From rows to models: forms, specs, what is held, leave-one-out, EM."""
