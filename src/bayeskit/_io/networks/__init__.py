"""Network files ↔ network values: one reader and one writer a format, and what they share."""
