// Exact inference in a published page: a junction tree, as the server has it, from an order of elimination that comes
// with the page. Two passes give the posteriors of all nodes; a third kind of pass, with maxima, the most probable states.
import type { Answer, Decision, Explanation, Finding, Findings, Question, Questions, Source } from "./model";
import { Refusal } from "./model";

export interface Factor {
  scope: number[];
  /** The cells, the last variable of the scope fastest. */
  values: number[];
}

interface Clique {
  scope: number[];
  strides: number[];
  cells: number;
  /** The product of the factors that live here. */
  base: Float64Array;
  parent: number;
  /** For each cell the cell of the separator towards the parent; and the same for the cells of the parent. */
  below: Int32Array;
  above: Int32Array;
  between: number;
}

type Tables = Float64Array[];

export class Engine implements Omit<Source, "why" | "worker" | "keepLayout" | "editing"> {
  readonly publish = null;
  readonly sensitivity = null;
  readonly counts = null;
  readonly contributions = null;
  readonly nomogram = null;
  private cliques: Clique[] = [];
  /** The smallest clique of each variable. */
  private home: number[] = [];

  constructor(private sizes: number[], factors: Factor[], order: number[]) {
    const at = new Array<number>(sizes.length);
    order.forEach((variable, step) => (at[variable] = step));
    const scopes = this.grown(factors, order, at);
    for (const factor of factors) {
      // The first of its variables to be eliminated has all others of the factor in its clique.
      const first = factor.scope.reduce((a, b) => (at[b] < at[a] ? b : a));
      this.multiply(scopes.get(first)!, factor);
    }
    sizes.forEach((_, variable) => {
      let best = -1;
      this.cliques.forEach(({ scope, cells }, clique) => {
        if (scope.includes(variable) && (best < 0 || cells < this.cliques[best].cells)) best = clique;
      });
      this.home[variable] = best;
    });
  }

  /** Build the cliques by elimination; return the clique in which each variable is eliminated. */
  private grown(factors: Factor[], order: number[], at: number[]): Map<number, number> {
    const near = this.sizes.map(() => new Set<number>());
    for (const { scope } of factors) for (const a of scope) for (const b of scope) if (a !== b) near[a].add(b);
    const members = order.map((variable) => {
      const around = [...near[variable]];
      for (const a of around) {
        near[a].delete(variable);
        for (const b of around) if (a !== b) near[a].add(b);
      }
      return around;
    });
    const place = new Map<number, number>();
    const scopes: number[][] = [];
    const parents: { parent: number; between: number[] }[] = [];
    for (let step = order.length - 1; step >= 0; step--) {
      const around = members[step].sort((a, b) => at[a] - at[b]);
      const parent = around.length ? place.get(around[0])! : -1;
      // A clique that lies within the next one is not kept beside it.
      if (parent >= 0 && scopes[parent].length === around.length) {
        scopes[parent] = [order[step], ...scopes[parent]];
        place.set(order[step], parent);
        continue;
      }
      place.set(order[step], scopes.length);
      scopes.push([order[step], ...around]);
      parents.push({ parent, between: around });
    }
    scopes.forEach((scope, clique) => this.cliques.push(this.clique(scope, parents[clique].parent)));
    this.cliques.forEach((clique, k) => {
      const { parent, between } = parents[k];
      if (parent < 0) return;
      clique.between = between.reduce((cells, variable) => cells * this.sizes[variable], 1);
      clique.below = this.map(clique, between);
      clique.above = this.map(this.cliques[parent], between);
    });
    return place;
  }

  private clique(scope: number[], parent: number): Clique {
    const strides = this.strides(scope);
    const cells = scope.reduce((product, variable) => product * this.sizes[variable], 1);
    const none = new Int32Array(0);
    return { scope, strides, cells, base: new Float64Array(cells).fill(1), parent, below: none, above: none, between: 1 };
  }

  private strides(scope: number[]): number[] {
    const strides = new Array<number>(scope.length);
    let stride = 1;
    for (let axis = scope.length - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= this.sizes[scope[axis]];
    }
    return strides;
  }

  /** For each cell of a clique, the cell of a table over some of its variables. */
  private map(clique: Clique, scope: number[]): Int32Array {
    const strides = this.strides(scope);
    const found = new Int32Array(clique.cells);
    clique.scope.forEach((variable, axis) => {
      const place = scope.indexOf(variable);
      if (place < 0) return;
      const [step, size, by] = [clique.strides[axis], this.sizes[variable], strides[place]];
      for (let cell = 0, state = 0; cell < clique.cells; state = (state + 1) % size) {
        for (const end = cell + step; cell < end; cell++) found[cell] += state * by;
      }
    });
    return found;
  }

  private multiply(k: number, factor: Factor): void {
    const clique = this.cliques[k];
    const map = this.map(clique, factor.scope);
    for (let cell = 0; cell < clique.cells; cell++) clique.base[cell] *= factor.values[map[cell]];
  }

  /** The likelihood of each state of an observed node. */
  private likelihoods(node: number, finding: Finding): number[] {
    const states = Array.from({ length: this.sizes[node] }, (_, state) => state);
    if (finding.kind === "state") return states.map((state) => Number(state === finding.state));
    if (finding.kind === "not") return states.map((state) => Number(!finding.states.includes(state)));
    return finding.kind === "likelihood" ? finding.numbers : states.map(() => 1);
  }

  /** Messages towards the roots, with sums or maxima. The logarithm of the whole is −∞ for impossible findings. */
  private collected(findings: Findings, most: boolean): { tables: Tables; messages: Tables; log: number } {
    const tables = this.cliques.map(({ base }) => base.slice());
    for (const [node, finding] of findings) {
      const clique = this.cliques[this.home[node]];
      const table = tables[this.home[node]];
      const likelihoods = this.likelihoods(node, finding);
      const step = clique.strides[clique.scope.indexOf(node)];
      for (let cell = 0, state = 0; cell < table.length; state = (state + 1) % this.sizes[node]) {
        for (const end = cell + step; cell < end; cell++) table[cell] *= likelihoods[state];
      }
    }
    const messages: Tables = [];
    let log = 0;
    // Parents come before their children.
    for (let k = this.cliques.length - 1; k >= 0; k--) {
      const { parent, below, above, between } = this.cliques[k];
      const message = new Float64Array(between);
      const table = tables[k];
      if (parent < 0) {
        for (const p of table) message[0] = most ? Math.max(message[0], p) : message[0] + p;
      } else if (most) {
        for (let cell = 0; cell < table.length; cell++) if (table[cell] > message[below[cell]]) message[below[cell]] = table[cell];
      } else for (let cell = 0; cell < table.length; cell++) message[below[cell]] += table[cell];
      const total = message.reduce((a, b) => a + b, 0);
      log += Math.log(total);
      if (total === 0) break;
      messages[k] = message.map((p) => p / total);
      if (parent < 0) continue;
      const up = tables[parent];
      for (let cell = 0; cell < up.length; cell++) up[cell] *= messages[k][above[cell]];
    }
    return { tables, messages, log };
  }

  /** All posteriors, or null for impossible findings. */
  private computed(findings: Findings): number[][] | null {
    const { tables, messages, log } = this.collected(findings, false);
    if (log === -Infinity) return null;
    this.cliques.forEach(({ parent, below, above, between }, k) => {
      if (parent < 0) return;
      const down = new Float64Array(between);
      const up = tables[parent];
      for (let cell = 0; cell < up.length; cell++) down[above[cell]] += up[cell];
      const total = down.reduce((a, b) => a + b, 0);
      for (let cell = 0; cell < between; cell++) down[cell] = messages[k][cell] === 0 ? 0 : down[cell] / total / messages[k][cell];
      const table = tables[k];
      for (let cell = 0; cell < table.length; cell++) table[cell] *= down[below[cell]];
    });
    return this.sizes.map((size, variable) => {
      const clique = this.cliques[this.home[variable]];
      const step = clique.strides[clique.scope.indexOf(variable)];
      const table = tables[this.home[variable]];
      const found = new Array<number>(size).fill(0);
      for (let cell = 0, state = 0; cell < table.length; state = (state + 1) % size) {
        let sum = 0;
        for (const end = cell + step; cell < end; cell++) sum += table[cell];
        found[state] += sum;
      }
      const total = found.reduce((a, b) => a + b, 0);
      return found.map((p) => p / total);
    });
  }

  private need(findings: Findings): number[][] {
    const found = this.computed(findings);
    if (found) return found;
    // A finding without which the others are still impossible is not part of the conflict.
    const conflict = new Map(findings);
    for (const [node, finding] of [...findings].reverse()) {
      conflict.delete(node);
      if (this.collected(conflict, false).log > -Infinity) conflict.set(node, finding);
    }
    throw new Refusal("", [...conflict.keys()], findings);
  }

  /**
   * Bayes' rule, one finding after the other: the prior of each state, and for each finding its probability given the
   * state and the findings before it. A factor is NaN where these are impossible together.
   */
  steps(node: number, findings: Findings): { prior: number[]; factors: [node: number, factor: number[]][] } {
    this.need(findings);
    const states = Array.from({ length: this.sizes[node] }, (_, state) => state);
    const known = new Map<number, Finding>();
    const logs = (): number[] =>
      states.map((state) => this.collected(new Map(known).set(node, { kind: "state", state }), false).log);
    let before = logs();
    const prior = this.need(known)[node];
    const factors: [number, number[]][] = [];
    for (const [other, finding] of findings) {
      if (other === node) {
        // Given the state, its own likelihood is a number of the finding.
        const own = this.likelihoods(node, finding);
        factors.push([node, states.map((state) => own[state])]);
        continue;
      }
      known.set(other, finding);
      const after = logs();
      factors.push([other, states.map((state) => (before[state] === -Infinity ? NaN : Math.exp(after[state] - before[state])))]);
      before = after;
    }
    return { prior, factors };
  }

  async posteriors(findings: Findings): Promise<Answer> {
    return { beliefs: this.need(findings), estimate: null };
  }

  async next(target: number, costs: [number, number][], findings: Findings): Promise<Questions> {
    const now = this.need(findings);
    const posterior = now[target];
    const prices = new Map(costs);
    const given = posterior.map((p, state) =>
      p > 0 ? this.need(new Map(findings).set(target, { kind: "state", state })) : null,
    );
    const rows: Question[] = [];
    now.forEach((belief, node) => {
      const finding = findings.get(node);
      const known = finding && finding.kind !== "likelihood" && belief.filter((p) => p > 0).length === 1;
      if (node === target || known) return;
      const joint = belief.map((_, state) => posterior.map((p, k) => (given[k] ? p * given[k][node][state] : 0)));
      const answers = joint.map((row): [number, number[]] => {
        const p = row.reduce((a, b) => a + b, 0);
        return [p, p > 0 ? row.map((q) => q / p) : posterior];
      });
      let value = 0;
      for (const [p, after] of answers) {
        after.forEach((q, k) => {
          if (p > 0 && q > 0) value += p * q * Math.log2(q / posterior[k]);
        });
      }
      rows.push({ node, value: Math.max(value, 0), cost: prices.get(node) ?? 0, answers });
    });
    const net = ({ value, cost }: Question) => Math.round((value - cost) * 1e12);
    return { posterior, rows: rows.sort((a, b) => net(b) - net(a) || a.node - b.node) };
  }

  async explanation(findings: Findings): Promise<Explanation> {
    this.need(findings);
    const { tables, log } = this.collected(findings, true);
    const states = new Array<number>(this.sizes.length).fill(-1);
    this.cliques.forEach(({ scope, strides }, k) => {
      let best = -1;
      tables[k].forEach((p, cell) => {
        const fits = scope.every((v, axis) => states[v] < 0 || Math.floor(cell / strides[axis]) % this.sizes[v] === states[v]);
        if (fits && (best < 0 || p > tables[k][best])) best = cell;
      });
      scope.forEach((v, axis) => (states[v] = Math.floor(best / strides[axis]) % this.sizes[v]));
    });
    return { states, probability: Math.min(1, Math.exp(log - this.collected(findings, false).log)) };
  }

  /** The action of least risk. Risks that rounding alone tells apart are equal, as in the library. */
  async decide(node: number, loss: number[][], reject: number | null, findings: Findings): Promise<Decision> {
    const posterior = this.need(findings)[node];
    const risks = loss.map((row) => row.reduce((sum, cost, state) => sum + cost * posterior[state], 0));
    const all = loss.flat();
    // The loss of each action above the best one for the state: what is common to all of a column decides nothing.
    const least = posterior.map((_, state) => Math.min(...loss.map((row) => row[state])));
    const regrets = loss.map((row) => row.reduce((sum, cost, state) => sum + (cost - least[state]) * posterior[state], 0));
    const spread = Math.max(...loss.flatMap((row) => row.map((cost, state) => cost - least[state])));
    const best = Math.min(...regrets) + 1e-12 * spread;
    const action = regrets.findIndex((regret) => regret <= best);
    const most = Math.max(...all.map(Math.abs));
    if (reject !== null && risks[action] > reject + 1e-12 * most) return { risks, action: -1, risk: reject };
    return { risks, action, risk: risks[action] };
  }
}
