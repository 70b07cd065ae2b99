// Of a classifier: what each finding adds to the log-odds of a class, and a nomogram whose marks can be dragged.
import { drawn, made, shape, table } from "./elements";
import { percent, short, type Finding, type Nomogram, type Ruler } from "./model";
import type { Desk } from "./panels";

const WIDTH = 352;
const INSET = 10;
// Lanes of states and of numbers, and the room of a letter.
const STATES = { height: 40, line: 14 };
const NUMBERS = { height: 64, top: 8, bottom: 56 };
const LETTER = { latin: 6.5, other: 12.5 };
// Steps of the arrow keys through the range of a number.
const STEPS = 40;

const room = (text: string) => [...text].reduce((sum, sign) => sum + (sign.charCodeAt(0) > 0x2e80 ? LETTER.other : LETTER.latin), 0);
const plus = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value) === Infinity ? "∞" : Math.abs(value).toFixed(3)}`;

export class Classifier {
  private state = 0;

  constructor(private desk: Desk) {
    const classifier = desk.network.classifier;
    // The last class is what charts of the library show.
    if (classifier) this.state = desk.network.nodes[classifier.target].states!.length - 1;
  }

  private get target(): number {
    return this.desk.network.classifier!.target;
  }

  /** The field for the class; and what to say instead of an answer, if the class is known. */
  private begin(): { fields: Node[]; instead: Node[] | null } {
    const { desk } = this;
    const { name } = desk.network.nodes[this.target];
    const fields = [desk.stateChooser("class-state", this.target, this.state, (state) => (this.state = state), name)];
    if (!desk.session.findings.has(this.target)) return { fields, instead: null };
    return { fields, instead: [...fields, made("p", desk.say("class_known", { node: name }))] };
  }

  // -- the rows behind a table

  async counts(): Promise<Node[]> {
    const { desk } = this;
    const { session, network } = desk;
    const chosen = desk.targetChooser();
    const found = await session.source.counts!(desk.target, session.findings, session.lang);
    const { states } = network.nodes[desk.target];
    const given = found.rows[0]?.given.map(([node]) => network.nodes[node].name) ?? [];
    const rows = found.rows.map(({ given, counts, probabilities, fits }) => {
      const sum = counts.reduce((a, b) => a + b, 0);
      const cells = [
        ...given.map(([node, state]) => made("td", network.nodes[node].states![state])),
        ...counts.map((n, k) => made("td", desk.say("counts_cell", { n: short(n), percent: `${(100 * probabilities[k]).toFixed(1)}%` }), "number")),
        made("td", short(sum), "number"),
      ];
      return made("tr", "", fits && session.findings.size ? "best" : "", ...cells);
    });
    const scroll = made("div", "", "scroll", table([...given, ...states!, desk.say("counts_sum")], rows, given.length));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", desk.say("table_of", { node: network.nodes[desk.target].name }));
    const more = found.n > found.rows.length ? [made("p", desk.say("counts_more", { shown: found.rows.length, n: found.n }), "quiet")] : [];
    return [chosen, made("p", desk.say("counts_hint"), "quiet"), scroll, ...more, made("p", desk.say("counts_total", { n: short(found.total) }), "quiet")];
  }

  // -- contributions

  async contributions(): Promise<Node[]> {
    const { desk } = this;
    const { session, network } = desk;
    const { fields, instead } = this.begin();
    if (instead) return instead;
    const found = await session.source.contributions!(this.state, session.findings, session.lang);
    const { name, states } = network.nodes[this.target];
    const against = desk.say("against", { state: states![this.state], rival: states![found.rival] });
    // The waterfall: each bar begins where the last one ended.
    const finite = found.rows.map(({ value }) => (Number.isFinite(value) ? value : 0));
    const ends = finite.reduce<number[]>((sums, value) => [...sums, sums[sums.length - 1] + value], [0]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const span = high - low || 1;
    const at = (value: number) => 2 + ((value - low) / span) * (WIDTH - 4);
    const rows = found.rows.map(({ kind, node, value }, k) => {
      const finding = node === null ? undefined : session.findings.get(node);
      const what = finding ? desk.speaker.told(node!, finding) : desk.say(kind === "prior" ? "of_prior" : "of_together");
      const picture = drawn(WIDTH, 14, "waterfall-bar");
      shape(picture, "rect", { class: "track", y: 1, width: WIDTH, height: 12 });
      const [from, to] = Number.isFinite(value) ? [at(ends[k]), at(ends[k + 1])] : value > 0 ? [at(ends[k]), WIDTH] : [0, at(ends[k])];
      shape(picture, "rect", {
        class: value < 0 ? "lowered" : "raised", x: Math.min(from, to), y: value < 0 ? 2.5 : 2, width: Math.max(Math.abs(to - from), 0.5), height: value < 0 ? 9 : 10,
      });
      shape(picture, "line", { class: "tick", x1: at(0), x2: at(0), y1: 0, y2: 14 });
      const sum = value === Infinity || value === -Infinity ? value : ends[k + 1];
      const bar = made("td", "", "", picture);
      bar.colSpan = 3;
      return [
        made("tr", "", "", made("td", what), made("td", plus(value), "number"), made("td", plus(sum), "number")),
        made("tr", "", "answers", bar),
      ];
    });
    const last = made("tr", "", "best", made("td", desk.say("log_odds")), made("td"), made("td", plus(found.log_odds), "number"));
    const belief = session.beliefs[this.target] as number[];
    const odds = Math.exp(Math.abs(found.log_odds));
    const told = desk.say("odds_of", {
      odds: found.log_odds < 0 ? `1 : ${short(odds)}` : `${short(odds)} : 1`, against,
      finding: desk.say("is", { node: name, state: states![this.state] }), percent: percent(belief, this.state),
    });
    const heads = ["finding", "adds", "sum"];
    return [
      ...fields, made("p", desk.say("contributions_hint", { against }), "quiet"),
      table(heads.map((word) => desk.say(word)), [...rows.flat(), last]), made("p", told, "verdict"),
    ];
  }

  // -- nomogram

  async nomogram(): Promise<Node[]> {
    const { desk } = this;
    const { session, network } = desk;
    const { fields, instead } = this.begin();
    if (instead) return instead;
    const found = await session.source.nomogram!(this.state, session.findings, session.lang);
    const { name, states } = network.nodes[this.target];
    const axis = made("div", "", "axis", ...[0, 50, 100].map((points) => made("span", desk.say("n_points", { points }))));
    const lanes = found.rulers.map((ruler) => this.lane(ruler, found));
    const finding = desk.say("is", { node: name, state: states![this.state] });
    const told = made("p", desk.say("nomogram_sum", { points: found.total.toFixed(1), finding, percent: (100 * found.probability).toFixed(1) }), "verdict");
    told.setAttribute("role", "status");
    const notes = found.exact ? [] : [made("p", desk.say("nomogram_inexact"), "quiet")];
    return [...fields, made("p", desk.say("nomogram_hint"), "quiet"), axis, made("div", "", "lanes", ...lanes), told, ...notes];
  }

  /** The scale of one attribute, with a mark at its value; a slider. */
  private lane(ruler: Ruler, { unit, row }: Nomogram): HTMLElement {
    const { desk } = this;
    const { node, numeric, values, log_odds, range } = ruler;
    const { name, states } = desk.network.nodes[node];
    const finding = desk.session.findings.get(node);
    const points = (odds: number) => (Math.min(Math.max(odds, range[0]), range[1]) - range[0]) / unit;
    const across = (odds: number) => INSET + (points(odds) / 100) * (WIDTH - 2 * INSET);
    const height = numeric ? NUMBERS.height : STATES.height;
    const picture = drawn(WIDTH, height, "lane");
    const [least, most] = numeric ? [Math.min(...values), Math.max(...values)] : [0, 0];
    const up = (value: number) => NUMBERS.bottom - ((Math.min(Math.max(value, least), most) - least) / (most - least || 1)) * (NUMBERS.bottom - NUMBERS.top);
    const spots = values.map((value, k) => ({ value, x: across(log_odds[k]), y: numeric ? up(value) : STATES.line }));
    if (numeric) {
      shape(picture, "path", { class: "curve", d: `M${spots.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` });
      for (const spot of [spots[0], spots[spots.length - 1]]) {
        shape(picture, "text", { class: "small", x: spot.x + (spot.x > WIDTH - 60 ? -6 : 6), y: spot.y < NUMBERS.top + 12 ? spot.y + 15 : spot.y + 4, "text-anchor": spot.x > WIDTH - 60 ? "end" : "start" }, short(spot.value));
      }
    } else this.ticks(picture, spots, states!);
    const reading = row.find(([each]) => each === node)?.[1] ?? 0;
    const known = finding?.kind === "state" || finding?.kind === "value";
    const value = finding?.kind === "state" ? finding.state : finding?.kind === "value" ? finding.value : null;
    const mark = shape(picture, "circle", {
      class: known ? "mark" : "mark unknown", r: 6, cx: across(reading), cy: numeric ? (value === null ? (NUMBERS.top + NUMBERS.bottom) / 2 : up(value)) : STATES.line,
    });
    const slider = made("div", "", "slider", picture);
    slider.id = `lane-${node}`;
    slider.tabIndex = 0;
    const order = numeric ? values : [...spots].sort((a, b) => a.x - b.x).map((spot) => spot.value);
    const place = value === null ? -1 : numeric ? Math.round(((value - least) / (most - least || 1)) * STEPS) : order.indexOf(value);
    const said = value === null ? desk.say("unknown") : numeric ? short(value) : states![value];
    const text = `${said}, ${desk.say("n_points", { points: points(reading).toFixed(1) })}`;
    slider.setAttribute("role", "slider");
    slider.setAttribute("aria-label", name);
    slider.setAttribute("aria-valuemin", "-1");
    slider.setAttribute("aria-valuemax", String(numeric ? STEPS : order.length - 1));
    slider.setAttribute("aria-valuenow", String(place));
    slider.setAttribute("aria-valuetext", text);
    const take = (chosen: number | null) => {
      const next: Finding | null = chosen === null ? null : numeric ? { kind: "value", value: Number(chosen.toPrecision(4)) } : { kind: "state", state: chosen };
      void desk.set(node, next);
    };
    slider.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowRight" || event.key === "ArrowUp" ? 1 : event.key === "ArrowLeft" || event.key === "ArrowDown" ? -1 : 0;
      const last = numeric ? STEPS : order.length - 1;
      // From an unknown value one begins in the middle of a range of numbers, and at an end of states.
      const from = place < 0 ? (numeric ? STEPS / 2 - step : step > 0 ? -1 : last + 1) : place;
      const to = event.key === "Home" ? 0 : event.key === "End" ? last : Math.min(Math.max(from + step, 0), last);
      if (event.key === "Delete" || event.key === "Backspace") take(null);
      else if (step || event.key === "Home" || event.key === "End") take(numeric ? least + (to / STEPS) * (most - least) : order[to]);
      else return;
      event.preventDefault();
    });
    this.dragging(picture, mark, spots, take);
    const head = made("div", "", "line", desk.nodeLink(node), made("span", text));
    return made("div", "", "ruler", head, slider);
  }

  /** The states along a line: a tick each, and the names that have room, above and below. */
  private ticks(picture: SVGSVGElement, spots: { value: number; x: number }[], states: string[]): void {
    const sorted = [...spots].sort((a, b) => a.x - b.x);
    shape(picture, "line", { class: "axis-line", x1: sorted[0].x, x2: sorted[sorted.length - 1].x, y1: STATES.line, y2: STATES.line });
    let free = -Infinity;
    for (const { value, x } of sorted) {
      const tick = shape(picture, "line", { class: "axis-line", x1: x, x2: x, y1: STATES.line - 5, y2: STATES.line + 5 });
      shape(tick, "title", {}, states[value]);
      const width = room(states[value]);
      const left = Math.min(Math.max(x - width / 2, 0), WIDTH - width);
      if (left < free + 6) continue;
      free = left + width;
      shape(picture, "text", { class: "small", x: left, y: STATES.height - 6 }, states[value]);
    }
  }

  /** The mark follows the pointer to the nearest value, which is taken when it is let go. */
  private dragging(
    picture: SVGSVGElement, mark: SVGCircleElement, spots: { value: number; x: number; y: number }[], take: (value: number) => void,
  ): void {
    let nearest: { value: number; x: number; y: number } | null = null;
    const follow = (event: PointerEvent) => {
      const box = picture.getBoundingClientRect();
      const scale = WIDTH / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      const away = (spot: { x: number; y: number }) => Math.hypot(spot.x - x, spot.y - y);
      nearest = spots.reduce((best, spot) => (away(spot) < away(best) ? spot : best));
      mark.setAttribute("cx", String(nearest.x));
      mark.setAttribute("cy", String(nearest.y));
    };
    picture.addEventListener("pointerdown", (event) => {
      picture.setPointerCapture(event.pointerId);
      follow(event);
    });
    picture.addEventListener("pointermove", (event) => {
      if (nearest && picture.hasPointerCapture(event.pointerId)) follow(event);
    });
    picture.addEventListener("pointerup", () => {
      if (nearest) take(nearest.value);
      nearest = null;
    });
    picture.addEventListener("pointercancel", () => {
      nearest = null;
      this.desk.again();
    });
  }
}
