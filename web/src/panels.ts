// The questions beside the canvas: what to observe next, scenarios side by side, and the most probable explanation.
import { percent, short, type Belief, type Findings, type Network, type Question, type Session } from "./model";
import type { Speaker } from "./words";

export interface PanelGestures {
  goTo(node: number): void;
  restore(findings: Findings): Promise<void>;
  told(error: unknown): void;
  resized(): void;
}

interface Scenario {
  name: string;
  findings: Findings;
  beliefs: Belief[];
}

const KINDS = ["next", "scenarios", "explanation"] as const;
type Kind = (typeof KINDS)[number];
// A list longer than this is cut; what is left out matters least.
const MOST_ROWS = 40;

const part = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

function made<K extends keyof HTMLElementTagNameMap>(
  kind: K, text = "", className = "", ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(kind);
  if (text) element.textContent = text;
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

function button(text: string, done: () => void, className = ""): HTMLButtonElement {
  const found = made("button", text, className);
  found.type = "button";
  found.addEventListener("click", done);
  return found;
}

/** A number with its percent sign, where it is a number. */
const signed = (shown: string) => (/^[\d.]+$/.test(shown) ? `${shown}%` : shown);

export class Panels {
  private open: Kind | null = null;
  private target: number;
  private readonly costs = new Map<number, number>();
  private readonly scenarios: Scenario[] = [];
  private named = 0;
  /** Grows with each showing, so that an answer that comes late is not shown. */
  private turn = 0;

  constructor(
    private network: Network,
    private session: Session,
    private speaker: Speaker,
    private gestures: PanelGestures,
  ) {
    // The last node in the order of the file is usually an effect; a root is more often what one wants to know.
    const roots = new Set(network.nodes.keys());
    for (const [, to] of network.arcs) roots.delete(to);
    this.target = [...roots].find((node) => network.nodes[node].states) ?? network.nodes.findIndex((node) => node.states);
    for (const kind of KINDS) part(`open-${kind}`).addEventListener("click", () => this.toggle(kind));
    part("panel-close").addEventListener("click", () => this.close());
  }

  private toggle(kind: Kind): void {
    this.open = this.open === kind ? null : kind;
    this.changed();
    if (this.open) part("panel-close").focus();
  }

  close(): void {
    const was = this.open;
    this.open = null;
    this.changed();
    if (was) part(`open-${was}`).focus();
  }

  private changed(): void {
    part("panel").hidden = this.open === null;
    for (const kind of KINDS) part(`open-${kind}`).setAttribute("aria-expanded", String(kind === this.open));
    this.gestures.resized();
    part("panel-body").replaceChildren();
    void this.show();
  }

  /** Show what is open, for the findings of now. */
  async show(): Promise<void> {
    const kind = this.open;
    if (kind === null) return;
    const turn = ++this.turn;
    part("panel-title").textContent = this.speaker.say(kind);
    try {
      const content = kind === "next" ? await this.next() : kind === "scenarios" ? this.compared() : await this.explained();
      if (turn !== this.turn) return;
      const body = part("panel-body");
      // A field that is in use keeps the focus when the list around it is made anew.
      const held = document.activeElement instanceof HTMLElement && body.contains(document.activeElement) ? document.activeElement.id : "";
      const at = body.scrollTop;
      body.replaceChildren(...content);
      body.scrollTop = at;
      if (held) document.getElementById(held)?.focus();
    } catch (error) {
      if (turn === this.turn) this.gestures.told(error);
    }
  }

  private nodeLink(node: number): HTMLButtonElement {
    return button(this.network.nodes[node].name, () => this.gestures.goTo(node), "link");
  }

  // -- what to observe next

  private async next(): Promise<Node[]> {
    const { nodes } = this.network;
    const { findings } = this.session;
    const chooser = made("select");
    chooser.id = "target";
    nodes.forEach(({ name, states }, node) => {
      if (states === null) return;
      const option = made("option", name);
      option.value = String(node);
      option.selected = node === this.target;
      chooser.append(option);
    });
    chooser.addEventListener("change", () => {
      this.target = Number(chooser.value);
      void this.show();
    });
    const label = made("label", "", "choose", made("span", this.speaker.say("target")), chooser);
    const hint = made("p", this.speaker.say("next_hint"), "quiet");
    if (findings.get(this.target)?.kind === "state") {
      return [label, made("p", this.speaker.say("known", { node: nodes[this.target].name }))];
    }
    const found = await this.session.source.next(this.target, [...this.costs], findings, this.session.lang);
    if (found.rows.length === 0) return [label, made("p", this.speaker.say("nothing_next"))];
    const most = Math.max(...found.rows.map(({ value }) => value), 1e-12);
    // Of the target one state is told: the one that the best question moves most.
    const [best] = found.rows;
    const spread = found.posterior.map((_, k) => {
      const all = best.answers.filter(([p]) => p > 0).map(([, posterior]) => posterior[k]);
      return Math.round(1e9 * (Math.max(...all) - Math.min(...all)));
    });
    const told = spread.indexOf(Math.max(...spread));
    const rows = found.rows.slice(0, MOST_ROWS).flatMap((row, place) => this.question(row, place === 0, most, told));
    const heads = ["node", "bits", "cost", "net"].map((word, place) => made("th", this.speaker.say(word), place ? "number" : ""));
    const table = made("table", "", "figures", made("thead", "", "", made("tr", "", "", ...heads)), made("tbody", "", "", ...rows));
    return [label, hint, table];
  }

  private question({ node, value, cost, answers }: Question, isFirst: boolean, most: number, k: number): HTMLTableRowElement[] {
    const { name, states } = this.network.nodes[node];
    const meter = made("meter");
    meter.max = most;
    meter.value = value;
    meter.setAttribute("aria-hidden", "true");
    const target = this.network.nodes[this.target];
    const told = answers.flatMap(([p, posterior], state) =>
      p > 0
        ? [this.speaker.say("answer", {
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
    field.setAttribute("aria-label", this.speaker.say("cost_of", { node: name }));
    field.addEventListener("change", () => {
      const given = Number(field.value);
      if (given) this.costs.set(node, given);
      else this.costs.delete(node);
      void this.show();
    });
    const first = made("td", "", isFirst && value > cost ? "best" : "", this.nodeLink(node), meter);
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

  // -- scenarios

  private compared(): Node[] {
    const keep = button(this.speaker.say("keep"), () => {
      this.named += 1;
      const { findings, beliefs } = this.session;
      this.scenarios.push({ name: this.speaker.say("scenario", { n: this.named }), findings, beliefs });
      void this.show();
    });
    keep.id = "keep";
    const hint = made("p", this.speaker.say("scenarios_hint"), "quiet");
    if (this.scenarios.length === 0) return [hint, keep];
    const { findings, beliefs } = this.session;
    const all = [...this.scenarios, { name: this.speaker.say("now"), findings, beliefs }];
    const heads = all.map((each, place) => this.scenarioHead(each, place < this.scenarios.length));
    const table = made(
      "table", "", "figures",
      made("thead", "", "", made("tr", "", "", made("td"), ...heads)),
      made("tbody", "", "", ...this.apart(all).flatMap((node) => this.scenarioRows(node, all))),
    );
    return [hint, made("p", "", "", keep), made("div", "", "scroll", table)];
  }

  private scenarioHead({ name, findings }: Scenario, isKept: boolean): HTMLElement {
    const head = made("th", "", "number");
    head.scope = "col";
    if (isKept) {
      const load = button(name, () => void this.gestures.restore(findings), "link");
      load.setAttribute("aria-label", this.speaker.say("load", { scenario: name }));
      const drop = button("×", () => {
        this.scenarios.splice(this.scenarios.findIndex((each) => each.name === name), 1);
        void this.show();
      });
      drop.setAttribute("aria-label", this.speaker.say("remove", { finding: name }));
      head.append(load, " ", drop);
    } else head.append(name);
    const told = [...findings].map(([node, finding]) => this.speaker.told(node, finding));
    head.append(made("div", told.join("; ") || this.speaker.say("no_findings"), "scenario-findings quiet"));
    return head;
  }

  /** The nodes that differ, those that differ most first. */
  private apart(all: Scenario[]): number[] {
    const spread = this.network.nodes.map((_, node) => {
      const found = all.map(({ beliefs }) => beliefs[node]);
      const [first] = found;
      if (!Array.isArray(first)) {
        const means = (found as { mean: number; sd: number }[]).map(({ mean }) => mean);
        const scale = (this.session.prior[node] as { sd: number }).sd || 1;
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
    const { states } = this.network.nodes[node];
    const title = made("td", "", "", this.nodeLink(node));
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

  private async explained(): Promise<Node[]> {
    const { findings, beliefs, lang } = this.session;
    const found = await this.session.source.explanation(findings, lang);
    const hint = made("p", this.speaker.say("explanation_hint"), "quiet");
    const sum = found.probability === null ? [] : [made("p", this.speaker.say("explanation_probability", { percent: short(100 * found.probability) }))];
    const rows = this.network.nodes.map(({ states }, node) => {
      const state = found.states[node];
      const belief = beliefs[node];
      const cells = Array.isArray(belief)
        ? [made("td", states![state]), made("td", signed(percent(belief, state)), "number")]
        : [made("td", short(state)), made("td")];
      return made("tr", "", findings.has(node) ? "best" : "", made("td", "", "", this.nodeLink(node)), ...cells);
    });
    const heads = ["node", "state", "alone"].map((word, place) => made("th", this.speaker.say(word), place === 2 ? "number" : ""));
    return [hint, ...sum, made("table", "", "figures", made("thead", "", "", made("tr", "", "", ...heads)), made("tbody", "", "", ...rows))];
  }
}
