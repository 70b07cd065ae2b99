// What moves a probability most: the entries of the tables, or what could be observed. A tornado of bars.
import { button, chooser, drawn, made, shape, signed } from "./elements";
import { percent, short } from "./model";
import type { Desk } from "./panels";

/** A bar: how far the probability goes down and up, and in words what makes it do so. */
interface Bar {
  name: string;
  node: number;
  ends: { p: number; words: string; raised: boolean }[];
}

const WIDTH = 352;
const HEIGHT = 14;
const INSET = 2;
// Odds multiplied by this; "all" lets an entry go from 0 to 1.
const FACTORS = ["1.1", "2", "10", "all"];
const MOST_BARS = 40;
// Less than a digit of what is shown.
const LEAST = 0.00005;

const shown = (p: number) => percent([p, 1 - p], 0);

export class Sensitivity {
  private state = 0;
  private of = -1;
  private varied = "entries";
  private factor = "2";
  /** The bar whose numbers are shown. */
  private opened = "";

  constructor(private desk: Desk) {}

  async tornado(): Promise<Node[]> {
    const { desk } = this;
    const { network, session } = desk;
    const { target } = desk;
    if (this.of !== target) [this.of, this.state] = [target, 0];
    const fields = [desk.targetChooser(), desk.stateChooser("target-state", target, this.state, (state) => (this.state = state))];
    const hasEntries = session.source.sensitivity !== null && network.directed;
    const isEntries = hasEntries && this.varied === "entries";
    if (hasEntries) {
      const options: [string, string][] = [["entries", desk.say("vary_entries")], ["findings", desk.say("vary_findings")]];
      fields.push(chooser("vary", desk.say("vary"), options, this.varied, (value) => {
        this.varied = value;
        desk.again();
      }));
    }
    if (isEntries) {
      const options = FACTORS.map((factor): [string, string] => [
        factor, factor === "all" ? desk.say("odds_all") : desk.say("odds_times", { factor }),
      ]);
      fields.push(chooser("vary-by", desk.say("vary_by"), options, this.factor, (value) => {
        this.factor = value;
        desk.again();
      }));
    }
    const finding = session.findings.get(target);
    const { name } = network.nodes[target];
    // The entries are asked about without a finding at the target; to observe more, it only must not be known.
    if (finding && (isEntries || finding.kind === "state")) return [...fields, made("p", desk.say("has_finding", { node: name }))];
    const bars = await (isEntries ? this.entries() : this.observations());
    const now = (session.beliefs[target] as number[])[this.state];
    const moving = bars.filter(({ ends }) => ends.some(({ p }) => Math.abs(p - now) >= LEAST));
    if (moving.length === 0) return [...fields, made("p", desk.say("nothing_moves"))];
    const hint = made("p", desk.say(isEntries ? "entries_hint" : "observations_hint"), "quiet");
    const all = moving.flatMap(({ ends }) => ends.map(({ p }) => p));
    const [low, high] = [Math.min(now, ...all), Math.max(now, ...all)];
    const axis = made(
      "div", "", "axis", made("span", signed(shown(low))), made("span", desk.say("axis_now", { percent: shown(now) })),
      made("span", signed(shown(high))),
    );
    const list = made("ol", "", "tornado", ...moving.slice(0, MOST_BARS).map((bar) => this.bar(bar, now, low, high)));
    return [...fields, hint, axis, list];
  }

  private async entries(): Promise<Bar[]> {
    const { desk } = this;
    const { speaker, session } = desk;
    const factor = this.factor === "all" ? null : Number(this.factor);
    const found = await session.source.sensitivity!(desk.target, this.state, factor, session.findings, session.lang);
    const is = (node: number, state: number) => speaker.told(node, { kind: "state", state });
    return found.map(({ node, state, given, value, ends }) => {
      const condition = this.desk.speaker.listed(given.map(([parent, code]) => is(parent, code)));
      return {
        name: `P(${is(node, state)}${condition && ` | ${condition}`})`,
        node,
        ends: ends.map(([x, p]) => ({ p, raised: x > value, words: desk.say("entry_at", { value: short(x), percent: shown(p) }) })),
      };
    });
  }

  private async observations(): Promise<Bar[]> {
    const { desk } = this;
    const { speaker, session } = desk;
    const found = await session.source.next(desk.target, [], session.findings, session.lang);
    const bars = found.rows.map(({ node, answers }): Bar => {
      const ends = answers.flatMap(([share, posterior], state) => {
        const p = posterior[this.state];
        const finding = speaker.told(node, { kind: "state", state });
        return share > 0 ? [{ p, raised: true, words: desk.say("finding_at", { finding, percent: shown(p) }) }] : [];
      });
      return { name: desk.network.nodes[node].name, node, ends };
    });
    const reach = ({ ends }: Bar) => Math.max(...ends.map(({ p }) => p)) - Math.min(...ends.map(({ p }) => p));
    return bars.sort((a, b) => Math.round(1e12 * (reach(b) - reach(a))));
  }

  private bar({ name, node, ends }: Bar, now: number, low: number, high: number): HTMLLIElement {
    const { desk } = this;
    const all = ends.map(({ p }) => p);
    const at = (p: number) => INSET + ((p - low) / (high - low)) * (WIDTH - 2 * INSET);
    const picture = drawn(WIDTH, HEIGHT + 2, "tornado-bar");
    shape(picture, "rect", { class: "track", y: 1, width: WIDTH, height: HEIGHT });
    // What a lowered entry does is drawn as an outline, so that colour is not all that tells.
    for (const raised of [true, false]) {
      const reach = [now, ...ends.filter((end) => end.raised === raised).map(({ p }) => p)];
      const [from, to] = [at(Math.min(...reach)), at(Math.max(...reach))];
      if (to > from) {
        shape(picture, "rect", {
          class: raised ? "raised" : "lowered", x: from, y: raised ? 3 : 3.5, width: to - from, height: HEIGHT - (raised ? 4 : 5),
        });
      }
    }
    shape(picture, "line", { class: "tick", x1: at(now), x2: at(now), y1: 0, y2: HEIGHT + 2 });
    const isOpen = this.opened === name;
    const opener = button("", () => {
      this.opened = isOpen ? "" : name;
      desk.again();
    }, "tornado-row");
    opener.id = `bar-${node}-${name}`;
    opener.append(made("span", name), picture);
    opener.setAttribute("aria-expanded", String(isOpen));
    opener.setAttribute(
      "aria-label", desk.say("bar", { what: name, low: shown(Math.min(...all)), high: shown(Math.max(...all)) }),
    );
    if (!isOpen) return made("li", "", "", opener);
    const lines = ends.map(({ words }) => made("div", words));
    return made("li", "", "", opener, made("div", "", "numbers", ...lines, desk.nodeLink(node)));
  }
}
