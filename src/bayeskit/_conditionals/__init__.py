"""Statistics × prior → conditionals: tables, densities, families; a density of your own is one file here."""
