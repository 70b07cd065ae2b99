// The panel beside the canvas: which question is open, and what all questions share.
import { Classifier } from "./classifier";
import { Decide } from "./decide";
import { Editor, type EditGestures } from "./edit";
import { button, chooser, made, part } from "./elements";
import { Refusal, type Finding, type Findings, type Network, type Session } from "./model";
import { Paths } from "./paths";
import { Questions } from "./questions";
import { Sensitivity } from "./sensitivity";
import { View, type ViewGestures } from "./view";
import type { Speaker } from "./words";

export interface PanelGestures {
  goTo(node: number): void;
  restore(findings: Findings): Promise<void>;
  set(node: number, finding: Finding | null): Promise<void>;
  told(error: unknown): void;
  resized(): void;
  /** Mark the nodes of a path on the canvas; null: none. */
  trail(nodes: readonly number[] | null): void;
  view: ViewGestures;
  editor: EditGestures;
}

const KINDS = ["edit", "view", "paths", "next", "scenarios", "explanation", "sensitivity", "decide", "contributions", "nomogram", "counts"] as const;
type Kind = (typeof KINDS)[number];

/** What a question is asked with: the network, the findings, the node that one wants to know, and the words. */
export class Desk {
  target: number;

  constructor(
    readonly network: Network,
    readonly session: Session,
    readonly speaker: Speaker,
    private gestures: PanelGestures,
    /** Show the open question anew. */
    readonly again: () => void,
  ) {
    this.target = this.first();
  }

  /** The node that is asked about at first. */
  first(): number {
    const { network } = this;
    // What the story watches; else a root, which is more often what one wants to know than an effect.
    const roots = new Set(network.nodes.keys());
    for (const [, to] of network.arcs) roots.delete(to);
    const states = (node: number) => network.nodes[node].states !== null;
    return network.classifier?.target ?? network.story?.at(-1)?.watch[0] ?? [...roots].find(states) ?? Math.max(0, network.nodes.findIndex((node) => node.states));
  }

  say(key: string, values: Record<string, string | number> = {}): string {
    return this.speaker.say(key, values);
  }

  get restore() {
    return this.gestures.restore;
  }

  get set() {
    return this.gestures.set;
  }

  /** Say what went wrong. */
  told(error: unknown): void {
    this.gestures.told(error);
  }

  goTo(node: number): void {
    this.gestures.goTo(node);
  }

  nodeLink(node: number): HTMLButtonElement {
    return button(this.network.nodes[node].name, () => this.goTo(node), "link");
  }

  /** Choose the node that the questions are about; for some of them it may be continuous. */
  targetChooser(any = false): HTMLLabelElement {
    const options = this.network.nodes.flatMap(({ name, states }, node): [string, string][] =>
      states === null && !any ? [] : [[String(node), name]],
    );
    return chooser("target", this.say(any ? "node_title" : "target"), options, String(this.target), (value) => {
      this.target = Number(value);
      this.again();
    });
  }

  /** Choose one state of a node. */
  stateChooser(
    id: string, node: number, chosen: number, done: (state: number) => void, name = this.say("state"),
  ): HTMLLabelElement {
    const options = this.network.nodes[node].states!.map((state, k): [string, string] => [String(k), state]);
    return chooser(id, name, options, String(chosen), (value) => {
      done(Number(value));
      this.again();
    });
  }
}

/** A field that is in use keeps the focus, and what is selected in it, when the list around it is made anew. */
function heldIn(body: HTMLElement): () => void {
  const held = document.activeElement;
  if (!(held instanceof HTMLElement) || !held.id || !body.contains(held)) return () => {};
  const [from, to, length] = held instanceof HTMLInputElement ? [held.selectionStart, held.selectionEnd, held.value.length] : [null, null, 0];
  return () => {
    const found = document.getElementById(held.id);
    found?.focus();
    if (!(found instanceof HTMLInputElement) || from === null || to === null) return;
    if (from === 0 && to === length) found.select();
    else found.setSelectionRange(from, to);
  };
}

export class Panels {
  private open: Kind | null = null;
  readonly desk: Desk;
  private readonly view: View;
  readonly editor: Editor;
  private readonly shown: Record<Kind, () => Node[] | Promise<Node[]>>;
  private readonly questions: Questions;
  /** Grows with each showing, so that an answer that comes late is not shown. */
  private turn = 0;
  /** A text is being typed in the panel: it is not made anew under the user's hands, but when the field is left. */
  private isTyping = false;
  private isBehind = false;

  constructor(
    network: Network,
    session: Session,
    private speaker: Speaker,
    private gestures: PanelGestures,
  ) {
    this.desk = new Desk(network, session, speaker, gestures, () => void this.show());
    const questions = (this.questions = new Questions(this.desk));
    const sensitivity = new Sensitivity(this.desk);
    const decide = new Decide(this.desk);
    const classifier = new Classifier(this.desk);
    const paths = new Paths(this.desk, (nodes) => gestures.trail(nodes));
    this.view = new View(this.desk, gestures.view);
    this.editor = new Editor(this.desk, gestures.editor);
    // What asks about the states of a node needs one that has states.
    const some = (panel: () => Node[] | Promise<Node[]>) => () =>
      network.nodes.some(({ states }) => states) ? panel() : [made("p", speaker.say("no_states"))];
    this.shown = {
      edit: () => this.editor.panel(),
      view: () => this.view.panel(),
      paths: () => paths.panel(),
      next: some(() => questions.next()),
      scenarios: () => questions.compared(),
      explanation: () => questions.explained(),
      sensitivity: some(() => sensitivity.tornado()),
      decide: some(() => decide.risks()),
      contributions: () => classifier.contributions(),
      nomogram: () => classifier.nomogram(),
      counts: () => classifier.counts(),
    };
    for (const kind of KINDS) part(`open-${kind}`).addEventListener("click", () => this.toggle(kind));
    this.offer();
    part("open-edit").hidden = !network.edits || session.source.editing === null;
    part("panel-close").addEventListener("click", () => this.close());
    const body = part("panel-body");
    body.addEventListener("input", ({ target }) => {
      if (target instanceof HTMLInputElement && ["text", "search", "number"].includes(target.type)) this.isTyping = true;
    });
    for (const end of ["change", "focusout"]) body.addEventListener(end, () => this.typed());
  }

  private typed(): void {
    this.isTyping = false;
    if (!this.isBehind) return;
    this.isBehind = false;
    void this.show();
  }

  /** Offer the questions that are those of a classifier. */
  private offer(): void {
    const { network, session } = this.desk;
    const rows = network.classifier;
    part("open-contributions").hidden = !rows || session.source.contributions === null;
    part("open-nomogram").hidden = !rows?.nomogram || session.source.nomogram === null;
    part("open-counts").hidden = !rows || session.source.counts === null;
    if (this.open && part(`open-${this.open}`).hidden) this.close();
  }

  /** Whether the network is being edited. */
  get isEditing(): boolean {
    return this.open === "edit";
  }

  /** The nodes are others. */
  renew(): void {
    this.offer();
    this.view.renew();
    this.questions.renew();
    this.desk.target = Math.min(this.desk.target, Math.max(0, this.desk.network.nodes.length - 1));
    if (!this.desk.network.nodes[this.desk.target]?.states) this.desk.target = this.desk.first();
  }

  /** Show the paths to a node. */
  showPaths(node: number): void {
    this.desk.target = node;
    if (this.open === "paths") void this.show();
    else this.toggle("paths");
  }

  toggle(kind: Kind): void {
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
    this.gestures.trail(null);
    document.body.classList.toggle("editing", this.isEditing);
    for (const kind of KINDS) part(`open-${kind}`).setAttribute("aria-expanded", String(kind === this.open));
    this.gestures.resized();
    [this.isTyping, this.isBehind] = [false, false];
    part("panel-body").replaceChildren();
    void this.show();
  }

  /** Show what is open, for the findings of now. */
  async show(): Promise<void> {
    const kind = this.open;
    if (this.view.isFocused) this.view.follow();
    if (kind === null) return;
    const turn = ++this.turn;
    part("panel-title").textContent = this.speaker.say(kind);
    try {
      const content = await this.shown[kind]();
      if (turn !== this.turn) return;
      if (this.isTyping) {
        this.isBehind = true;
        return;
      }
      const body = part("panel-body");
      const at = body.scrollTop;
      const again = heldIn(body);
      body.replaceChildren(...content);
      body.scrollTop = at;
      again();
    } catch (error) {
      if (turn !== this.turn) return;
      const body = part("panel-body");
      // A panel that is empty says itself why.
      if (error instanceof Refusal && error.conflict === null && !body.hasChildNodes()) body.append(made("p", error.message, "warning"));
      else this.gestures.told(error);
    }
  }
}
