// A page that needs no server: the network and the engine are in it, and the findings are in its address.
import { Address, read } from "./address";
import { Engine, type Factor } from "./engine";
import { begin, fail } from "./main";
import { Refusal, type Findings, type Network, type Source } from "./model";
import { Speaker } from "./words";

interface Published extends Network {
  factors: Factor[];
  order: number[];
  /** The findings to begin with, where the address has none. */
  findings: string;
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
  const address = new Address(network);
  const sent = location.hash ? address.findings : read(network.findings, network.nodes); // before the page writes its own
  const source: Source = Object.assign(engine, {
    worker: null,
    keepLayout: null,
    editing: null,
    why: async (node: number, findings: Findings) => arithmetic(network, engine, node, findings),
  });
  const page = await begin(network, source, address.keep);
  // For the console, and for tests: the numbers with all their digits.
  Object.assign(globalThis, { bayeskit: { posteriors: async (findings: string) => (await engine.posteriors(read(findings, network.nodes))).beliefs } });
  if (sent.size) void page.restore(sent);
  address.follow((findings) => void page.restore(findings));
}

open().catch(fail);
