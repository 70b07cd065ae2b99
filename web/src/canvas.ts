// The cards, the arcs, and the window onto them. Everything is SVG of our own, and every name is a text node.
import { graphlib, layout } from "@dagrejs/dagre";
import { percent, short, type Belief, type Finding, type Network, type Session } from "./model";
import type { Speaker } from "./words";

const NS = "http://www.w3.org/2000/svg";
// In a narrow window cards are narrower, so that more of them can be read at once.
const NARROW = window.innerWidth < 600;
const WIDTH = NARROW ? 196 : 244;
const TITLE = 32;
const ROW = 24;
const FOOT = 4;
const LABEL = { x: NARROW ? 8 : 12, width: NARROW ? 50 : 72 };
const BAR = { x: NARROW ? 62 : 90, width: NARROW ? 36 : 60, height: 12 };
const PERCENT = NARROW ? 144 : 196;
const CHANGE = WIDTH - (NARROW ? 4 : 8);
const MOST_ZOOM = 3;
const LEAST_ZOOM = 0.05;
// On a small window the whole network may be too small to read: it starts at this size, and can be moved.
const LEAST_AT_START = 0.55;
const DRAG = 5;
const LONG_TOUCH = 500;

export interface Gestures {
  observe(node: number, state: number): void;
  exclude(node: number, state: number): void;
  weigh(node: number): void;
  why(node: number): void;
}

interface Row {
  group: SVGGElement;
  bar: SVGRectElement | null;
  percent: SVGTextElement;
  change: SVGTextElement;
}

interface Card {
  group: SVGGElement;
  rows: Row[];
  tools: SVGGElement[];
  x: number;
  y: number;
  height: number;
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

/** Cut a text to a width; the whole of it is in a title. */
function fitted(element: SVGTextElement, text: string, width: number, weight = ""): void {
  ruler.font = `${weight} 13px system-ui, sans-serif`;
  let shown = text;
  if (ruler.measureText(text).width > width) {
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
  private size = { width: 0, height: 0 };
  private view = { x: 0, y: 0, scale: 1 };
  private arcs: { line: SVGPathElement; ends: [number, number] }[] = [];
  private pointers = new Map<number, { x: number; y: number }>();
  private dragged = false;

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
    this.arrange();
    this.listen();
    this.begin();
  }

  /** Lay the cards out in layers, downwards or to the right: whichever shows them larger in this window. */
  private arrange(): void {
    const { nodes, arcs, directed } = this.network;
    const heights = nodes.map((node) => TITLE + ROW * (node.states?.length ?? 1) + FOOT);
    const laid = ["TB", "LR"].map((rankdir) => {
      const graph = new graphlib.Graph();
      graph.setGraph({ rankdir, nodesep: NARROW ? 12 : 24, ranksep: NARROW ? 32 : 48, marginx: 16, marginy: 16 });
      graph.setDefaultEdgeLabel(() => ({}));
      nodes.forEach((_, node) => graph.setNode(String(node), { width: WIDTH, height: heights[node] }));
      for (const [from, to] of arcs) graph.setEdge(String(from), String(to));
      layout(graph);
      return graph;
    });
    const { clientWidth, clientHeight } = this.svg;
    const zoom = laid.map((graph) => {
      const { width, height } = graph.graph() as { width: number; height: number };
      return Math.min(1, clientWidth / width, clientHeight / height);
    });
    const graph = laid[zoom[1] > zoom[0] * 1.2 ? 1 : 0];
    this.size = graph.graph() as { width: number; height: number };
    const lines = made("g", { "aria-hidden": "true" }, this.world);
    for (const [from, to] of arcs) {
      const { points } = graph.edge(String(from), String(to)) as { points: { x: number; y: number }[] };
      const line = made("path", { class: "arc", d: curve(points) }, lines);
      if (directed) line.setAttribute("marker-end", "url(#arrow)");
      this.arcs.push({ line, ends: [from, to] });
    }
    nodes.forEach((_, node) => {
      const { x, y } = graph.node(String(node)) as { x: number; y: number };
      this.cards.push(this.card(node, x - WIDTH / 2, y - heights[node] / 2, heights[node]));
    });
  }

  private card(node: number, x: number, y: number, height: number): Card {
    const { name, states } = this.network.nodes[node];
    const group = made("g", { class: "card", role: "group", transform: `translate(${x} ${y})` }, this.world);
    group.setAttribute("aria-label", name);
    made("rect", { class: "box", width: WIDTH, height, rx: 6 }, group);
    const title = made("text", { class: "title", x: LABEL.x, y: 21 }, group);
    fitted(title, name, WIDTH - 76, "600");
    made("title", {}, group).textContent = name;
    const rows = (states ?? [null]).map((state, place) => this.row(group, node, state, place));
    rows[0].group.setAttribute("tabindex", "0");
    const tools = [
      this.tool(group, WIDTH - 56, "≈", () => this.gestures.weigh(node)),
      ...(states ? [this.tool(group, WIDTH - 30, "?", () => this.gestures.why(node))] : []),
    ];
    return { group, rows, tools, x, y, height };
  }

  private tool(parent: SVGGElement, x: number, sign: string, done: () => void): SVGGElement {
    const group = made("g", { class: "tool", role: "button", tabindex: -1, transform: `translate(${x} 4)` }, parent);
    made("rect", { class: "hit", width: 24, height: 24, rx: 4 }, group);
    made("text", { x: 12, y: 17 }, group).textContent = sign;
    group.addEventListener("click", done);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      done();
    });
    return group;
  }

  private row(parent: SVGGElement, node: number, state: string | null, place: number): Row {
    const group = made(
      "g", { class: "row", role: "button", tabindex: -1, transform: `translate(0 ${TITLE + ROW * place})` }, parent,
    );
    group.dataset.node = String(node);
    group.dataset.state = String(place);
    made("rect", { class: "hit", x: 4, width: WIDTH - 8, height: ROW, rx: 4 }, group);
    let bar: SVGRectElement | null = null;
    if (state !== null) {
      fitted(made("text", { class: "label", x: LABEL.x, y: 16 }, group), state, LABEL.width);
      made("title", {}, group).textContent = state;
      const frame = { x: BAR.x, y: (ROW - BAR.height) / 2, height: BAR.height };
      made("rect", { class: "track", width: BAR.width, ...frame }, group);
      bar = made("rect", { class: "bar", width: 0, ...frame }, group);
      const prior = (this.network.beliefs[node] as number[])[place];
      const at = BAR.x + BAR.width * prior;
      made("line", { class: "tick", x1: at, x2: at, y1: frame.y - 3, y2: frame.y + BAR.height + 3 }, group);
    }
    const number = made("text", { class: "percent", x: PERCENT, y: 16 }, group);
    const change = made("text", { class: "change", x: CHANGE, y: 16 }, group);
    group.addEventListener("click", (event) => this.pressed(node, place, event.shiftKey));
    return { group, bar, percent: number, change };
  }

  pressed(node: number, state: number, shift: boolean): void {
    if (this.network.nodes[node].states === null) this.gestures.weigh(node);
    else if (shift) this.gestures.exclude(node, state);
    else this.gestures.observe(node, state);
  }

  /** Show the numbers of a session. */
  show(session: Session): void {
    const { beliefs, before, findings } = session;
    this.cards.forEach((card, node) => {
      const finding = findings.get(node);
      card.group.classList.toggle("seen", finding !== undefined);
      card.group.classList.remove("clash");
      this.nameTools(card, node);
      const belief = beliefs[node];
      if (Array.isArray(belief)) this.showStates(card, node, belief, before?.[node] as number[] | undefined, finding);
      else this.showNumber(card, node, belief, before?.[node]);
    });
    for (const { line, ends } of this.arcs) line.classList.toggle("near", ends.some((node) => findings.has(node)));
  }

  private nameTools(card: Card, node: number): void {
    const { name, states } = this.network.nodes[node];
    const weigh = this.speaker.say(states ? "weigh" : "observe_number", { node: name });
    card.tools[0].setAttribute("aria-label", weigh);
    card.tools[1]?.setAttribute("aria-label", this.speaker.say("why_of", { node: name }));
  }

  private showStates(
    card: Card, node: number, belief: number[], before: number[] | undefined, finding: Finding | undefined,
  ): void {
    const { name, states } = this.network.nodes[node];
    card.rows.forEach((row, state) => {
      const shown = percent(belief, state);
      row.bar!.setAttribute("width", String(BAR.width * belief[state]));
      row.percent.textContent = /^[\d.]+$/.test(shown) ? `${shown}%` : shown;
      const seen = finding?.kind === "state" && finding.state === state;
      const out = finding?.kind === "not" && finding.states.includes(state);
      row.group.classList.toggle("seen", seen);
      row.group.classList.toggle("out", out);
      row.group.setAttribute("aria-pressed", String(seen || out));
      const parts = [this.speaker.say("row", { node: name, state: states![state], percent: shown })];
      const moved = before === undefined ? 0 : belief[state] - before[state];
      row.change.textContent = "";
      if (before !== undefined && Math.abs(moved) >= 0.0005) {
        row.change.textContent = `${moved > 0 ? "▲" : "▼"}${(100 * Math.abs(moved)).toFixed(1)}`;
        parts.push(this.speaker.say(moved > 0 ? "up" : "down", { before: percent(before, state) }));
      }
      if (seen) parts.push(this.speaker.say("observed"));
      if (out) parts.push(this.speaker.say("excluded"));
      row.group.setAttribute("aria-label", parts.join(", "));
      row.group.querySelector("title")!.textContent =
        `${states![state]} (${this.speaker.say("prior", { percent: percent(this.network.beliefs[node] as number[], state) })})`;
    });
  }

  private showNumber(card: Card, node: number, belief: { mean: number; sd: number }, before?: Belief): void {
    const [row] = card.rows;
    const mean = short(belief.mean);
    row.percent.textContent = belief.sd === 0 ? mean : `${mean} ± ${short(belief.sd)}`;
    const moved = before === undefined ? 0 : belief.mean - (before as { mean: number }).mean;
    row.change.textContent = Math.abs(moved) > 1e-9 * Math.abs(belief.mean) ? (moved > 0 ? "▲" : "▼") : "";
    row.group.setAttribute(
      "aria-label",
      this.speaker.say("measured", { node: this.network.nodes[node].name, mean, sd: short(belief.sd) }),
    );
  }

  stale(is: boolean): void {
    this.svg.classList.toggle("stale", is);
  }

  /** Mark the nodes whose findings cannot all be true. */
  clash(nodes: number[]): void {
    for (const node of nodes) this.cards[node].group.classList.add("clash");
  }

  marked(nodes: ReadonlySet<number>): void {
    this.cards.forEach((card, node) => card.group.classList.toggle("found", nodes.has(node)));
  }

  focus(node: number, state: number): void {
    const card = this.cards[node];
    const place = Math.min(state, card.rows.length - 1);
    card.rows.forEach((row, each) => row.group.setAttribute("tabindex", each === place ? "0" : "-1"));
    card.rows[place].group.focus({ preventScroll: true });
    this.reveal(node);
  }

  /** Move the window so that a card lies in it. */
  reveal(node: number, centre = false): void {
    const { x, y, height } = this.cards[node];
    const { scale } = this.view;
    const { clientWidth, clientHeight } = this.svg;
    const left = x * scale + this.view.x;
    const top = y * scale + this.view.y;
    const inside = left >= 0 && top >= 0 && left + WIDTH * scale <= clientWidth && top + height * scale <= clientHeight;
    if (inside && !centre) return;
    this.view.x = clientWidth / 2 - (x + WIDTH / 2) * scale;
    this.view.y = clientHeight / 2 - (y + height / 2) * scale;
    this.place();
  }

  fit(): void {
    const { clientWidth, clientHeight } = this.svg;
    const scale = Math.min(1.25, clientWidth / this.size.width, clientHeight / this.size.height);
    this.view = {
      scale,
      x: (clientWidth - this.size.width * scale) / 2,
      y: (clientHeight - this.size.height * scale) / 2,
    };
    this.place();
  }

  private begin(): void {
    this.fit();
    if (this.view.scale >= LEAST_AT_START) return;
    const { clientWidth } = this.svg;
    const scale = LEAST_AT_START;
    this.view = { scale, x: (clientWidth - this.size.width * scale) / 2, y: 0 };
    this.place();
  }

  zoom(factor: number, at?: { x: number; y: number }): void {
    const { clientWidth, clientHeight } = this.svg;
    const { x, y } = at ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const scale = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, this.view.scale * factor));
    const ratio = scale / this.view.scale;
    this.view = { scale, x: x - (x - this.view.x) * ratio, y: y - (y - this.view.y) * ratio };
    this.place();
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
    svg.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, this.inside(event));
      if (this.pointers.size === 1) this.dragged = false;
      clearTimeout(timer);
      const row = (event.target as Element).closest<SVGGElement>(".row");
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
      if (!this.dragged) svg.setPointerCapture(event.pointerId);
      this.dragged = true;
      svg.classList.add("moving");
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other === undefined) {
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
      });
    }
    svg.addEventListener("click", (event) => {
      if (!this.dragged) return;
      this.dragged = false;
      event.stopPropagation();
    }, { capture: true });
    svg.addEventListener("contextmenu", (event) => {
      if (this.pointers.size) event.preventDefault();
    });
  }

  private inside(event: MouseEvent): { x: number; y: number } {
    const frame = this.svg.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  }

  /** The nearest card in a direction. */
  beside(node: number, key: string): number | null {
    const from = this.cards[node];
    const middle = (card: Card) => ({ x: card.x + WIDTH / 2, y: card.y + card.height / 2 });
    const start = middle(from);
    let best: number | null = null;
    let least = Infinity;
    this.cards.forEach((card, other) => {
      const end = middle(card);
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

/** A smooth line through the points of the layout. */
function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest[rest.length - 1];
  let d = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const end = i === rest.length - 2 ? last : { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    d += `Q${rest[i].x} ${rest[i].y} ${end.x} ${end.y}`;
  }
  return rest.length === 1 ? `${d}L${last.x} ${last.y}` : d;
}

