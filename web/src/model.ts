// What is known: the network, the findings, what was found before, and the numbers of the server.

export type Belief = number[] | { mean: number; sd: number };

export interface NodeInfo {
  name: string;
  states: string[] | null;
}

export type Words = Record<string, string>;

export interface Network {
  name: string;
  directed: boolean;
  nodes: NodeInfo[];
  arcs: [number, number][];
  beliefs: Belief[];
  lang: string;
  words: Record<string, Words>;
  /** What is there more if the network is that of a classifier. */
  classifier?: { target: number; nomogram: boolean };
  /** Clicks to make; the state to watch; and why it moves, in each language. */
  story?: { node: number; state: number; watch: [node: number, state: number]; why: Record<string, string> }[];
}

export type Finding =
  | { kind: "state"; state: number }
  | { kind: "not"; states: number[] }
  | { kind: "likelihood"; numbers: number[] }
  | { kind: "value"; value: number };

export type Findings = ReadonlyMap<number, Finding>;

interface Snapshot {
  findings: Findings;
  beliefs: Belief[];
}

/** An answer that is an error: its words, and the nodes whose findings cannot all be true. */
export class Refusal extends Error {
  constructor(message: string, readonly conflict: number[] | null, readonly findings: Findings) {
    super(message);
  }
}

/** The server cannot be reached. */
export class Silence extends Error {}

/** What a node that could be observed next is worth. */
export interface Question {
  node: number;
  value: number;
  cost: number;
  /** For each state its probability, and the posterior of the target given it. */
  answers: [number, number[]][];
}

export interface Questions {
  posterior: number[];
  rows: Question[];
}

/** The jointly most probable states; numbers of continuous nodes. */
export interface Explanation {
  states: number[];
  probability: number | null;
}

/** How the probability of a state goes with one entry of a table. */
export interface Entry {
  node: number;
  state: number;
  given: [node: number, state: number][];
  /** The entry now. */
  value: number;
  /** The entry lowered and raised, with the probability for each. */
  ends: [entry: number, probability: number][];
}

/** The action of least risk; −1 rejects. */
export interface Decision {
  risks: number[];
  action: number;
  risk: number;
}

/** What a finding adds to the log-odds of a class; the prior and what belongs to all have no node. */
export interface Contributions {
  rival: number;
  rows: { kind: "prior" | "finding" | "together"; node: number | null; value: number }[];
  log_odds: number;
}

/** The values of one attribute: states or numbers, and their log-odds. */
export interface Ruler {
  node: number;
  numeric: boolean;
  values: number[];
  log_odds: number[];
  range: [least: number, most: number];
}

export interface Nomogram {
  unit: number;
  rulers: Ruler[];
  /** The log-odds of the findings. */
  row: [node: number, logOdds: number][];
  total: number;
  probability: number;
  exact: boolean;
}

/** Who computes: the server, or the engine in a published page. What it cannot do is null. */
export interface Source {
  posteriors(findings: Findings, lang: string): Promise<Belief[]>;
  next(target: number, costs: [number, number][], findings: Findings, lang: string): Promise<Questions>;
  explanation(findings: Findings, lang: string): Promise<Explanation>;
  decide(node: number, loss: number[][], reject: number | null, findings: Findings, lang: string): Promise<Decision>;
  /** The entries that move a state most; their odds are divided and multiplied by a factor, or go from 0 to 1. */
  sensitivity:
    | ((node: number, state: number, factor: number | null, findings: Findings, lang: string) => Promise<Entry[]>)
    | null;
  contributions: ((state: number, findings: Findings, lang: string) => Promise<Contributions>) | null;
  nomogram: ((state: number, findings: Findings, lang: string) => Promise<Nomogram>) | null;
  /** The network as a page that needs no server. */
  publish: (() => Promise<string>) | null;
  why: ((node: number, findings: Findings, lang: string) => Promise<string>) | null;
}

async function asked(path: string, lang: string, findings: Findings, more: object = {}): Promise<any> {
  const listed = [...findings].map(([node, finding]) => {
    if (finding.kind === "state") return { node, state: finding.state };
    if (finding.kind === "not") return { node, not: finding.states };
    if (finding.kind === "likelihood") return { node, likelihood: finding.numbers };
    return { node, value: finding.value };
  });
  let answer: Response;
  let content: any;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept-Language": lang },
      body: JSON.stringify({ ...more, findings: listed }),
    });
    content = await answer.json();
  } catch {
    throw new Silence();
  }
  if (!answer.ok) throw new Refusal(content.message, content.conflict ?? null, findings);
  return content;
}

/** The server of `bayeskit explore`. */
export const server: Source = {
  posteriors: async (findings, lang) => (await asked("posteriors", lang, findings)).beliefs,
  next: (target, costs, findings, lang) => asked("next", lang, findings, { target, costs }),
  explanation: (findings, lang) => asked("explanation", lang, findings),
  decide: (node, loss, reject, findings, lang) => asked("decide", lang, findings, { node, loss, reject }),
  sensitivity: async (node, state, factor, findings, lang) =>
    (await asked("sensitivity", lang, findings, { node, state, factor })).rows,
  contributions: async (state, findings, lang) => {
    const found = await asked("contributions", lang, findings, { state });
    // JSON has no infinity; it comes as text.
    const number = (value: number | string | null) => (value === null ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);
    return { ...found, rows: found.rows.map((row: any) => ({ ...row, value: number(row.value) })), log_odds: number(found.log_odds) };
  },
  nomogram: (state, findings, lang) => asked("nomogram", lang, findings, { state }),
  publish: async () => {
    let answer: Response;
    try {
      answer = await fetch("published");
    } catch {
      throw new Silence();
    }
    if (!answer.ok) throw new Refusal((await answer.json()).message, null, new Map());
    return answer.text();
  },
  why: async (node, findings, lang) => (await asked("why", lang, findings, { node })).text,
};

export async function loaded(): Promise<Network> {
  const answer = await fetch("network");
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.message);
  return content;
}

/** The findings now and before; what is asked is answered in the order of the clicks. */
export class Session {
  readonly prior: Belief[];
  lang: string;
  /** The numbers that were shown before the last change. */
  before: Belief[] | null = null;
  private history: Snapshot[];
  private at = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(network: Network, readonly source: Source) {
    this.prior = network.beliefs;
    this.lang = network.lang;
    this.history = [{ findings: new Map(), beliefs: network.beliefs }];
  }

  get findings(): Findings {
    return this.history[this.at].findings;
  }

  get beliefs(): Belief[] {
    return this.history[this.at].beliefs;
  }

  get canUndo(): boolean {
    return this.at > 0;
  }

  get canRedo(): boolean {
    return this.at < this.history.length - 1;
  }

  /** Change the findings once all changes before are made; an impossible change is thrown, and changes nothing. */
  change(how: (findings: Map<number, Finding>) => void): Promise<void> {
    const done = this.last.then(async () => {
      const findings = new Map(this.findings);
      how(findings);
      const beliefs = findings.size ? await this.source.posteriors(findings, this.lang) : this.prior;
      this.before = this.beliefs;
      this.history.length = this.at + 1;
      this.history.push({ findings, beliefs });
      this.at += 1;
    });
    this.last = done.catch(() => undefined);
    return done;
  }

  step(by: 1 | -1): Promise<void> {
    this.last = this.last.then(() => {
      if (this.history[this.at + by] === undefined) return;
      this.before = this.beliefs;
      this.at += by;
    });
    return this.last;
  }
}

/** "0+" and "<100" say that a number is not quite 0 or 100; these two are said only where it is. */
export function percent(belief: number[], state: number): string {
  const p = belief[state];
  if (p === 0) return "0";
  if (belief.every((q, other) => other === state || q === 0)) return "100";
  if (p < 0.0005) return "0+";
  if (p >= 0.9995) return "<100";
  return (100 * p).toFixed(1);
}

/** Four digits, without an exponent where that is short. */
export function short(number: number): string {
  return String(Number(number.toPrecision(4)));
}
