// Three questions beside the canvas: what to observe next, scenarios side by side, and the most probable explanation.
import { button, made, signed, table } from "./elements";
import { percent, short, type Belief, type Findings, type Question } from "./model";
import type { Desk } from "./panels";

interface Scenario {
  name: string;
  findings: Findings;
  beliefs: Belief[];
}

// A list longer than this is cut; what is left out matters least.
const MOST_ROWS = 40;

export class Questions {
  private readonly costs = new Map<number, number>();
  private readonly scenarios: Scenario[] = [];
  private named = 0;

  constructor(private desk: Desk) {}

  // -- what to observe next

  async next(): Promise<Node[]> {
    const { nodes } = this.desk.network;
    const { findings } = this.desk.session;
    const label = this.desk.targetChooser();
    const hint = made("p", this.desk.say("next_hint"), "quiet");
    if (findings.get(this.desk.target)?.kind === "state") {
      return [label, made("p", this.desk.say("known", { node: nodes[this.desk.target].name }))];
    }
    const found = await this.desk.session.source.next(this.desk.target, [...this.costs], findings, this.desk.session.lang);
    if (found.rows.length === 0) return [label, made("p", this.desk.say("nothing_next"))];
    const most = Math.max(...found.rows.map(({ value }) => value), 1e-12);
    // Of the target one state is told: the one that the best question moves most.
    const [best] = found.rows;
    const spread = found.posterior.map((_, k) => {
      const all = best.answers.filter(([p]) => p > 0).map(([, posterior]) => posterior[k]);
      return Math.round(1e9 * (Math.max(...all) - Math.min(...all)));
    });
    const told = spread.indexOf(Math.max(...spread));
    const rows = found.rows.slice(0, MOST_ROWS).flatMap((row, place) => this.question(row, place === 0, most, told));
    const heads = ["node", "bits", "cost", "net"];
    return [label, hint, table(heads.map((word) => this.desk.say(word)), rows)];
  }

  private question({ node, value, cost, answers }: Question, isFirst: boolean, most: number, k: number): HTMLTableRowElement[] {
    const { name, states } = this.desk.network.nodes[node];
    const meter = made("meter");
    meter.max = most;
    meter.value = value;
    meter.setAttribute("aria-hidden", "true");
    const target = this.desk.network.nodes[this.desk.target];
    const told = answers.flatMap(([p, posterior], state) =>
      p > 0
        ? [this.desk.say("answer", {
            state: states![state], percent: (100 * p).toFixed(1), target: target.name, value: target.states![k],
            posterior: percent(posterior, k),
          })]
        : [],
    );
    const field = made("input");
    field.id = `cost-${node}`;
    field.type = "number";
    field.step = "any";
    field.value = String(cost);
    field.setAttribute("aria-label", this.desk.say("cost_of", { node: name }));
    field.addEventListener("change", () => {
      const given = Number(field.value);
      if (given) this.costs.set(node, given);
      else this.costs.delete(node);
      this.desk.again();
    });
    const first = made("td", "", isFirst && value > cost ? "best" : "", this.desk.nodeLink(node), meter);
    const lines = made("td", "", "quiet", ...told.slice(0, 4).map((line) => made("div", line)));
    lines.colSpan = 4;
    return [
      made(
        "tr", "", "", first, made("td", value.toFixed(3), "number"), made("td", "", "number", field),
        made("td", (value - cost).toFixed(3), "number"),
      ),
      made("tr", "", "answers", lines),
    ];
  }

  /** The nodes are others: what was kept speaks of those before. */
  renew(): void {
    this.scenarios.length = 0;
    this.costs.clear();
  }

  // -- scenarios

  compared(): Node[] {
    const keep = button(this.desk.say("keep"), () => {
      this.named += 1;
      const { findings, beliefs } = this.desk.session;
      this.scenarios.push({ name: this.desk.say("scenario", { n: this.named }), findings, beliefs });
      this.desk.again();
    });
    keep.id = "keep";
    const hint = made("p", this.desk.say("scenarios_hint"), "quiet");
    if (this.scenarios.length === 0) return [hint, keep];
    const { findings, beliefs } = this.desk.session;
    const all = [...this.scenarios, { name: this.desk.say("now"), findings, beliefs }];
    const heads = all.map((each, place) => this.scenarioHead(each, place < this.scenarios.length));
    const found = made(
      "table", "", "figures",
      made("thead", "", "", made("tr", "", "", made("td"), ...heads)),
      made("tbody", "", "", ...this.apart(all).flatMap((node) => this.scenarioRows(node, all))),
    );
    return [hint, made("p", "", "", keep), made("div", "", "scroll", found)];
  }

  private scenarioHead({ name, findings }: Scenario, isKept: boolean): HTMLElement {
    const head = made("th", "", "number");
    head.scope = "col";
    if (isKept) {
      const load = button(name, () => void this.desk.restore(findings), "link");
      load.setAttribute("aria-label", this.desk.say("load", { scenario: name }));
      const drop = button("×", () => {
        this.scenarios.splice(this.scenarios.findIndex((each) => each.name === name), 1);
        this.desk.again();
      });
      drop.setAttribute("aria-label", this.desk.say("remove", { finding: name }));
      head.append(load, " ", drop);
    } else head.append(name);
    const told = [...findings].map(([node, finding]) => this.desk.speaker.told(node, finding));
    head.append(made("div", this.desk.speaker.listed(told, "listed") || this.desk.say("no_findings"), "scenario-findings quiet"));
    return head;
  }

  /** The nodes that differ, those that differ most first. */
  private apart(all: Scenario[]): number[] {
    const spread = this.desk.network.nodes.map((_, node) => {
      const found = all.map(({ beliefs }) => beliefs[node]);
      const [first] = found;
      if (!Array.isArray(first)) {
        const means = (found as { mean: number; sd: number }[]).map(({ mean }) => mean);
        const scale = (this.desk.session.prior.beliefs[node] as { sd: number }).sd || 1;
        return (Math.max(...means) - Math.min(...means)) / scale;
      }
      return Math.max(...first.map((_, state) => {
        const each = (found as number[][]).map((belief) => belief[state]);
        return Math.max(...each) - Math.min(...each);
      }));
    });
    return [...spread.keys()]
      .filter((node) => spread[node] >= 0.0005)
      .sort((a, b) => spread[b] - spread[a] || a - b)
      .slice(0, MOST_ROWS);
  }

  private scenarioRows(node: number, all: Scenario[]): HTMLElement[] {
    const { states } = this.desk.network.nodes[node];
    const title = made("td", "", "", this.desk.nodeLink(node));
    title.colSpan = all.length + 1;
    const head = made("tr", "", "node", title);
    if (states === null) {
      const cells = all.map(({ beliefs }) => {
        const { mean, sd } = beliefs[node] as { mean: number; sd: number };
        return made("td", sd ? `${short(mean)} ± ${short(sd)}` : short(mean), "number");
      });
      return [head, made("tr", "", "", made("td"), ...cells)];
    }
    return [head, ...states.map((state, k) => {
      const cells = all.map(({ beliefs, findings }) => {
        const belief = beliefs[node] as number[];
        const meter = made("meter");
        meter.value = belief[k];
        meter.setAttribute("aria-hidden", "true");
        return made("td", "", findings.has(node) ? "number best" : "number", signed(percent(belief, k)), meter);
      });
      return made("tr", "", "", made("td", state), ...cells);
    })];
  }

  // -- the most probable explanation

  async explained(): Promise<Node[]> {
    const { findings, beliefs, lang } = this.desk.session;
    const found = await this.desk.session.source.explanation(findings, lang);
    const hint = made("p", this.desk.say("explanation_hint"), "quiet");
    const sum = found.probability === null ? [] : [made("p", this.desk.say("explanation_probability", { percent: short(100 * found.probability) }))];
    const rows = this.desk.network.nodes.map(({ states }, node) => {
      const state = found.states[node];
      const belief = beliefs[node];
      const cells = Array.isArray(belief)
        ? [made("td", states![state]), made("td", signed(percent(belief, state)), "number")]
        : [made("td", short(state)), made("td")];
      return made("tr", "", findings.has(node) ? "best" : "", made("td", "", "", this.desk.nodeLink(node)), ...cells);
    });
    const heads = ["node", "state", "alone"];
    return [hint, ...sum, table(heads.map((word) => this.desk.say(word)), rows, 2)];
  }
}
