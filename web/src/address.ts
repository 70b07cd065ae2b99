// Findings in the address of the page, so that a link, a reload and the way back show them again.
import type { Finding, Findings, Network, NodeInfo } from "./model";

/** Findings as a part of an address: 3=0 for a state, 3!0.2 for excluded states, 3~1:4 for likelihoods, 3@1.7 for a number. */
export function written(findings: Findings): string {
  const parts = [...findings].map(([node, finding]) => {
    if (finding.kind === "state") return `${node}=${finding.state}`;
    if (finding.kind === "not") return `${node}!${finding.states.join(".")}`;
    if (finding.kind === "likelihood") return `${node}~${finding.numbers.join(":")}`;
    return `${node}@${finding.value}`;
  });
  return parts.join("&");
}

/** Read findings from an address; what is none is left out. */
export function read(fragment: string, nodes: readonly NodeInfo[]): Findings {
  const found = new Map<number, Finding>();
  for (const part of fragment.replace(/^#/, "").split("&")) {
    const match = /^(\d{1,6})([=!~@])([\d.:e+-]{1,20000})$/.exec(part);
    if (match === null || nodes[Number(match[1])] === undefined) continue;
    const node = Number(match[1]);
    const size = nodes[node].states?.length ?? 0;
    const isState = (state: number) => Number.isInteger(state) && state >= 0 && state < size;
    if (match[2] === "=" && isState(Number(match[3]))) found.set(node, { kind: "state", state: Number(match[3]) });
    else if (match[2] === "!") {
      const states = [...new Set(match[3].split(".").map(Number))].sort((a, b) => a - b);
      if (states.every(isState) && states.length < size) found.set(node, { kind: "not", states });
    } else if (match[2] === "~") {
      const numbers = match[3].split(":").map(Number);
      const right = numbers.length === size && numbers.every((number) => Number.isFinite(number) && number >= 0);
      if (right && numbers.some((number) => number > 0)) found.set(node, { kind: "likelihood", numbers });
    } else if (match[2] === "@" && size === 0 && Number.isFinite(Number(match[3]))) {
      found.set(node, { kind: "value", value: Number(match[3]) });
    }
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return ""; // not an address that a page of ours wrote
  }
}

/** The address of a page: what it said at first, what it says now, and what happens when it changes. */
export class Address {
  /** Numbers of nodes are those of the network that was opened, whatever is edited later. */
  private readonly nodes: readonly NodeInfo[];
  private isOpened = true;

  constructor(network: Network) {
    this.nodes = network.nodes;
  }

  get findings(): Findings {
    return read(decoded(location.hash), this.nodes);
  }

  /** Say the findings of now. Of an edited network nothing is said: nobody else has it. */
  readonly keep = (findings: Findings, isOpened: boolean): void => {
    this.isOpened = isOpened;
    const told = isOpened && findings.size ? `#${written(findings)}` : "";
    if (told !== location.hash) history.replaceState(null, "", told || location.pathname + location.search);
  };

  follow(restore: (findings: Findings) => void): void {
    addEventListener("hashchange", () => {
      if (this.isOpened) restore(this.findings);
    });
  }
}
