// The panel in which a network is built: its nodes, states, arcs and tables. Every edit is one step that undo takes back.
import * as doc from "./document";
import type { NetworkDocument } from "./document";
import { button, chooser, made } from "./elements";
import { Learning } from "./learning";
import { short, type Findings } from "./model";
import type { Desk } from "./panels";

/** More numbers than this in a table: a warning first; many more: refused. */
const WARN_CELLS = 4096;
const MOST_CELLS = 2 ** 18;
const ROWS_SHOWN = 64;

type Edit = (document: NetworkDocument) => NetworkDocument;
const same = (findings: Findings) => findings;

export interface EditGestures {
  /** Make another network the one that is shown. */
  edit(how: Edit, findings: (findings: Findings) => Findings): Promise<void>;
  document(): Promise<NetworkDocument>;
  write(format: string): Promise<void>;
  told(text: string): void;
}

export class Editor {
  /** The node that is edited. */
  private at = 0;
  /** Rows of the table that do not add up yet, by the node, its states and parents, and the row. */
  private drafts = new Map<string, string[]>();
  /** An edit that waits for the user, because a table would become large. */
  private waiting: { text: string; done: () => void } | null = null;
  private first = 0;
  private readonly learning: Learning;

  constructor(private desk: Desk, private gestures: EditGestures) {
    this.learning = new Learning(desk, (document) => this.make(() => document, () => new Map()));
  }

  /** Edit this node from now on. */
  choose(node: number): void {
    if (node !== this.at) [this.at, this.first] = [node, 0];
  }

  private async make(how: Edit, findings: (findings: Findings) => Findings = same): Promise<void> {
    this.waiting = null;
    await this.gestures.edit(how, findings);
  }

  /** Draw an arc, if that is possible; a table that would become large is asked about first. */
  async link(from: number, to: number): Promise<void> {
    const document = await this.gestures.document();
    const { parents, name } = document.nodes[to];
    const names = { from: document.nodes[from].name, to: name };
    if (from === to || parents.includes(from)) return;
    if (doc.leads(document, to, from)) this.gestures.told(this.desk.say("cycle", names));
    else this.sized(doc.cells(document, to, [...parents, from]), name, (each) => doc.addArc(each, from, to));
  }

  private sized(cells: number, node: string, how: Edit, findings = same): void {
    const values = { node, cells: cells.toLocaleString("en") };
    if (cells > MOST_CELLS) this.gestures.told(this.desk.say("table_refused", values));
    else if (cells <= WARN_CELLS) void this.make(how, findings);
    else {
      this.waiting = { text: this.desk.say("table_large", values), done: () => void this.make(how, findings) };
      this.desk.again();
    }
  }

  async panel(): Promise<Node[]> {
    const { desk } = this;
    const document = await this.gestures.document();
    this.at = Math.max(0, Math.min(this.at, document.nodes.length - 1));
    const add = button(desk.say("add_node"), () => {
      this.at = document.nodes.length;
      const name = doc.free(document.nodes.map((node) => node.name), desk.say("node"));
      void this.make((each) => doc.addNode(each, name, [desk.say("no_state"), desk.say("yes_state")]));
    });
    add.id = "add-node";
    const fresh = button(desk.say("new_network"), () => void this.make(() => ({ name: "", nodes: [] }), () => new Map()));
    fresh.id = "new-network";
    const parts: Node[] = [made("p", desk.say("edit_hint"), "quiet"), made("div", "", "buttons", add, fresh)];
    if (this.waiting) {
      const { text, done } = this.waiting;
      const cancel = button(desk.say("cancel"), () => {
        this.waiting = null;
        desk.again();
      });
      const warning = made("div", "", "warning", made("p", text), made("div", "", "buttons", button(desk.say("anyway"), done), cancel));
      warning.setAttribute("role", "alert");
      parts.push(warning);
    }
    if (document.nodes.length) parts.push(...this.node(document));
    return [...parts, ...this.saving(document), ...this.learning.panel()];
  }

  private node(document: NetworkDocument): Node[] {
    const { desk, at } = this;
    const { name, states, parents } = document.nodes[at];
    const choose = chooser("edit-node", desk.say("node_title"), document.nodes.map((node, k) => [String(k), node.name]), String(at), (value) => {
      this.choose(Number(value));
      desk.again();
    });
    const rename = this.field("node-name", desk.say("name"), name, (text) => {
      if (document.nodes.some((node, k) => k !== at && node.name === text)) this.gestures.told(desk.say("name_taken", { name: text }));
      else void this.make((each) => doc.rename(each, at, text));
    });
    const remove = button(desk.say("remove_node", { node: name }), () =>
      void this.make((each) => doc.removeNode(each, at), (findings) =>
        new Map([...findings].flatMap(([node, finding]) => (node === at ? [] : [[node - Number(node > at), finding]]))),
      ),
    );
    remove.id = "remove-node";
    return [
      choose, rename, made("div", "", "buttons", remove),
      made("h3", desk.say("states")), ...this.states(document, states),
      made("h3", desk.say("parents")), ...this.parents(document, parents),
      made("h3", desk.say("table_of", { node: name })), ...this.table(document),
      ...this.noisyOr(document),
    ];
  }

  /** A field with its name before it; a change is taken when it is left, if there is a text in it. */
  private field(id: string, name: string, value: string, done: (text: string) => void): HTMLLabelElement {
    const input = made("input");
    input.id = id;
    input.type = "text";
    input.value = value;
    input.maxLength = 200;
    input.addEventListener("change", () => {
      const text = input.value.trim();
      if (text === "" || text === value) input.value = value;
      else done(text);
    });
    return made("label", "", "choose", made("span", name), input);
  }

  private states(document: NetworkDocument, states: string[]): Node[] {
    const { desk, at } = this;
    const without = (findings: Findings) => new Map([...findings].filter(([node]) => node !== at));
    const rows = states.map((state, k) => {
      const field = this.field(`state-${k}`, desk.say("nth_state", { n: k + 1 }), state, (text) => {
        if (states.includes(text)) this.gestures.told(desk.say("name_taken", { name: text }));
        else void this.make((each) => doc.renameState(each, at, k, text));
      });
      const gone = button("×", () => void this.make((each) => doc.removeState(each, at, k), without));
      gone.setAttribute("aria-label", desk.say("remove_state", { state }));
      gone.disabled = states.length < 2;
      field.append(gone);
      return field;
    });
    const add = button(desk.say("add_state"), () => {
      const children = document.nodes.flatMap(({ parents }, k) => (parents.includes(at) ? [k] : []));
      const grown = { ...document, nodes: document.nodes.map((node, k) => (k === at ? { ...node, states: [...states, ""] } : node)) };
      const sizes = [at, ...children].map((node): [number, number] => [doc.cells(grown, node), node]);
      const [cells, largest] = sizes.reduce((a, b) => (b[0] > a[0] ? b : a));
      this.sized(cells, document.nodes[largest].name, (each) => doc.addState(each, at, doc.free(states, desk.say("state"))), without);
    });
    add.id = "add-state";
    return [...rows, made("div", "", "buttons", add)];
  }

  private parents(document: NetworkDocument, parents: number[]): Node[] {
    const { desk, at } = this;
    const rows = parents.map((parent) => {
      const { name } = document.nodes[parent];
      const gone = button("×", () => void this.make((each) => doc.removeArc(each, parent, at)));
      gone.setAttribute("aria-label", desk.say("remove_parent", { node: name }));
      return made("div", "", "line", made("span", name), gone);
    });
    const others = document.nodes.flatMap(({ name }, k): [string, string][] => (k === at || parents.includes(k) ? [] : [[String(k), name]]));
    if (others.length === 0) return rows;
    const add = chooser("add-parent", desk.say("add_parent"), [["", "…"], ...others], "", (value) => void this.link(Number(value), at));
    for (const option of add.querySelectorAll("option")) {
      if (option.value === "" || !doc.leads(document, at, Number(option.value))) continue;
      option.disabled = true;
      option.textContent += ` (${desk.say("would_cycle")})`;
    }
    return [...rows, add];
  }

  private table(document: NetworkDocument): Node[] {
    const { desk, at } = this;
    const { states, parents, table } = document.nodes[at];
    const hint = made("p", desk.say(states.length === 2 ? "complement_hint" : "sum_hint"), "quiet");
    const problem = made("p", "", "problem");
    problem.setAttribute("role", "alert");
    const body = table.slice(this.first, this.first + ROWS_SHOWN).map((row, k) => this.row(document, this.first + k, row, problem));
    const given = parents.map((parent) => document.nodes[parent].name);
    const heads = [...given, ...states, desk.say("sum")].map((head, k) => {
      const cell = made("th", head, k < given.length ? "" : "number");
      cell.scope = "col";
      return cell;
    });
    const figures = made("table", "", "figures cpt", made("thead", "", "", made("tr", "", "", ...heads)), made("tbody", "", "", ...body));
    const pages: Node[] = [];
    if (table.length > ROWS_SHOWN) {
      const turn = (by: number) => {
        this.first = Math.max(0, Math.min(this.first + by, table.length - 1));
        desk.again();
      };
      const shown = desk.say("rows_shown", { from: this.first + 1, to: Math.min(table.length, this.first + ROWS_SHOWN), n: table.length });
      const [back, on] = [button("←", () => turn(-ROWS_SHOWN)), button("→", () => turn(ROWS_SHOWN))];
      back.setAttribute("aria-label", desk.say("earlier_rows"));
      on.setAttribute("aria-label", desk.say("later_rows"));
      [back.disabled, on.disabled] = [this.first === 0, this.first + ROWS_SHOWN >= table.length];
      pages.push(made("div", "", "line", made("span", shown), back, on));
    }
    const scroll = made("div", "", "scroll", figures);
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", desk.say("table_of", { node: document.nodes[at].name }));
    return [hint, scroll, problem, ...pages];
  }

  /** A row of the table. What was typed is kept until it adds up; the other number of two is filled in at once. */
  private row(document: NetworkDocument, at: number, row: number[], problem: HTMLElement): HTMLTableRowElement {
    const { desk } = this;
    const node = this.at;
    const { name, states, parents } = document.nodes[node];
    const configuration = doc.configuration(document, parents, at);
    const given = configuration.map((state, k) => made("td", document.nodes[parents[k]].states[state]));
    const key = JSON.stringify([name, states, parents, at]);
    const texts = this.drafts.get(key) ?? row.map(short);
    const sum = made("td", "", "number");
    const take = (numbers: number[]) => {
      this.drafts.delete(key);
      void this.make((each) => doc.setRow(each, node, new Map(parents.map((parent, k) => [parent, configuration[k]])), numbers));
    };
    const inputs = states.map((state, k) => {
      const input = made("input");
      input.id = `cell-${at}-${k}`;
      input.inputMode = "decimal";
      input.value = texts[k];
      const where = desk.speaker.listed(parents.map((parent, p) => `${document.nodes[parent].name} = ${given[p].textContent}`));
      input.setAttribute("aria-label", where ? `${state} | ${where}` : state);
      input.addEventListener("change", () => {
        const numbers = inputs.map((each) => doc.typed(each.value));
        const wrong = !(numbers[k] >= 0 && numbers[k] <= 1);
        input.toggleAttribute("aria-invalid", wrong);
        problem.textContent = wrong ? desk.say("not_probability", { text: input.value }) : "";
        if (wrong) return;
        if (states.length === 2) {
          take(k === 0 ? [numbers[0], 1 - numbers[0]] : [1 - numbers[1], numbers[1]]);
          return;
        }
        this.drafts.set(key, inputs.map((each) => each.value));
        judge();
      });
      return input;
    });
    /** Take a row that adds up; otherwise say what is left, and offer to mend it. */
    const judge = () => {
      const numbers = inputs.map((each) => doc.typed(each.value));
      const whole = numbers.reduce((a, b) => a + b, 0);
      sum.replaceChildren(short(whole));
      if (Math.abs(whole - 1) <= 1e-9) {
        if (this.drafts.has(key)) take(numbers);
        return;
      }
      const last = numbers.length - 1;
      const rest = 1 - (whole - numbers[last]);
      if (rest >= 0) sum.append(button(desk.say("fill_up"), () => take(numbers.map((p, k) => (k === last ? rest : p)))));
      if (whole > 0) sum.append(button(desk.say("scale_row"), () => take(numbers.map((p) => p / whole))));
    };
    if (this.drafts.has(key)) judge();
    else sum.textContent = "1";
    return made("tr", "", "", ...given, ...inputs.map((input) => made("td", "", "number", input)), sum);
  }

  /** A table from a few numbers: how likely each cause alone produces the effect. */
  private noisyOr(document: NetworkDocument): Node[] {
    const { desk, at } = this;
    const { states, parents, name } = document.nodes[at];
    if (states.length !== 2 || parents.length === 0) return [];
    let present = 1;
    const causes = parents.map((parent) => ({ state: document.nodes[parent].states.length - 1, p: NaN }));
    let leak = 0;
    const probability = (id: string, label: string, value: string, done: (p: number) => void) => {
      const input = made("input");
      input.id = id;
      input.inputMode = "decimal";
      input.value = value;
      input.addEventListener("input", () => done(doc.typed(input.value)));
      return made("label", "", "choose long", made("span", label), input);
    };
    const problem = made("p", "", "problem");
    problem.setAttribute("role", "alert");
    const fields = parents.flatMap((parent, k) => {
      const cause = document.nodes[parent];
      const options = cause.states.map((state, s): [string, string] => [String(s), state]);
      return [
        chooser(`cause-${k}`, desk.say("cause_present", { node: cause.name }), options, String(causes[k].state), (value) => (causes[k].state = Number(value))),
        probability(`alone-${k}`, desk.say("alone_causes", { cause: cause.name, effect: name }), "", (p) => (causes[k].p = p)),
      ];
    });
    const fill = button(desk.say("fill_table"), () => {
      if (![leak, ...causes.map((cause) => cause.p)].every((p) => p >= 0 && p <= 1)) {
        problem.textContent = desk.say("not_probability", { text: desk.say("each_cause") });
        return;
      }
      const chosen = present;
      void this.make((each) => doc.setTable(each, at, doc.noisyOr(each, at, chosen, causes, leak)));
    });
    fill.id = "noisy-or";
    const effect = chooser("effect", desk.say("cause_present", { node: name }), states.map((state, k) => [String(k), state]), "1", (value) => (present = Number(value)));
    const content = made("details", "", "", made("summary", desk.say("noisy_or")), made("p", desk.say("noisy_or_hint"), "quiet"), effect, ...fields,
      probability("leak", desk.say("leak"), "0", (p) => (leak = p)), made("div", "", "buttons", fill), problem);
    return [content];
  }

  private saving(document: NetworkDocument): Node[] {
    const { desk } = this;
    const name = this.field("doc-name", desk.say("name"), document.name, (text) => void this.make((each) => ({ ...each, name: text })));
    let format = desk.network.formats![0];
    const formats = desk.network.formats!.map((each): [string, string] => [each, each]);
    const write = button(desk.say("write"), () => void this.gestures.write(format));
    write.id = "write";
    return [made("h3", desk.say("network_file")), name, chooser("format", desk.say("format"), formats, format, (value) => (format = value)), made("div", "", "buttons", write)];
  }
}
