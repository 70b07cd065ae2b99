// What is known: the network, the findings, what was found before, and the numbers of the server.

import type { NetworkDocument } from "./document";
import type { KeptLayout } from "./placing";

/** A continuous node: its density is a mixture of normal distributions. */
export interface Measure {
  mean: number;
  sd: number;
  mixture: [weight: number, mean: number, sd: number][];
}

export type Belief = number[] | Measure;

/** Where exact inference is too large: the standard error of each number, and how many samples they are worth. */
export interface Estimate {
  samples: number;
  worth: number;
  errors: (number[] | number)[];
}

/** What is known of all nodes. */
export interface Answer {
  beliefs: Belief[];
  /** Null where the numbers are exact. */
  estimate: Estimate | null;
}

export interface NodeInfo {
  name: string;
  states: string[] | null;
}

export type Words = Record<string, string>;

export interface Network extends Answer {
  name: string;
  directed: boolean;
  /** Whether the network can be edited, and in which formats it can be written. */
  edits?: boolean;
  formats?: string[];
  nodes: NodeInfo[];
  arcs: [number, number][];
  lang: string;
  words: Record<string, Words>;
  /** What was kept of the layout; and whether it can be kept. */
  layout?: KeptLayout | null;
  keeps_layout?: boolean;
  /** What was opened, as the command line names it. */
  command?: string;
  /** What is there more if the network is that of a classifier. */
  classifier?: { target: number; nomogram: boolean };
  /** Clicks to make; the state to watch; and why it moves, in each language. */
  story?: { node: number; state: number; watch: [node: number, state: number]; why: Record<string, string> }[];
}

/** A network as it stands after an edit: what is shown, and by which name the server knows it. */
export interface Version extends Answer {
  id: string | null;
  name: string;
  nodes: NodeInfo[];
  arcs: [number, number][];
  document: NetworkDocument | null;
}

/** What the server does for those who edit. */
export interface Editing {
  /** Ask about this version from now on. */
  use(id: string | null): void;
  document(lang: string): Promise<NetworkDocument>;
  build(document: NetworkDocument, lang: string): Promise<Version>;
  write(document: NetworkDocument, format: string, lang: string): Promise<{ name: string; text: string }>;
  columns(text: string, lang: string): Promise<string[]>;
  learn(text: string, required: [number, number][], forbidden: [number, number][], lang: string): Promise<NetworkDocument>;
}

export type Finding =
  | { kind: "state"; state: number }
  | { kind: "not"; states: number[] }
  | { kind: "likelihood"; numbers: number[] }
  | { kind: "value"; value: number };

export type Findings = ReadonlyMap<number, Finding>;

interface Snapshot {
  findings: Findings;
  answer: Answer;
  version: Version;
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

/** The training rows behind a table of a classifier. */
export interface Counts {
  rows: { given: [node: number, state: number][]; counts: number[]; probabilities: number[]; fits: boolean }[];
  n: number;
  total: number;
}

/** Who computes: the server, or the engine in a published page. What it cannot do is null. */
export interface Source {
  /** The file of the worker that lays out; null: it comes with the page. */
  worker: string | null;
  keepLayout: ((layout: KeptLayout, lang: string) => Promise<void>) | null;
  editing: Editing | null;
  posteriors(findings: Findings, lang: string): Promise<Answer>;
  next(target: number, costs: [number, number][], findings: Findings, lang: string): Promise<Questions>;
  explanation(findings: Findings, lang: string): Promise<Explanation>;
  decide(node: number, loss: number[][], reject: number | null, findings: Findings, lang: string): Promise<Decision>;
  /** The entries that move a state most; their odds are divided and multiplied by a factor, or go from 0 to 1. */
  sensitivity:
    | ((node: number, state: number, factor: number | null, findings: Findings, lang: string) => Promise<Entry[]>)
    | null;
  contributions: ((state: number, findings: Findings, lang: string) => Promise<Contributions>) | null;
  nomogram: ((state: number, findings: Findings, lang: string) => Promise<Nomogram>) | null;
  /** Null where nobody has counted. */
  counts: ((node: number, findings: Findings, lang: string) => Promise<Counts>) | null;
  /** The network as a page that needs no server; it begins with these findings. */
  publish: ((findings: Findings) => Promise<string>) | null;
  why: ((node: number, findings: Findings, lang: string) => Promise<string>) | null;
}

// Less than half of the last digit that is shown.
export const LEAST_MOVE = 0.0005;

function errorOf({ estimate }: Answer, node: number, state: number): number {
  const errors = estimate?.errors[node] ?? 0;
  return Array.isArray(errors) ? errors[state] : errors;
}

/** The findings now and before; what is asked is answered in the order of the clicks. */
export class Session {
  lang: string;
  /** What was shown before the last change. */
  private last: Answer | null = null;
  private history: Snapshot[];
  private at = 0;
  private queue: Promise<void> = Promise.resolve();

  constructor(network: Network, readonly source: Source) {
    this.lang = network.lang;
    const { name, nodes, arcs, beliefs, estimate } = network;
    const version = { id: null, name, nodes, arcs, beliefs, estimate, document: null };
    this.history = [{ findings: new Map(), answer: version, version }];
  }

  get prior(): Answer {
    return this.version;
  }

  get version(): Version {
    return this.history[this.at].version;
  }

  get findings(): Findings {
    return this.history[this.at].findings;
  }

  private get answer(): Answer {
    return this.history[this.at].answer;
  }

  get beliefs(): Belief[] {
    return this.answer.beliefs;
  }

  get estimate(): Estimate | null {
    return this.answer.estimate;
  }

  /** The numbers that were shown before the last change. */
  get before(): Belief[] | null {
    return this.last?.beliefs ?? null;
  }

  /** The standard error of the number of a state, or of a mean; 0 where it is exact. */
  error(node: number, state = 0): number {
    return errorOf(this.answer, node, state);
  }

  /** How far a state has moved with the last change; 0 if that is less than is shown, or than chance explains. */
  moved(node: number, state: number): number {
    if (this.last === null) return 0;
    const by = (this.beliefs[node] as number[])[state] - (this.last.beliefs[node] as number[])[state];
    const chance = 2 * Math.hypot(this.error(node, state), errorOf(this.last, node, state));
    return Math.abs(by) < Math.max(LEAST_MOVE, chance) ? 0 : by;
  }

  get canUndo(): boolean {
    return this.at > 0;
  }

  get canRedo(): boolean {
    return this.at < this.history.length - 1;
  }

  /** Change the findings once all changes before are made; an impossible change is thrown, and changes nothing. */
  change(how: (findings: Map<number, Finding>) => void): Promise<void> {
    const done = this.queue.then(async () => {
      const findings = new Map(this.findings);
      how(findings);
      const answer = findings.size ? await this.source.posteriors(findings, this.lang) : this.prior;
      this.last = this.answer;
      this.push({ findings, answer, version: this.version });
    });
    this.queue = done.catch(() => undefined);
    return done;
  }

  /** Make another network the one that is shown; findings that are impossible in it are dropped. */
  edit(made: () => Promise<{ version: Version; findings: Findings }>): Promise<void> {
    const done = this.queue.then(async () => {
      const { version, findings: wanted } = await made();
      this.source.editing!.use(version.id);
      let [findings, answer]: [Findings, Answer] = [new Map(), version];
      try {
        if (wanted.size) [findings, answer] = [wanted, await this.source.posteriors(wanted, this.lang)];
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
      this.last = null;
      this.push({ findings, answer, version });
    });
    this.queue = done.catch(() => this.source.editing?.use(this.version.id));
    return done;
  }

  private push(snapshot: Snapshot): void {
    this.history.length = this.at + 1;
    this.history.push(snapshot);
    this.at += 1;
  }

  step(by: 1 | -1): Promise<void> {
    this.queue = this.queue.then(() => {
      if (this.history[this.at + by] === undefined) return;
      const was = this.version;
      this.last = this.answer;
      this.at += by;
      if (this.version === was) return;
      this.last = null;
      this.source.editing?.use(this.version.id);
    });
    return this.queue;
  }
}

/** "0+" and "<100" say that a number is not quite 0 or 100; these two are said only where it is: never of an estimate. */
export function percent(belief: number[], state: number, error = 0): string {
  const p = belief[state];
  if (error === 0) {
    if (p === 0) return "0";
    if (belief.every((q, other) => other === state || q === 0)) return "100";
  }
  if (p < 0.0005) return "0+";
  if (p >= 0.9995) return "<100";
  return (100 * p).toFixed(1);
}

/** A standard error in percentage points, rounded up. */
export const points = (error: number) => (Math.ceil(1000 * error) / 10).toFixed(1);

const digits = (number: number, n: number) => String(Number(number.toPrecision(n)));

/** Four digits, without an exponent where that is short; three for a spread. Both take one argument: lists are mapped. */
export const short = (number: number) => digits(number, 4);
export const spread = (number: number) => digits(number, 3);
