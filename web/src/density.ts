// The density of a continuous node on its card: now (filled), before any finding (a line), and what it would be (dashed).
// All are drawn to one scale, so that equal areas are equal probabilities.
import { shape } from "./elements";
import { short, type Measure } from "./model";

export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}

// Steps of a curve; narrow components have points of their own.
const STEPS = 72;
const REACH = 3.2;
// Components lighter than this do not stretch the axis.
const LEAST_WEIGHT = 0.002;

const height = (mixture: Measure["mixture"], x: number) =>
  mixture.reduce((sum, [w, m, s]) => sum + (s > 0 ? (w * Math.exp(-0.5 * ((x - m) / s) ** 2)) / s : 0), 0);

/** From where to where a density is seen. */
function range({ mixture }: Measure): [number, number] {
  const seen = mixture.filter(([w]) => w >= LEAST_WEIGHT);
  return [Math.min(...seen.map(([, m, s]) => m - REACH * s)), Math.max(...seen.map(([, m, s]) => m + REACH * s))];
}

export class Density {
  private readonly now: SVGPathElement;
  private readonly before: SVGPathElement;
  private readonly instead: SVGPathElement;
  private readonly value: SVGLineElement;
  private readonly ends: SVGTextElement[];
  private axis: [number, number] = [0, 1];
  private top = 1;

  constructor(parent: Element, private prior: Measure, private frame: Frame) {
    const { x, y, width, height } = frame;
    const base = { x1: x, x2: x + width, y1: y + height, y2: y + height };
    this.now = shape(parent, "path", { class: "density" });
    this.before = shape(parent, "path", { class: "density-prior" });
    this.instead = shape(parent, "path", { class: "density-would" });
    shape(parent, "line", { class: "density-axis", ...base });
    this.value = shape(parent, "line", { class: "density-value", y1: y, y2: y + height });
    this.ends = ["start", "end"].map((anchor, k) =>
      shape(parent, "text", { class: "small", x: x + k * width, y: y + height + 14, "text-anchor": anchor, "aria-hidden": "true" }),
    );
  }

  show(belief: Measure): void {
    const own = this.prior.sd > 0 ? range(this.prior) : [this.prior.mean, this.prior.mean];
    const [low, high] = range(belief);
    this.axis = [Math.min(own[0], low), Math.max(own[1], high)];
    if (this.axis[0] === this.axis[1]) {
      const by = Math.abs(this.axis[0]) * 0.1 || 1;
      this.axis = [this.axis[0] - by, this.axis[1] + by];
    }
    this.ends.forEach((end, k) => (end.textContent = short(this.axis[k])));
    const [prior, now] = [this.points(this.prior), this.points(belief)];
    this.top = Math.max(...prior.map(([, y]) => y), ...now.map(([, y]) => y)) || 1;
    this.before.setAttribute("d", this.path(prior));
    const { y, height } = this.frame;
    const area = this.path(now);
    this.now.setAttribute("d", area && `${area}L${this.x(this.axis[1])} ${y + height}L${this.x(this.axis[0])} ${y + height}Z`);
    // What is certain has no density: a line stands at its value.
    const at = String(this.x(belief.mean));
    this.value.setAttribute("x1", at);
    this.value.setAttribute("x2", at);
    this.value.style.display = belief.sd === 0 ? "" : "none";
    this.instead.setAttribute("d", "");
  }

  /** Draw what would be; null: nothing else would. */
  would(belief: Measure | null): void {
    this.instead.setAttribute("d", belief === null ? "" : this.path(this.points(belief)));
  }

  private x(value: number): number {
    const [low, high] = this.axis;
    return this.frame.x + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * this.frame.width;
  }

  private points({ mixture }: Measure): [x: number, y: number][] {
    if (mixture.every(([, , s]) => s === 0)) return [];
    const [low, high] = this.axis;
    const step = (high - low) / STEPS;
    const at = Array.from({ length: STEPS + 1 }, (_, k) => low + k * step);
    for (const [w, m, s] of mixture) {
      if (w >= LEAST_WEIGHT && s > 0 && s < 2 * step) for (let k = -3; k <= 3; k += 0.5) at.push(m + k * s);
    }
    return at.filter((x) => x >= low && x <= high).sort((a, b) => a - b).map((x) => [x, height(mixture, x)]);
  }

  private path(points: [number, number][]): string {
    const { y, height } = this.frame;
    const line = points.map(([x, p]) => `${this.x(x).toFixed(1)} ${(y + height * (1 - Math.min(1, p / this.top))).toFixed(1)}`);
    return line.length ? `M${line.join("L")}` : "";
  }
}
