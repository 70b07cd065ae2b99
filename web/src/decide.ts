// What to do: a table of losses that is edited in place, the risk of each action, and the best one.
import { button, drawn, made, shape } from "./elements";
import { short } from "./model";
import type { Desk } from "./panels";

interface Losses {
  actions: string[];
  /** A row for each action, a column for each state. */
  costs: number[][];
  /** The cost of not deciding; null: that is no choice. */
  reject: number | null;
}

const WIDTH = 352;
const MOST_ACTIONS = 20;

export class Decide {
  private readonly byNode = new Map<number, Losses>();
  /** What was typed and is no number: the field, and the text in it. */
  private wrong: { id: string; text: string } | null = null;

  constructor(private desk: Desk) {}

  /** At first one action for each state, which costs 1 where it is wrong. */
  private losses(node: number): Losses {
    const states = this.desk.network.nodes[node].states!;
    let held = this.byNode.get(node);
    if (held === undefined) {
      const actions = states.map((state) => this.desk.say("act_as", { state }));
      held = { actions, costs: states.map((_, a) => states.map((_, s) => Number(a !== s))), reject: null };
      this.byNode.set(node, held);
    }
    return held;
  }

  async risks(): Promise<Node[]> {
    const { desk } = this;
    const { session } = desk;
    const node = desk.target;
    const held = this.losses(node);
    const found = await session.source.decide(node, held.costs, held.reject, session.findings, session.lang);
    const best = found.action < 0 ? desk.say("reject") : held.actions[found.action];
    const verdict = made("p", desk.say("best_action", { action: best, risk: short(found.risk) }), "verdict");
    verdict.setAttribute("role", "status");
    return [
      desk.targetChooser(), made("p", desk.say("decide_hint"), "quiet"), this.table(node, held),
      ...this.problem(), this.tools(node, held), verdict, this.bars(held, found.risks, found.action),
    ];
  }

  private problem(): Node[] {
    if (this.wrong === null) return [];
    const told = made("p", this.desk.say("wrong_number", { text: this.wrong.text }), "problem");
    told.id = "wrong-number";
    told.setAttribute("role", "alert");
    return [told];
  }

  /** A field for a number. What is none is said in words, and the number before stays in use. */
  private number(id: string, label: string, value: number | null, done: (value: number | null) => void): HTMLInputElement {
    const isWrong = this.wrong?.id === id;
    const field = made("input");
    field.id = id;
    field.inputMode = "decimal";
    field.value = isWrong ? this.wrong!.text : value === null ? "" : String(value);
    field.setAttribute("aria-label", label);
    if (isWrong) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", "wrong-number");
    }
    field.addEventListener("change", () => {
      const text = field.value.trim().replace(",", ".");
      const given = text === "" ? null : Number(text);
      const isNumber = given === null ? id === "reject" : Number.isFinite(given) && Math.abs(given) <= 1e9;
      this.wrong = isNumber ? null : { id, text: field.value };
      if (isNumber) done(given);
      this.desk.again();
    });
    return field;
  }

  private table(node: number, held: Losses): HTMLElement {
    const { desk } = this;
    const { name, states } = desk.network.nodes[node];
    const corner = made("th", desk.say("action"));
    const heads = states!.map((state) => made("th", desk.speaker.say("is", { node: name, state }), "number"));
    for (const head of [corner, ...heads]) head.scope = "col";
    const rows = held.actions.map((action, a) => {
      const field = made("input", "", "name");
      field.id = `action-${a}`;
      field.value = action;
      field.maxLength = 60;
      field.setAttribute("aria-label", desk.say("action_name", { n: a + 1 }));
      field.addEventListener("change", () => {
        held.actions[a] = field.value.trim() || action;
        desk.again();
      });
      const cells = states!.map((state, s) => {
        const label = desk.say("loss_of", { action, finding: desk.say("is", { node: name, state }) });
        return made("td", "", "number", this.number(`loss-${a}-${s}`, label, held.costs[a][s], (value) => (held.costs[a][s] = value!)));
      });
      const drop = button("×", () => {
        held.actions.splice(a, 1);
        held.costs.splice(a, 1);
        this.wrong = null;
        desk.again();
      });
      drop.setAttribute("aria-label", desk.say("remove", { finding: action }));
      drop.disabled = held.actions.length === 1;
      return made("tr", "", "", made("td", "", "", field), ...cells, made("td", "", "", drop));
    });
    const head = made("tr", "", "", corner, ...heads, made("td"));
    return made("div", "", "scroll", made("table", "", "figures losses", made("thead", "", "", head), made("tbody", "", "", ...rows)));
  }

  private tools(node: number, held: Losses): HTMLElement {
    const { desk } = this;
    const add = button(desk.say("add_action"), () => {
      const dearest = Math.max(...held.costs.flat());
      held.actions.push(desk.say("new_action", { n: held.actions.length + 1 }));
      held.costs.push(held.costs[0].map(() => dearest));
      desk.again();
    });
    add.disabled = held.actions.length >= MOST_ACTIONS;
    const again = button(desk.say("plain_losses"), () => {
      this.byNode.delete(node);
      this.wrong = null;
      desk.again();
    });
    const reject = this.number("reject", desk.say("reject_cost"), held.reject, (value) => (held.reject = value));
    const label = made("label", "", "choose long", made("span", desk.say("reject_cost")), reject);
    return made("div", "", "", label, made("p", "", "buttons", add, again));
  }

  /** The risks; a bar for each action, and one for rejecting. */
  private bars(held: Losses, risks: number[], action: number): HTMLElement {
    const { desk } = this;
    const lines: [string, number, boolean][] = held.actions.map((name, a) => [name, risks[a], a === action]);
    if (held.reject !== null) lines.push([desk.say("reject"), held.reject, action < 0]);
    const low = Math.min(0, ...lines.map(([, risk]) => risk));
    const span = Math.max(0, ...lines.map(([, risk]) => risk)) - low || 1;
    const items = lines.map(([name, risk, isBest]) => {
      const picture = drawn(WIDTH, 12, "risk-bar");
      const at = (value: number) => ((value - low) / span) * WIDTH;
      shape(picture, "rect", { class: "track", width: WIDTH, height: 12 });
      shape(picture, "rect", { class: isBest ? "risk best" : "risk", x: at(Math.min(0, risk)), width: at(Math.abs(risk) + low), height: 12 });
      const words = made("div", "", "line", made("span", isBest ? desk.say("is_best", { action: name }) : name), made("span", short(risk), "number"));
      return made("li", "", isBest ? "best" : "", words, picture);
    });
    return made("ol", "", "risks", ...items);
  }
}
