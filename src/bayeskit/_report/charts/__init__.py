"""Charts, which are described once and drawn as SVG or with Matplotlib."""
