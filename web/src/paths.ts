// The paths between two nodes, and which of them are open: why a finding about one says something about the other, or
// nothing. A likelihood, or an excluded state, is a finding at a node that is not shown, below its own: it opens what
// meets there, and closes nothing.
import { button, chooser, made } from "./elements";
import type { Findings, Network } from "./model";
import type { Desk } from "./panels";

/** An inner node of a path. */
export interface Turn {
  node: number;
  /** Arcs of the path meet here. */
  meets: boolean;
  blocks: boolean;
  /** The node with a finding that makes it so: this one, or one below it. */
  by: number | null;
}

export interface Path {
  nodes: number[];
  turns: Turn[];
  isOpen: boolean;
}

export interface Between {
  paths: Path[];
  /** Whether these are all paths. */
  isComplete: boolean;
  /** Whether no path at all is open, listed or not. */
  isIndependent: boolean;
}

const MOST_PATHS = 20;
// How often a next node may be tried: a fraction of a second.
const EFFORT = 500_000;

class Judge {
  readonly near: number[][];
  private readonly arcs: Set<string>;
  private readonly children: number[][];
  private readonly parents: number[][];
  /** Nodes whose state is known. */
  private readonly known = new Set<number>();
  /** For each node that has one: the nearest finding at it or below it. */
  private readonly below = new Map<number, number>();

  constructor(private network: Network, findings: Findings) {
    const lists = () => network.nodes.map((): number[] => []);
    [this.near, this.children, this.parents] = [lists(), lists(), lists()];
    for (const [from, to] of network.arcs) {
      this.near[from].push(to);
      this.near[to].push(from);
      this.children[from].push(to);
      this.parents[to].push(from);
    }
    this.arcs = new Set(network.arcs.map(([from, to]) => `${from} ${to}`));
    for (const [node, finding] of findings) {
      const left = network.nodes[node].states?.length ?? 0;
      const one = finding.kind === "not" && finding.states.length === left - 1;
      const sure = finding.kind === "likelihood" && finding.numbers.filter((number) => number > 0).length === 1;
      if (finding.kind === "state" || finding.kind === "value" || one || sure) this.known.add(node);
      this.below.set(node, node);
    }
    const waiting = [...this.below.keys()];
    for (const node of waiting) {
      for (const parent of this.parents[node]) {
        if (this.below.has(parent)) continue;
        this.below.set(parent, this.below.get(node)!);
        waiting.push(parent);
      }
    }
  }

  path(nodes: number[]): Path {
    const turns = nodes.slice(1, -1).map((node, k): Turn => {
      const meets = this.network.directed && this.arcs.has(`${nodes[k]} ${node}`) && this.arcs.has(`${nodes[k + 2]} ${node}`);
      if (meets) return { node, meets, blocks: !this.below.has(node), by: this.below.get(node) ?? null };
      const blocks = this.known.has(node);
      return { node, meets, blocks, by: blocks ? node : null };
    });
    return { nodes, turns, isOpen: turns.every(({ blocks }) => !blocks) };
  }

  /** An open trail from one node to the other, found as a ball that bounces (Shachter); null if there is none. */
  trail(a: number, b: number): number[] | null {
    // A place of the ball: the node, and whether it came from a parent of it.
    const from = new Map<string, { node: number; back: string | null }>([[`${a} up`, { node: a, back: null }]]);
    const waiting = [`${a} up`];
    for (const place of waiting) {
      const { node } = from.get(place)!;
      if (node === b) {
        const nodes: number[] = [];
        for (let at: string | null = place; at !== null; at = from.get(at)!.back) nodes.unshift(from.get(at)!.node);
        return nodes;
      }
      const wasDown = place.endsWith("down");
      const passes = !this.known.has(node);
      const steps: [number, string][] = [];
      if (!this.network.directed) {
        if (passes) steps.push(...this.near[node].map((next): [number, string] => [next, "up"]));
      } else {
        if (passes) steps.push(...this.children[node].map((next): [number, string] => [next, "down"]));
        if (wasDown ? this.below.has(node) : passes) {
          steps.push(...this.parents[node].map((next): [number, string] => [next, "up"]));
        }
      }
      for (const [next, way] of steps) {
        const to = `${next} ${way}`;
        if (from.has(to)) continue;
        from.set(to, { node: next, back: place });
        waiting.push(to);
      }
    }
    return null;
  }
}

/** The paths between two nodes given the findings about all others, the shortest first. */
export function between(network: Network, findings: Findings, a: number, b: number): Between {
  const judge = new Judge(network, new Map([...findings].filter(([node]) => node !== a && node !== b)));
  const far = new Map([[b, 0]]);
  for (const node of far.keys()) {
    for (const next of judge.near[node]) if (!far.has(next)) far.set(next, far.get(node)! + 1);
  }
  const trail = judge.trail(a, b);
  const paths: Path[] = [];
  let effort = EFFORT;
  let isCut = far.has(a);
  // All paths of one length, then of the next.
  for (let length = far.get(a) ?? 0; isCut && effort > 0 && paths.length <= MOST_PATHS; length++) {
    isCut = false;
    const path = [a];
    const on = new Set(path);
    const tried = [0];
    while (path.length) {
      const node = path[path.length - 1];
      const next = node === b ? undefined : judge.near[node][tried[tried.length - 1]++];
      effort--;
      if (next === undefined || effort <= 0 || paths.length > MOST_PATHS) {
        if (node === b && path.length - 1 === length) paths.push(judge.path([...path]));
        on.delete(path.pop()!);
        tried.pop();
        continue;
      }
      if (on.has(next) || !far.has(next)) continue;
      if (path.length + far.get(next)! > length) {
        isCut = true;
        continue;
      }
      path.push(next);
      on.add(next);
      tried.push(0);
    }
  }
  const isComplete = paths.length <= MOST_PATHS && effort > 0;
  const listed = paths.slice(0, MOST_PATHS);
  // Among many paths that are closed, one that is open is shown.
  if (trail !== null && listed.every(({ isOpen }) => !isOpen)) {
    const open = judge.path(trail);
    if (open.isOpen && new Set(trail).size === trail.length) listed.splice(0, Number(listed.length === MOST_PATHS), open);
  }
  return { paths: listed, isComplete, isIndependent: trail === null };
}

/** The panel: choose two nodes, and read which way news goes from one to the other. */
export class Paths {
  private other: number | null = null;

  constructor(private desk: Desk, private mark: (nodes: readonly number[] | null) => void) {}

  panel(): Node[] {
    const { desk } = this;
    const { network, session } = desk;
    if (network.nodes.length < 2) return [made("p", desk.say("no_pair"))];
    const a = desk.target;
    if (this.other === null || this.other === a || this.other >= network.nodes.length) this.other = this.second(a);
    const b = this.other;
    const options = network.nodes.flatMap(({ name }, node): [string, string][] => (node === a ? [] : [[String(node), name]]));
    const top = [
      made("p", desk.say("paths_hint"), "quiet"),
      desk.targetChooser(true),
      chooser("path-to", desk.say("path_to"), options, String(b), (value) => {
        this.other = Number(value);
        desk.again();
      }),
    ];
    const { paths, isComplete, isIndependent } = between(network, session.findings, a, b);
    const names = { a: network.nodes[a].name, b: network.nodes[b].name };
    const open = paths.filter(({ isOpen }) => isOpen).length;
    const verdict = desk.say(isIndependent ? "paths_closed" : "paths_open", { ...names, n: open, m: paths.length });
    const list = made("ol", "", "", ...paths.map((path) => this.shown(path)));
    list.addEventListener("pointerleave", () => this.mark(null));
    return [...top, made("p", verdict, "verdict"), ...(isComplete ? [] : [made("p", desk.say("paths_more"), "quiet")]), list];
  }

  /** The node to begin with: one with a finding, else the nearest to the first that is no neighbour, else any. */
  private second(a: number): number {
    const { network, session } = this.desk;
    const held = [...session.findings.keys()].find((node) => node !== a);
    if (held !== undefined) return held;
    const beside = new Set(network.arcs.flatMap(([from, to]) => (from === a ? [to] : to === a ? [from] : [])));
    const next = network.arcs.flatMap((ends) => (ends.some((node) => beside.has(node)) ? ends : []));
    return next.find((node) => node !== a && !beside.has(node)) ?? network.nodes.findIndex((_, node) => node !== a);
  }

  private shown(path: Path): HTMLLIElement {
    const { desk } = this;
    const { nodes, directed, arcs } = desk.network;
    const arrow = (from: number, to: number) =>
      !directed ? " — " : arcs.some(([a, b]) => a === from && b === to) ? " → " : " ← ";
    const written = path.nodes.map((node, k) => (k ? arrow(path.nodes[k - 1], node) : "") + nodes[node].name).join("");
    const head = button(desk.say(path.isOpen ? "path_open" : "path_closed", { path: written }), () => this.mark(path.nodes), "link");
    for (const kind of ["pointerenter", "focus"] as const) head.addEventListener(kind, () => this.mark(path.nodes));
    head.addEventListener("blur", () => this.mark(null));
    const reasons = path.turns.map((turn) => made("li", this.reason(turn)));
    if (reasons.length === 0) reasons.push(made("li", desk.say("path_arc")));
    return made("li", "", "path", head, made("ul", "", "quiet", ...reasons));
  }

  private reason({ node, meets, blocks, by }: Turn): string {
    const { desk } = this;
    const name = (each: number) => desk.network.nodes[each].name;
    if (!meets) return desk.say(blocks ? "turn_known" : "turn_passes", { node: name(node) });
    if (by === null) return desk.say("turn_shut", { node: name(node) });
    return desk.say(by === node ? "turn_meets" : "turn_below", { node: name(node), below: name(by) });
  }
}
