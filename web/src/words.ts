// The words of the page, in the language that is chosen.
import type { Finding, Network, Words } from "./model";

// Hebrew, Arabic and their neighbours.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]|[\ud802\ud803\ud83a\ud83b]/;

/** A name that runs from right to left, set off from what stands around it: "name = state" keeps its order. */
const isolated = (text: string) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

export class Speaker {
  private words: Words;

  constructor(private network: Network) {
    this.words = network.words[network.lang];
  }

  speak(lang: string): void {
    this.words = this.network.words[lang];
    document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
    for (const part of document.querySelectorAll<HTMLElement>("[data-word]")) part.textContent = this.say(part.dataset.word!);
    for (const part of document.querySelectorAll<HTMLElement | SVGElement>("[data-label]")) {
      let text = this.say(part.dataset.label!);
      // A name that is spoken begins with what is written, where that is a word.
      if (part instanceof HTMLButtonElement && /\p{L}/u.test(part.textContent!)) text = `${part.textContent}: ${text}`;
      part.setAttribute("aria-label", text);
      if (part instanceof HTMLButtonElement) part.title = text;
      if (part instanceof HTMLInputElement) part.placeholder = text;
    }
  }

  say(key: string, values: Record<string, string | number> = {}): string {
    return this.words[key].replace(/\{(\w+)\}/g, (_, name: string) => isolated(String(values[name])));
  }

  /** Parts one after the other, with the signs of the language between them. */
  listed(parts: string[], kind: "and_then" | "listed" | "sentences" = "and_then"): string {
    const pair = (a: string, b: string) => this.say(kind === "listed" ? "listed" : kind === "sentences" ? "sentences" : "and_then", { a, b });
    return parts.length ? parts.reduce(pair) : "";
  }

  /** A finding in words. */
  told(node: number, finding: Finding): string {
    const { name, states } = this.network.nodes[node];
    switch (finding.kind) {
      case "state":
        return this.say("is", { node: name, state: states![finding.state] });
      case "not":
        return this.say("is_not", { node: name, state: this.listed(finding.states.map((state) => states![state])) });
      case "likelihood":
        return this.say("weighed", { node: name, numbers: finding.numbers.join(" : ") });
      case "value":
        return this.say("is", { node: name, state: String(finding.value) });
    }
  }
}
