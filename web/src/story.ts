// A guided story: what to click, what moves, and why. It goes on when the click is made.
import { button, made, part } from "./elements";
import { percent, type Findings, type Network, type Session } from "./model";
import type { Speaker } from "./words";

export interface StoryGestures {
  /** Begin without findings. */
  restore(findings: Findings): Promise<void>;
  /** Show the row that is to be clicked; null: none. */
  point(node: number | null, state: number): void;
  resized(): void;
}

export class Story {
  /** The step that waits for its click; null: the story is not told. */
  private at: number | null = null;
  /** The number to watch before each step and after it. */
  private moves: { before: string; after: string }[] = [];

  constructor(
    private network: Network,
    private session: Session,
    private speaker: Speaker,
    private gestures: StoryGestures,
  ) {
    this.offer();
    part("open-story").addEventListener("click", () => (this.at === null ? void this.begin() : this.close()));
  }

  /** Offer the story of the network, if it has one; a story of another network ends. */
  offer(): void {
    const has = Boolean(this.network.story?.length);
    part("open-story").hidden = !has;
    if (!has) this.at = null;
  }

  private async begin(): Promise<void> {
    this.at = null;
    if (this.session.findings.size) await this.gestures.restore(new Map());
    this.at = 0;
    this.moves = [{ before: this.watched(0), after: "" }];
    this.show();
    part("story-close").focus();
  }

  close(): void {
    this.at = null;
    this.show();
    part("open-story").focus();
  }

  private watched(step: number): string {
    const { watch } = this.network.story![step];
    return percent(this.session.beliefs[watch[0]] as number[], watch[1]);
  }

  /** The findings have changed: where they have the state of the step, the story goes on. */
  follow(): void {
    const steps = this.network.story;
    if (this.at === null || steps === undefined) return;
    const step = steps[this.at];
    const held = step && this.session.findings.get(step.node);
    if (held?.kind === "state" && held.state === step.state) {
      this.moves[this.at].after = this.watched(this.at);
      this.at += 1;
      if (this.at < steps.length) this.moves[this.at] = { before: this.watched(this.at), after: "" };
    } else if (step) this.moves[this.at].before = this.watched(this.at);
    this.show();
  }

  show(): void {
    const box = part("story");
    const steps = this.network.story ?? [];
    const changed = box.hidden !== (this.at === null);
    box.hidden = this.at === null;
    part("open-story").setAttribute("aria-expanded", String(this.at !== null));
    if (this.at === null) {
      if (changed) this.gestures.resized();
      this.gestures.point(null, 0);
      return;
    }
    const lines: Node[] = [];
    if (this.at > 0) lines.push(made("p", this.why(this.at - 1)));
    const step = steps[this.at];
    if (step) {
      const { name, states } = this.network.nodes[step.node];
      const count = made("span", this.speaker.say("story_step", { k: this.at + 1, n: steps.length }), "quiet");
      lines.push(made("p", "", "", count, " ", made("strong", this.speaker.say("story_click", { node: name, state: states![step.state] }))));
    } else lines.push(made("p", this.speaker.say("story_end"), "quiet"));
    part("story-text").replaceChildren(...lines);
    this.gestures.resized(); // the text may take more lines, and the canvas fewer
    this.gestures.point(step?.node ?? null, step?.state ?? 0);
    const held = document.activeElement;
    const again = button(this.speaker.say("story_again"), () => void this.begin());
    again.id = "story-again";
    again.hidden = this.at === 0;
    const shut = button("×", () => this.close());
    shut.id = "story-close";
    shut.setAttribute("aria-label", this.speaker.say("close"));
    const inside = held instanceof HTMLElement && box.contains(held) ? held.id : "";
    part("story-tools").replaceChildren(again, shut);
    if (inside) (document.getElementById(inside) ?? shut).focus();
  }

  private why(place: number): string {
    const { node, watch, why } = this.network.story![place];
    const { name, states } = this.network.nodes[watch[0]];
    const values: Record<string, string> = {
      ...this.moves[place], node: this.network.nodes[node].name, watch: name, watch_state: states![watch[1]],
    };
    return why[this.network.lang].replace(/\{(\w+)\}/g, (_, key: string) => values[key]);
  }
}
