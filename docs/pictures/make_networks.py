"""Draw the networks of the guide. Run as `python docs/pictures/make_networks.py`."""

from __future__ import annotations

from pathlib import Path

from bayeskit.explanations import Picture
from bayeskit.networks import asia, melon, seven, wet_grass

PICTURES = ("wet_grass", "wet_grass_seen", "asia", "seven", "melon_network")


def drawn(name: str) -> Picture:
    match name:
        case "wet_grass":
            return wet_grass().plot()
        case "wet_grass_seen":
            return wet_grass().plot({"wet": "yes", "joe": "yes"})
        case "asia":
            return asia().plot({"xray": "yes"})
        case "seven":
            return seven().plot(bars=False)
        case "melon_network":
            return melon().plot()
    raise LookupError(name)


def picture(name: str) -> str:
    """Return one of the pictures as SVG."""
    return str(drawn(name))


if __name__ == "__main__":
    for each in PICTURES:
        Path(__file__).with_name(f"{each}.svg").write_text(picture(each), encoding="utf-8")
