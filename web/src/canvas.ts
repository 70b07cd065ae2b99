// The cards, the arcs, and the window onto them. Everything is SVG of our own, and every name is a text node. Networks
// that are too large for the window are shown as pills, which turn into cards as one zooms in.
import { Density } from "./density";
import type { Arrangement, Direction, Layouts, Request } from "./layers";
import { LEAST_MOVE, percent, points, short, spread, type Belief, type Finding, type Measure, type Network, type Session } from "./model";
import { around, joined, type Box, type KeptLayout } from "./placing";
import type { Speaker } from "./words";

const NS = "http://www.w3.org/2000/svg";
// In a narrow window cards are narrower, so that more of them can be read at once.
const NARROW = window.innerWidth < 600;
// Cards are wider where names are long, up to a limit; all are equally wide.
const WIDTH = NARROW ? 196 : 252;
const MOST_WIDER = NARROW ? 64 : 96;
const TITLE = 32;
const ROW = 24;
const FOOT = 4;
// A density, its axis, and the numbers below.
const DENSITY = { y: 4, height: 44, axis: 16 };
const MEASURE = DENSITY.y + DENSITY.height + DENSITY.axis + ROW;
const LABEL = { x: NARROW ? 8 : 12, width: NARROW ? 50 : 72 };
const BAR = { x: NARROW ? 62 : 90, width: NARROW ? 36 : 60, height: 12 };
const PERCENT = NARROW ? 144 : 196;
// Where a click asks why: short of the middle of the row, which a thumb hits.
const ASKED = NARROW ? 30 : 44;
const CHANGE = NARROW ? 4 : 8;
// What stands beside the title: its margin and two tools.
const BESIDE_TITLE = 76;
const PILL = { width: NARROW ? 124 : 148, height: 36, bar: { y: 23, height: 6, inset: 8 } };
const MARGIN = 16;
// How far a key moves a card.
const STEP = 16;
const MOST_ZOOM = 3;
const LEAST_ZOOM = 0.05;
// On a small window the whole network may be too small to read: it starts at this size, and can be moved.
const LEAST_AT_START = 0.5;
// Below this size cards cannot be read and become pills, which become cards again a little above it. A pill and a card
// are equally wide on the screen at that moment.
const PILLS_BELOW = 0.5;
const CARDS_ABOVE = 0.58;
// More cards than these are drawn in parts: first what is in the window, then so many in each frame.
const MOST_AT_ONCE = 400;
const IN_A_FRAME = 400;
const DRAG = 5;
const LONG_TOUCH = 500;

export interface Gestures {
  observe(node: number, state: number): void;
  exclude(node: number, state: number): void;
  weigh(node: number): void;
  /** Null where nobody can say. */
  why: ((node: number) => void) | null;
  /** Give the states likelihoods that make one of them so probable. */
  pull(node: number, state: number, probability: number): void;
  /** Draw an arc; null where the network cannot be edited. */
  link: ((from: number, to: number) => void) | null;
  /** A card was pressed while the network is edited. */
  chosen(node: number): void;
}

interface Row {
  group: SVGGElement;
  bar: SVGRectElement | null;
  /** The outline of what the bar would be without a finding. */
  would: SVGRectElement | null;
  /** Of an estimate: two standard errors to each side. Made when there is one. */
  whisker: SVGLineElement | null;
  /** Of a continuous node. */
  density: Density | null;
  percent: SVGTextElement;
  change: SVGTextElement;
}

interface Card {
  group: SVGGElement;
  rows: Row[];
  tools: SVGGElement[];
  height: number;
  pill: { group: SVGGElement; title: SVGTextElement; shares: SVGRectElement[] } | null;
}

function made<K extends keyof SVGElementTagNameMap>(
  kind: K,
  attributes: Record<string, string | number>,
  parent: Element,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  parent.append(element);
  return element;
}

const ruler = document.createElement("canvas").getContext("2d")!;

/** How wide a text is in the font of the cards. */
function wide(text: string, weight = ""): number {
  ruler.font = `${weight} 13px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

/** Cut a text to a width; the whole of it is in a title. */
function fitted(element: SVGTextElement, text: string, width: number, weight = ""): void {
  let shown = text;
  if (wide(text, weight) > width) {
    const signs = [...text];
    let low = 0;
    let high = signs.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (ruler.measureText(signs.slice(0, middle).join("") + "…").width <= width) low = middle;
      else high = middle - 1;
    }
    shown = signs.slice(0, low).join("") + "…";
  }
  element.textContent = shown;
}

export class Canvas {
  readonly cards: Card[] = [];
  private world: SVGGElement;
  private layouts: Layouts = { near: { width: 200, height: 200, places: [], lines: [] }, far: null };
  /** The cards and the pills that were moved by hand. */
  private moved = { near: new Set<number>(), far: new Set<number>() };
  private direction: Direction = "auto";
  private isFar = false;
  private view = { x: 0, y: 0, scale: 1 };
  private arcs: { line: SVGPathElement; ends: [number, number] }[] = [];
  private pointers = new Map<number, { x: number; y: number }>();
  private dragged = false;
  /** The bar that is being drawn to where it should be. */
  private pulled: { node: number; state: number; probability: number } | null = null;
  /** The card that is being moved. */
  private carried: number | null = null;
  /** The arc that is being drawn. */
  private drawn: { from: number; to: number | null; line: SVGPathElement } | null = null;
  private shown = { width: 0, height: 0 };
  /** What the window goes on showing when it becomes larger or smaller: the whole, or where it began. */
  private framing: "whole" | "start" | null = null;
  private session: Session | null = null;
  /** The frame in which the rest of a large network is drawn. */
  private drawing = 0;
  /** How much wider the cards are, and the names of states in them. */
  private wider = 0;

  constructor(
    private svg: SVGSVGElement,
    private network: Network,
    private speaker: Speaker,
    private gestures: Gestures,
  ) {
    const arrow = made("marker", {
      id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse",
      markerUnits: "userSpaceOnUse",
    }, made("defs", {}, svg));
    made("path", { d: "M0 0 8 4 0 8z", class: "arrow" }, arrow);
    this.world = made("g", {}, svg);
    this.listen();
    // The window changes, and so do the bands above the canvas: findings and stories may take more lines.
    new ResizeObserver(() => this.resized()).observe(svg);
    // What is in the window is printed, however large the paper is.
    window.addEventListener("beforeprint", () => svg.setAttribute("viewBox", `0 0 ${svg.clientWidth} ${svg.clientHeight}`));
    window.addEventListener("afterprint", () => svg.removeAttribute("viewBox"));
  }

  private get width(): number {
    return WIDTH + this.wider;
  }

  /** A pill and a card are equally wide on the screen where one becomes the other. */
  private get pillRatio(): number {
    return PILL.width / this.width;
  }

  /** How much wider cards must be for the names in them; a state that is observed is bold. */
  private needed(): number {
    const missing = this.network.nodes.flatMap(({ name, states }) => [
      wide(name, "600") - (WIDTH - BESIDE_TITLE), ...(states ?? []).map((state) => wide(state, "600") - LABEL.width),
    ]);
    return Math.min(MOST_WIDER, Math.ceil(missing.reduce((most, each) => Math.max(most, each), 0) / 4) * 4);
  }

  /** What a layout of the network is asked with. */
  request(direction: Direction): Request {
    const { arcs, directed } = this.network;
    this.wider = this.needed();
    return {
      heights: this.heights(),
      // Pairs without a direction may form cycles; layers need an order.
      arcs: arcs.map(([a, b]): [number, number] => (directed || a < b ? [a, b] : [b, a])),
      window: { width: this.svg.clientWidth, height: this.svg.clientHeight },
      cards: { card: this.width, beside: NARROW ? 12 : 24, between: NARROW ? 32 : 48, margin: MARGIN },
      pills: { card: PILL.width, height: PILL.height, beside: 12, between: 24, margin: MARGIN },
      direction,
    };
  }

  private heights(): number[] {
    return this.network.nodes.map(({ states }) => TITLE + (states ? ROW * states.length : MEASURE) + FOOT);
  }

  /** Make all cards anew where a layout puts them, except for those that were moved by hand. */
  lay(layouts: Layouts, kept: KeptLayout, view: "begin" | "stay" = "begin"): void {
    this.layouts = layouts;
    this.direction = kept.direction;
    this.session = null;
    cancelAnimationFrame(this.drawing);
    this.svg.classList.toggle("large", this.network.nodes.length > MOST_AT_ONCE);
    this.cards.length = 0;
    this.world.replaceChildren();
    this.moved = { near: new Set(), far: new Set() };
    for (const [places, given, moved] of [
      [layouts.near.places, kept.cards, this.moved.near],
      [layouts.far?.places ?? [], kept.pills, this.moved.far],
    ] as const) {
      for (const [node, x, y] of given) {
        if (node >= places.length) continue;
        places[node] = { x, y };
        moved.add(node);
      }
    }
    const { nodes, arcs, directed } = this.network;
    const lines = made("g", { "aria-hidden": "true" }, this.world);
    this.arcs = arcs.map((ends) => {
      const line = made("path", { class: "arc" }, lines);
      if (directed) line.setAttribute("marker-end", "url(#arrow)");
      return { line, ends };
    });
    const heights = this.heights();
    nodes.forEach((_, node) => this.cards.push(this.card(node, heights[node])));
    this.isFar = layouts.far !== null && (view === "begin" || this.isFar);
    this.spread();
    if (view === "begin") this.begin();
    else if (this.framing === "whole") this.fit();
    else this.place();
  }

  /** What was moved by hand. */
  kept(): KeptLayout {
    const listed = (places: { x: number; y: number }[], moved: Set<number>) =>
      places.flatMap(({ x, y }, node): [number, number, number][] =>
        moved.has(node) ? [[node, Math.round(x), Math.round(y)]] : [],
      );
    return {
      direction: this.direction,
      cards: listed(this.layouts.near.places, this.moved.near),
      pills: listed(this.layouts.far?.places ?? [], this.moved.far),
    };
  }

  private get layout(): Arrangement {
    return this.isFar ? this.layouts.far! : this.layouts.near;
  }

  /** Put cards or pills, and the arcs between them, where they belong. */
  private spread(): void {
    const { places } = this.layout;
    this.svg.classList.toggle("far", this.isFar);
    this.cards.forEach(({ group, pill }, node) => {
      const { x, y } = places[node];
      ((this.isFar && pill?.group) || group).setAttribute("transform", `translate(${x} ${y})`);
    });
    this.arcs.forEach((_, arc) => this.connect(arc));
    if (this.session) this.show(this.session);
  }

  /** Draw an arc: as it was laid out, or straight to where a card was moved. */
  private connect(arc: number): void {
    const { line, ends } = this.arcs[arc];
    const moved = this.isFar ? this.moved.far : this.moved.near;
    const laid = ends.some((node) => moved.has(node)) ? undefined : this.layout.lines[arc];
    line.setAttribute("d", laid ?? joined(this.extent(ends[0]), this.extent(ends[1])));
  }

  /** Move a card, or a pill, by so much of the drawing. */
  shift(node: number, dx: number, dy: number): void {
    const { places } = this.layout;
    const { x, y } = places[node];
    places[node] = { x: x + dx, y: y + dy };
    (this.isFar ? this.moved.far : this.moved.near).add(node);
    const { group, pill } = this.cards[node];
    ((this.isFar && pill?.group) || group).setAttribute("transform", `translate(${x + dx} ${y + dy})`);
    this.arcs.forEach(({ ends }, arc) => {
      if (ends.includes(node)) this.connect(arc);
    });
  }

  /** Move a card by a key. */
  carry(node: number, key: string): void {
    const by = key === "ArrowLeft" || key === "ArrowUp" ? -STEP : STEP;
    const aside = key === "ArrowLeft" || key === "ArrowRight";
    this.shift(node, aside ? by : 0, aside ? 0 : by);
  }

  /** Show these nodes and step back from all others; null shows all alike. */
  single(nodes: ReadonlySet<number> | null): void {
    this.cards.forEach((_, node) => {
      for (const part of this.parts(node)) part.classList.toggle("aside", nodes !== null && !nodes.has(node));
    });
    for (const { line, ends } of this.arcs) {
      line.classList.toggle("aside", nodes !== null && !ends.every((node) => nodes.has(node)));
    }
    if (nodes === null || nodes.size === 0) return;
    this.framing = null;
    this.frame([...nodes].map((node) => this.extent(node)));
  }

  /** Mark the nodes of a path and the arcs between them; null marks none. */
  trail(nodes: readonly number[] | null): void {
    const on = new Set(nodes);
    this.cards.forEach((_, node) => {
      for (const part of this.parts(node)) part.classList.toggle("trail", on.has(node));
    });
    const steps = new Set((nodes ?? []).slice(1).flatMap((to, k) => [`${nodes![k]} ${to}`, `${to} ${nodes![k]}`]));
    for (const { line, ends } of this.arcs) line.classList.toggle("trail", steps.has(ends.join(" ")));
  }

  private card(node: number, height: number): Card {
    const { name, states } = this.network.nodes[node];
    const { why } = this.gestures;
    const group = made("g", { class: "card", role: "group" }, this.world);
    group.dataset.node = String(node);
    group.setAttribute("aria-label", name);
    made("rect", { class: "box", width: this.width, height, rx: 6 }, group);
    const title = made("text", { class: "title", x: LABEL.x, y: 21 }, group);
    fitted(title, name, this.width - BESIDE_TITLE, "600");
    made("title", {}, group).textContent = name;
    const rows = (states ?? [null]).map((state, place) => this.row(group, node, state, place));
    rows[0].group.setAttribute("tabindex", "0");
    const tools = [
      this.tool(group, this.width - (states && why ? 56 : 30), "≈", () => this.gestures.weigh(node)),
      ...(states && why ? [this.tool(group, this.width - 30, "?", () => why(node))] : []),
    ];
    if (this.gestures.link) this.handle(group, height);
    const near = (is: boolean) => () => this.lit(node, is);
    const pill = this.layouts.far ? this.pill(node) : null;
    for (const part of pill ? [group, pill.group] : [group]) {
      for (const [kind, is] of [["pointerenter", true], ["pointerleave", false], ["focusin", true], ["focusout", false]] as const) {
        part.addEventListener(kind, near(is));
      }
    }
    return { group, rows, tools, height, pill };
  }

  /** A card that is too small to be read: its name, and a bar that is divided among its states. */
  private pill(node: number): NonNullable<Card["pill"]> {
    const group = made("g", { class: "pill", role: "button", tabindex: 0 }, this.world);
    group.dataset.node = String(node);
    made("rect", { class: "box", width: PILL.width, height: PILL.height, rx: 8 }, group);
    const title = made("text", { class: "label", x: 8, y: 16, "aria-hidden": "true" }, group);
    made("title", { "aria-hidden": "true" }, group).textContent = this.network.nodes[node].name;
    const { y, height } = PILL.bar;
    const shares = (this.network.nodes[node].states ?? []).map((_, state) =>
      made("rect", { class: `share share-${state % 4}`, y, height }, group),
    );
    group.addEventListener("click", () => this.open(node));
    return { group, title, shares };
  }

  /** Mark the arcs of a card under the pointer or with the focus. */
  private lit(node: number, is: boolean): void {
    for (const { line, ends } of this.arcs) if (ends.includes(node)) line.classList.toggle("lit", is);
  }

  private tool(parent: SVGGElement, x: number, sign: string, done: () => void): SVGGElement {
    const group = made("g", { class: "tool", role: "button", tabindex: -1, transform: `translate(${x} 4)` }, parent);
    made("rect", { class: "hit", width: 24, height: 24, rx: 4 }, group);
    made("text", { x: 12, y: 17, "aria-hidden": "true" }, group).textContent = sign;
    group.addEventListener("click", done);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      done();
    });
    return group;
  }

  /** Where an arc begins that is drawn to another card; only while the network is edited. */
  private handle(parent: SVGGElement, height: number): void {
    const group = made("g", { class: "handle", transform: `translate(${this.width / 2} ${height + 8})`, "aria-hidden": "true" }, parent);
    made("circle", { r: 10 }, group);
    made("path", { d: "M0 -5V5M-4 1 0 5 4 1" }, group);
  }

  private row(parent: SVGGElement, node: number, state: string | null, place: number): Row {
    const group = made(
      "g", { class: "row", role: "button", tabindex: -1, transform: `translate(0 ${TITLE + ROW * place})` }, parent,
    );
    group.dataset.node = String(node);
    group.dataset.state = String(place);
    made("rect", { class: "hit", x: 4, width: this.width - 8, height: state === null ? MEASURE : ROW, rx: 4 }, group);
    let density: Density | null = null;
    let bar: SVGRectElement | null = null;
    let would: SVGRectElement | null = null;
    if (state !== null) {
      // The label of the row says all that is written in it.
      fitted(made("text", { class: "label", x: LABEL.x, y: 16, "aria-hidden": "true" }, group), state, LABEL.width + this.wider, "600");
      made("title", { "aria-hidden": "true" }, group).textContent = state;
      const left = BAR.x + this.wider;
      const frame = { x: left, y: (ROW - BAR.height) / 2, height: BAR.height };
      made("rect", { class: "track", width: BAR.width, ...frame }, group);
      bar = made("rect", { class: "bar", width: 0, ...frame }, group);
      would = made("rect", { class: "would", width: 0, ...frame }, group);
      const prior = (this.network.beliefs[node] as number[])[place];
      const at = left + BAR.width * prior;
      made("rect", { class: "grip", x: left - 4, width: BAR.width + 8, height: ROW }, group);
      made("line", { class: "tick", x1: at, x2: at, y1: frame.y - 3, y2: frame.y + BAR.height + 3 }, group);
    }
    if (state === null) {
      const { y, height } = DENSITY;
      density = new Density(group, this.network.beliefs[node] as Measure, { x: LABEL.x, y, width: this.width - 2 * LABEL.x, height });
    }
    const y = state === null ? MEASURE - ROW + 16 : 16;
    const [kind, x] = state === null ? ["percent measure", LABEL.x] : ["percent", PERCENT + this.wider];
    // A click on a number asks where it comes from.
    if (state !== null && this.gestures.why) {
      made("rect", { class: "asked", x: x - ASKED, width: ASKED, height: ROW }, group);
    }
    const number = made("text", { class: kind, x, y, "aria-hidden": "true" }, group);
    const change = made("text", { class: "change", x: this.width - CHANGE, y, "aria-hidden": "true" }, group);
    group.addEventListener("click", (event) => {
      const isKnown = this.session?.findings.get(node)?.kind === "state";
      if ((event.target as Element).matches(".asked") && !event.shiftKey && !isKnown) this.gestures.why!(node);
      else this.pressed(node, place, event.shiftKey);
    });
    return { group, bar, would, whisker: null, density, percent: number, change };
  }

  pressed(node: number, state: number, shift: boolean): void {
    if (this.network.nodes[node].states === null) this.gestures.weigh(node);
    else if (shift) this.gestures.exclude(node, state);
    else this.gestures.observe(node, state);
  }

  /** Show the numbers of a session, in cards or in pills. Of a large network, what is in the window comes first. */
  show(session: Session): void {
    this.session = session;
    this.svg.classList.remove("preview");
    cancelAnimationFrame(this.drawing);
    const later: number[] = [];
    this.cards.forEach((_, node) => {
      if (this.isNear(node)) this.showNode(session, node);
      else later.push(node);
    });
    for (const { line, ends } of this.arcs) line.classList.toggle("near", ends.some((node) => session.findings.has(node)));
    const rest = () => {
      for (const node of later.splice(0, IN_A_FRAME)) this.showNode(session, node);
      this.svg.setAttribute("aria-busy", String(later.length > 0));
      if (later.length) this.drawing = requestAnimationFrame(rest);
    };
    this.svg.setAttribute("aria-busy", String(later.length > 0));
    if (later.length) this.drawing = requestAnimationFrame(rest);
  }

  /** Whether a node is drawn at once: of a large network only what is in the window. */
  private isNear(node: number): boolean {
    if (this.cards.length <= MOST_AT_ONCE) return true;
    const { x, y, width, height } = this.extent(node);
    const { scale } = this.view;
    const [left, top] = [x * scale + this.view.x, y * scale + this.view.y];
    const { width: across, height: down } = this.shown;
    return left + width * scale >= 0 && top + height * scale >= 0 && left <= across && top <= down;
  }

  private showNode({ beliefs, before, findings }: Session, node: number): void {
    const card = this.cards[node];
    const finding = findings.get(node);
    card.group.classList.toggle("seen", finding !== undefined);
    for (const part of this.parts(node)) part.classList.remove("clash");
    this.nameTools(card, node);
    const belief = beliefs[node];
    if (this.isFar) this.showPill(card, node, belief, finding);
    else if (Array.isArray(belief)) this.showStates(card, node, belief, finding);
    else this.showNumber(card, node, belief, before?.[node]);
  }

  private showPill({ pill }: Card, node: number, belief: Belief, finding: Finding | undefined): void {
    if (pill === null) return;
    const { name } = this.network.nodes[node];
    const told = finding ? this.speaker.told(node, finding) : name;
    const tip = pill.group.querySelector("title")!;
    if (tip.textContent !== told || !pill.title.textContent) fitted(pill.title, told, PILL.width - 16, finding ? "600" : "");
    tip.textContent = told;
    pill.group.classList.toggle("seen", finding !== undefined);
    let label = told;
    if (Array.isArray(belief)) {
      const room = PILL.width - 2 * PILL.bar.inset;
      let at = PILL.bar.inset;
      pill.shares.forEach((share, state) => {
        share.setAttribute("x", String(at));
        share.setAttribute("width", String(room * belief[state]));
        at += room * belief[state];
      });
      const most = belief.indexOf(Math.max(...belief));
      label = this.named(node, most);
    }
    pill.group.setAttribute("aria-label", this.speaker.say("pill", { what: label }));
  }

  private nameTools(card: Card, node: number): void {
    const { name, states } = this.network.nodes[node];
    const weigh = this.speaker.say(states ? "weigh" : "observe_number", { node: name });
    card.tools[0].setAttribute("aria-label", weigh);
    card.tools[1]?.setAttribute("aria-label", this.speaker.say("why_of", { node: name }));
  }

  private showStates(card: Card, node: number, belief: number[], finding: Finding | undefined): void {
    const { states } = this.network.nodes[node];
    const session = this.session!;
    card.rows.forEach((row, state) => {
      const error = session.error(node, state);
      const shown = percent(belief, state, error);
      row.bar!.setAttribute("width", String(BAR.width * belief[state]));
      row.percent.textContent = /^[\d.]+$/.test(shown) ? `${shown}%` : shown;
      const seen = finding?.kind === "state" && finding.state === state;
      const out = finding?.kind === "not" && finding.states.includes(state);
      row.group.classList.toggle("seen", seen);
      row.group.classList.toggle("out", out);
      row.group.setAttribute("aria-pressed", String(seen || out));
      const moved = session.moved(node, state);
      const way = moved === 0 ? "" : moved > 0 ? "▲" : "▼";
      // An estimate is told with its error; the way it went is a sign before it.
      row.change.textContent = error > 0 ? `${way}±${points(error)}` : way && `${way}${(100 * Math.abs(moved)).toFixed(1)}`;
      this.whisker(row, belief[state], error);
      const parts = [this.label(node, state)];
      if (seen) parts.push(this.speaker.say("observed"));
      if (out) parts.push(this.speaker.say("excluded"));
      row.group.setAttribute("aria-label", this.speaker.listed(parts));
      row.group.querySelector("title")!.textContent =
        `${states![state]} (${this.speaker.say("prior", { percent: percent(this.network.beliefs[node] as number[], state) })})`;
    });
  }

  /** Draw two standard errors to each side of an estimate. */
  private whisker(row: Row, p: number, error: number): void {
    if (error === 0 && row.whisker === null) return;
    row.whisker ??= made("line", { class: "whisker", y1: ROW / 2, y2: ROW / 2 }, row.group);
    const at = (share: number) => String(BAR.x + this.wider + BAR.width * Math.min(1, Math.max(0, share)));
    row.whisker.setAttribute("x1", at(p - 2 * error));
    row.whisker.setAttribute("x2", at(p + 2 * error));
  }

  private showNumber(card: Card, node: number, belief: Measure, before?: Belief): void {
    const [row] = card.rows;
    row.density!.show(belief);
    const mean = short(belief.mean);
    row.percent.textContent = belief.sd === 0 ? mean : `${mean} ± ${spread(belief.sd)}`;
    const moved = before === undefined ? 0 : belief.mean - (before as { mean: number }).mean;
    const error = this.session!.error(node);
    row.change.textContent = Math.abs(moved) > Math.max(1e-9 * Math.abs(belief.mean), 3 * error) ? (moved > 0 ? "▲" : "▼") : "";
    const told = { node: this.network.nodes[node].name, mean, sd: short(belief.sd), error: String(Number(error.toPrecision(2))) };
    row.group.setAttribute("aria-label", this.speaker.say(error > 0 ? "measured_about" : "measured", told));
  }

  /** Show beside the numbers what they would be; null ends it. */
  preview(beliefs: Belief[] | null): void {
    this.svg.classList.toggle("preview", beliefs !== null);
    if (beliefs === null) {
      if (this.session) this.show(this.session);
      return;
    }
    const now = this.session!.beliefs;
    this.cards.forEach((card, node) => {
      if (!this.isNear(node)) return;
      const [belief, current] = [beliefs[node], now[node]];
      card.rows.forEach((row, state) => {
        let told = "";
        if (Array.isArray(belief)) {
          const moves = Math.abs(belief[state] - (current as number[])[state]) >= LEAST_MOVE;
          if (moves) told = `→${percent(belief, state)}`;
          row.would!.setAttribute("width", String(moves ? BAR.width * belief[state] : 0));
        } else {
          const moves = Math.abs(belief.mean - (current as Measure).mean) > 1e-9 * Math.abs(belief.mean);
          if (moves) told = `→${short(belief.mean)}`;
          row.density!.would(moves || belief.sd !== (current as Measure).sd ? belief : null);
        }
        row.change.textContent = told;
      });
    });
  }

  /** A state in words, with its number and where it came from. */
  label(node: number, state: number): string {
    const moved = this.session!.moved(node, state);
    const now = this.named(node, state);
    if (moved === 0) return now;
    const before = percent(this.session!.before![node] as number[], state);
    return this.speaker.listed([now, this.speaker.say(moved > 0 ? "up" : "down", { before })]);
  }

  /** A state in words, with its number. */
  private named(node: number, state: number): string {
    const { name, states } = this.network.nodes[node];
    const error = this.session!.error(node, state);
    const shown = percent(this.session!.beliefs[node] as number[], state, error);
    const told = { node: name, state: states![state], percent: shown, error: points(error) };
    return this.speaker.say(error > 0 ? "row_about" : "row", told);
  }

  stale(is: boolean): void {
    this.svg.classList.toggle("stale", is);
  }

  /** Mark the nodes whose findings cannot all be true. */
  clash(nodes: number[]): void {
    for (const node of nodes) for (const part of this.parts(node)) part.classList.add("clash");
  }

  marked(nodes: ReadonlySet<number>): void {
    this.cards.forEach((_, node) => {
      for (const part of this.parts(node)) part.classList.toggle("found", nodes.has(node));
    });
  }

  /** Mark the row that is to be clicked, and bring it into the window when it is another one. */
  point(node: number | null, state: number): void {
    const row = node === null ? null : this.cards[node].rows[state].group;
    if (row?.classList.contains("wanted")) return;
    this.svg.querySelector(".wanted")?.classList.remove("wanted");
    row?.classList.add("wanted");
    if (node === null) return;
    if (this.isFar) this.approach(node);
    else this.reveal(node);
  }

  private parts(node: number): SVGGElement[] {
    const { group, pill } = this.cards[node];
    return pill ? [group, pill.group] : [group];
  }

  /** Give a row the focus; a pill, where cards are too small. */
  focus(node: number, state: number): void {
    const { rows, pill } = this.cards[node];
    const place = Math.min(state, rows.length - 1);
    if (this.framing === "start") this.framing = null;
    rows.forEach((row, each) => row.group.setAttribute("tabindex", each === place ? "0" : "-1"));
    (this.isFar && pill ? pill : rows[place]).group.focus({ preventScroll: true });
    this.reveal(node);
  }

  /** Move a card into the middle of the window; zoom in until a pill is a card. */
  approach(node: number): void {
    if (this.isFar) this.change(false, node, CARDS_ABOVE * 1.4);
    this.reveal(node, true);
  }

  open(node: number): void {
    this.approach(node);
    this.focus(node, 0);
  }

  private extent(node: number): Box {
    const { x, y } = this.layout.places[node];
    return this.isFar ? { x, y, width: PILL.width, height: PILL.height } : { x, y, width: this.width, height: this.cards[node].height };
  }

  /** Move the window so that a card lies in it. */
  reveal(node: number, centre = false): void {
    const { x, y, width, height } = this.extent(node);
    const { scale } = this.view;
    const { clientWidth, clientHeight } = this.svg;
    const left = x * scale + this.view.x;
    const top = y * scale + this.view.y;
    const inside = left >= 0 && top >= 0 && left + width * scale <= clientWidth && top + height * scale <= clientHeight;
    if (inside && !centre) return;
    this.framing = null;
    this.view.x = clientWidth / 2 - (x + width / 2) * scale;
    this.view.y = clientHeight / 2 - (y + height / 2) * scale;
    this.place();
  }

  /** Change between cards and pills; one of them stays where it is in the window. */
  private change(far: boolean, kept: number, scale: number): void {
    const before = this.extent(kept);
    const x = (before.x + before.width / 2) * this.view.scale + this.view.x;
    const y = (before.y + before.height / 2) * this.view.scale + this.view.y;
    this.isFar = far;
    this.spread();
    const after = this.extent(kept);
    this.view = { scale, x: x - (after.x + after.width / 2) * scale, y: y - (after.y + after.height / 2) * scale };
    this.place();
  }

  fit(): void {
    this.framing = "whole";
    const { clientWidth, clientHeight } = this.svg;
    const { near, far } = this.layouts;
    const isFar = far !== null && Math.min(clientWidth / near.width, clientHeight / near.height) < PILLS_BELOW;
    if (isFar !== this.isFar) {
      this.isFar = isFar;
      this.spread();
    }
    const { width, height } = this.layout;
    const moved = this.isFar ? this.moved.far : this.moved.near;
    if (moved.size) {
      this.frame(this.cards.map((_, node) => this.extent(node)));
      return;
    }
    const scale = Math.min(1.25, clientWidth / width, clientHeight / height);
    this.view = { scale, x: (clientWidth - width * scale) / 2, y: (clientHeight - height * scale) / 2 };
    this.place();
  }

  /** Move and zoom until the window holds these. */
  private frame(boxes: Box[]): void {
    const { clientWidth, clientHeight } = this.svg;
    const { x, y, width, height } = around(boxes, MARGIN);
    const scale = Math.max(LEAST_ZOOM, Math.min(1.25, clientWidth / width, clientHeight / height));
    this.view = { scale, x: clientWidth / 2 - (x + width / 2) * scale, y: clientHeight / 2 - (y + height / 2) * scale };
    this.place();
  }

  /** The window has become larger or smaller: what was in its middle stays there. */
  resized(): void {
    const { clientWidth, clientHeight } = this.svg;
    if (clientWidth === 0 || this.svg.hasAttribute("viewBox")) return; // hidden, or being printed
    const framing = this.cards.length ? this.framing : null;
    this.view.x += (clientWidth - this.shown.width) / 2;
    this.view.y += (clientHeight - this.shown.height) / 2;
    this.shown = { width: clientWidth, height: clientHeight };
    if (framing === "whole") this.fit();
    else if (framing === "start") this.begin();
    else this.place();
  }

  private begin(): void {
    this.shown = { width: this.svg.clientWidth, height: this.svg.clientHeight };
    this.fit();
    if (this.isFar || this.view.scale >= LEAST_AT_START || this.cards.length === 0) return;
    this.framing = null;
    // The upper middle, where there is a card: the roots of some networks lie far apart.
    const scale = LEAST_AT_START;
    this.view = { scale, x: (this.svg.clientWidth - this.layout.width * scale) / 2, y: 0 };
    this.place();
    this.reveal(this.nearest({ x: this.svg.clientWidth / 2, y: 0 }));
    this.framing = "start";
  }

  /** The card that is nearest to a point of the window. */
  private nearest(at: { x: number; y: number }): number {
    const { x, y, scale } = this.view;
    const away = this.cards.map((_, node) => {
      const place = this.extent(node);
      return Math.hypot((place.x + place.width / 2) * scale + x - at.x, (place.y + place.height / 2) * scale + y - at.y);
    });
    return away.indexOf(Math.min(...away));
  }

  zoom(factor: number, at?: { x: number; y: number }): void {
    const { clientWidth, clientHeight } = this.svg;
    const { x, y } = at ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const scale = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.view.scale * factor));
    const ratio = scale / this.view.scale;
    this.framing = null;
    this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    if (this.layouts.far && !this.isFar && scale < PILLS_BELOW) this.change(true, this.nearest({ x, y }), scale / this.pillRatio);
    else if (this.isFar && scale * this.pillRatio > CARDS_ABOVE) this.change(false, this.nearest({ x, y }), scale * this.pillRatio);
    else this.place();
  }

  private place(): void {
    const { x, y, scale } = this.view;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  private listen(): void {
    const { svg } = this;
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), this.inside(event));
    }, { passive: false });
    let timer = 0;
    // What the pointer was pressed on; a quick one is elsewhere when it has moved far enough to be a drag.
    let start: Element = svg;
    svg.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, this.inside(event));
      if (this.framing === "start") this.framing = null; // what is being used stays in the window
      if (this.pointers.size === 1) this.dragged = false;
      clearTimeout(timer);
      start = event.target as Element;
      const row = start.closest<SVGGElement>(".row");
      if (event.pointerType === "touch" && row && this.pointers.size === 1) {
        timer = window.setTimeout(() => {
          this.dragged = true;
          this.pressed(Number(row.dataset.node), Number(row.dataset.state), true);
        }, LONG_TOUCH);
      }
    });
    svg.addEventListener("pointermove", (event) => {
      const from = this.pointers.get(event.pointerId);
      if (from === undefined) return;
      const to = this.inside(event);
      if (!this.dragged && Math.hypot(to.x - from.x, to.y - from.y) < DRAG) return;
      clearTimeout(timer);
      if (!this.dragged) {
        // Along a bar it is pulled; in all other directions the canvas is moved.
        const grip = start.closest(".grip")?.closest<SVGGElement>(".row");
        const held = start.closest<SVGGElement>(".card, .pill");
        if (grip && Math.abs(to.x - from.x) > Math.abs(to.y - from.y)) {
          this.pulled = { node: Number(grip.dataset.node), state: Number(grip.dataset.state), probability: 0 };
        } else if (start.closest(".handle")) {
          this.drawn = { from: Number(held!.dataset.node), to: null, line: made("path", { class: "arc drawing", "marker-end": "url(#arrow)" }, this.world) };
        } else if (held && !start.closest(".row, .tool")) {
          this.carried = Number(held.dataset.node);
        }
        svg.setPointerCapture(event.pointerId);
      }
      this.dragged = true;
      if (this.pulled) {
        this.pull(this.pulled, to.x);
        return;
      }
      if (this.drawn) {
        this.draw(this.drawn, to);
        return;
      }
      if (this.carried !== null && this.pointers.size === 1) {
        this.shift(this.carried, (to.x - from.x) / this.view.scale, (to.y - from.y) / this.view.scale);
        this.pointers.set(event.pointerId, to);
        return;
      }
      svg.classList.add("moving");
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
        this.framing = null;
        this.view.x += to.x - from.x;
        this.view.y += to.y - from.y;
        this.place();
      } else {
        const apart = (end: { x: number; y: number }) => Math.max(1, Math.hypot(end.x - other.x, end.y - other.y));
        this.zoom(apart(to) / apart(from), other);
      }
      this.pointers.set(event.pointerId, to);
    });
    for (const end of ["pointerup", "pointercancel"] as const) {
      svg.addEventListener(end, (event) => {
        clearTimeout(timer);
        this.pointers.delete(event.pointerId);
        svg.classList.remove("moving");
        const pulled = this.pulled;
        this.pulled = null;
        if (pulled) this.gestures.pull(pulled.node, pulled.state, pulled.probability);
        this.carried = null;
        if (this.drawn) this.finish(this.drawn, end === "pointerup");
      });
    }
    svg.addEventListener("click", (event) => {
      if (!this.dragged) return;
      this.dragged = false;
      event.stopPropagation();
    }, { capture: true });
    svg.addEventListener("click", (event) => {
      const card = (event.target as Element).closest<SVGGElement>(".card, .pill");
      if (card) this.gestures.chosen(Number(card.dataset.node));
    });
    svg.addEventListener("contextmenu", (event) => {
      if (this.pointers.size) event.preventDefault();
    });
  }

  /** Draw an arc to the pointer. A card that it cannot lead to, because a cycle would arise, is marked while one draws. */
  private draw(drawn: NonNullable<Canvas["drawn"]>, at: { x: number; y: number }): void {
    const x = (at.x - this.view.x) / this.view.scale;
    const y = (at.y - this.view.y) / this.view.scale;
    const over = this.cards.findIndex((_, node) => {
      const box = this.extent(node);
      return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
    });
    drawn.to = over < 0 || over === drawn.from ? null : over;
    const end = drawn.to === null ? { x, y, width: 0, height: 0 } : this.extent(drawn.to);
    drawn.line.setAttribute("d", joined(this.extent(drawn.from), end));
    const refused = drawn.to !== null && (this.leads(drawn.to, drawn.from) || this.has(drawn.from, drawn.to));
    drawn.line.classList.toggle("refused", refused);
    this.cards.forEach((_, node) => {
      for (const part of this.parts(node)) part.classList.toggle("refused", refused && node === drawn.to);
    });
  }

  private finish(drawn: NonNullable<Canvas["drawn"]>, isDone: boolean): void {
    drawn.line.remove();
    this.drawn = null;
    for (const part of this.svg.querySelectorAll(".refused")) part.classList.remove("refused");
    if (isDone && drawn.to !== null) this.gestures.link!(drawn.from, drawn.to);
  }

  private has(from: number, to: number): boolean {
    return this.network.arcs.some(([a, b]) => a === from && b === to);
  }

  /** Whether arcs lead from one node to another. */
  private leads(from: number, to: number): boolean {
    const seen = new Set([from]);
    for (const node of seen) for (const [a, b] of this.network.arcs) if (a === node) seen.add(b);
    return seen.has(to);
  }

  /** Draw a bar to the pointer; its number says what is meant. */
  private pull(pulled: NonNullable<Canvas["pulled"]>, x: number): void {
    const { places } = this.layout;
    const left = (places[pulled.node].x + BAR.x + this.wider) * this.view.scale + this.view.x;
    pulled.probability = Math.min(0.999, Math.max(0.001, (x - left) / (BAR.width * this.view.scale)));
    const row = this.cards[pulled.node].rows[pulled.state];
    row.bar!.setAttribute("width", String(BAR.width * pulled.probability));
    row.percent.textContent = `→ ${Math.round(100 * pulled.probability)}%`;
    row.change.textContent = "";
  }

  private inside(event: MouseEvent): { x: number; y: number } {
    const frame = this.svg.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  }

  /** The nearest card in a direction. */
  beside(node: number, key: string): number | null {
    const middle = (each: number) => {
      const { x, y, width, height } = this.extent(each);
      return { x: x + width / 2, y: y + height / 2 };
    };
    const start = middle(node);
    let best: number | null = null;
    let least = Infinity;
    this.cards.forEach((_, other) => {
      const end = middle(other);
      const [dx, dy] = [end.x - start.x, end.y - start.y];
      const along = key === "ArrowLeft" ? -dx : key === "ArrowRight" ? dx : key === "ArrowUp" ? -dy : dy;
      const aside = key === "ArrowLeft" || key === "ArrowRight" ? Math.abs(dy) : Math.abs(dx);
      const cost = along + 2 * aside;
      if (other !== node && along > 1 && cost < least) [best, least] = [other, cost];
    });
    return best;
  }

  /** What is in the window, as a picture of its own. */
  picture(): string {
    const copy = this.svg.cloneNode(true) as SVGSVGElement;
    const { clientWidth, clientHeight } = this.svg;
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    copy.setAttribute("data-theme", dark ? "dark" : "light");
    copy.setAttribute("viewBox", `0 0 ${clientWidth} ${clientHeight}`);
    copy.setAttribute("width", String(clientWidth));
    copy.setAttribute("height", String(clientHeight));
    copy.removeAttribute("id");
    for (const part of copy.querySelectorAll("[tabindex]")) part.removeAttribute("tabindex");
    for (const part of copy.querySelectorAll(this.isFar ? ".card, .handle" : ".pill, .handle")) part.remove();
    const style = document.createElementNS(NS, "style");
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText));
    style.textContent = rules.filter((rule) => !rule.includes("#canvas")).join("\n");
    const ground = document.createElementNS(NS, "rect");
    ground.setAttribute("width", "100%");
    ground.setAttribute("height", "100%");
    ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
    copy.prepend(style, ground);
    return new XMLSerializer().serializeToString(copy);
  }
}
