// A page that needs no server: the network and the engine are in it, and the findings are in its address.
import { Engine, type Factor } from "./engine";
import { begin, fail } from "./main";
import { Refusal, type Finding, type Findings, type Network, type Source } from "./model";
import { Speaker } from "./words";

interface Published extends Network {
  factors: Factor[];
  order: number[];
}

/** Findings as a part of an address: 3=0 for a state, 3!0.2 for excluded states, 3~1:4 for likelihoods. */
export function written(findings: Findings): string {
  const parts = [...findings].map(([node, finding]) => {
    if (finding.kind === "state") return `${node}=${finding.state}`;
    if (finding.kind === "not") return `${node}!${finding.states.join(".")}`;
    return finding.kind === "likelihood" ? `${node}~${finding.numbers.join(":")}` : "";
  });
  return parts.length ? `#${parts.join("&")}` : "";
}

/** Read findings from an address; what is none is left out. */
export function read(fragment: string, sizes: number[]): Findings {
  const found = new Map<number, Finding>();
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const match = /^(\d{1,6})([=!~])([\d.:e+-]{1,4000})$/.exec(decodeURIComponent(part));
    if (match === null) continue;
    const node = Number(match[1]);
    const size = sizes[node];
    if (size === undefined) continue;
    const isState = (state: number) => Number.isInteger(state) && state >= 0 && state < size;
    if (match[2] === "=" && isState(Number(match[3]))) found.set(node, { kind: "state", state: Number(match[3]) });
    else if (match[2] === "!") {
      const states = [...new Set(match[3].split(".").map(Number))].sort((a, b) => a - b);
      if (states.every(isState) && states.length < size) found.set(node, { kind: "not", states });
    } else if (match[2] === "~") {
      const numbers = match[3].split(":").map(Number);
      const right = numbers.length === size && numbers.every((number) => Number.isFinite(number) && number >= 0);
      if (right && numbers.some((number) => number > 0)) found.set(node, { kind: "likelihood", numbers });
    }
  }
  return found;
}

function fragment(sizes: number[]): Findings {
  try {
    return read(location.hash, sizes);
  } catch {
    return new Map(); // not an address that a page of ours wrote
  }
}

/** How wide a text is in a font of equal widths: Chinese signs take two places. */
const wide = (text: string) => [...text].reduce((sum, sign) => sum + (sign.charCodeAt(0) > 0x2e80 ? 2 : 1), 0);
const digits = (value: number) => (Number.isNaN(value) ? "-" : String(Number(value.toPrecision(6))));

/** The arithmetic of a node: Bayes' rule, one finding after the other. */
export function arithmetic(network: Network, engine: Engine, node: number, findings: Findings): string {
  const speaker = new Speaker(network);
  const { name, states } = network.nodes[node];
  const held = findings.get(node);
  if (held?.kind === "state") throw new Refusal(speaker.say("known", { node: name }), null, findings);
  const { prior, factors } = engine.steps(node, findings);
  const product = prior.map((p, state) =>
    factors.reduce((left, [, factor]) => (left === 0 ? 0 : left * factor[state]), p),
  );
  const sum = product.reduce((a, b) => a + b, 0);
  const rows: [string, string[]][] = [["", states!], [`P(${name})`, prior.map(digits)]];
  for (const [other, factor] of factors) {
    const told = speaker.told(other, findings.get(other)!);
    rows.push([other === node ? `× ${told}` : `× P(${told} | …)`, factor.map(digits)]);
  }
  if (factors.length) {
    rows.push([speaker.say("why_product"), product.map(digits)]);
    rows.push([speaker.say("why_sum", { sum: digits(sum) }), product.map((p) => digits(p / sum))]);
  }
  const widths = states!.map((_, state) => Math.max(...rows.map(([, cells]) => wide(cells[state]))));
  // The numbers come first: how wide signs such as × are depends on the font.
  const lines = rows.map(([head, cells]) =>
    [...cells.map((cell, state) => " ".repeat(widths[state] - wide(cell)) + cell), ` ${head}`].join("  ").trimEnd(),
  );
  return [...(factors.length ? [speaker.say("why_rule"), ""] : []), ...lines].join("\n");
}

async function open(): Promise<void> {
  const network = JSON.parse(document.getElementById("network")!.textContent!) as Published;
  const preferred = navigator.language.startsWith("zh") ? "zh" : "en";
  network.lang = network.lang || preferred;
  const sizes = network.nodes.map(({ states }) => states!.length);
  const engine = new Engine(sizes, network.factors, network.order);
  Object.assign(network, await engine.posteriors(new Map()));
  const sent = fragment(sizes); // before the page writes its own
  const source: Source = Object.assign(engine, {
    worker: null,
    keepLayout: null,
    editing: null,
    why: async (node: number, findings: Findings) => arithmetic(network, engine, node, findings),
  });
  const page = await begin(network, source, (findings) => {
    const now = written(findings);
    if (now !== location.hash) history.replaceState(null, "", now || location.pathname + location.search);
  });
  // For the console, and for tests: the numbers with all their digits.
  Object.assign(globalThis, { bayeskit: { posteriors: async (findings: string) => (await engine.posteriors(read(findings, sizes))).beliefs } });
  if (sent.size) void page.restore(sent);
  addEventListener("hashchange", () => void page.restore(fragment(sizes)));
}

open().catch(fail);
