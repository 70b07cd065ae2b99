// The panel of the view: how the cards lie, which of them are in focus, and what one can take away.
import { button, chooser, made } from "./elements";
import type { Direction } from "./layers";
import type { Finding, Network, Session } from "./model";
import type { Desk } from "./panels";

export interface ViewGestures {
  direction(): Direction;
  /** Lay all cards out anew. */
  lay(direction: Direction): Promise<void>;
  /** Null where the layout cannot be kept. */
  keep: (() => Promise<void>) | null;
  /** Show these nodes and step back from all others; null: all. */
  single(nodes: ReadonlySet<number> | null): void;
  svg(): void;
  png(): Promise<void>;
}

// This many nodes are what moved most.
const MOST_MOVED = 8;
// dagre does not lay out more, and the layers of large networks lead downwards only.
const MOST_TURNED = 60;

type Focus = "all" | "blanket" | "moved";

/** Parents, children and their other parents: what shields a node from all others. */
export function blanket({ arcs }: Network, node: number): Set<number> {
  const children = new Set(arcs.flatMap(([a, b]) => (a === node ? [b] : [])));
  const found = new Set([node, ...children]);
  for (const [a, b] of arcs) if (b === node || children.has(b)) found.add(a);
  return found;
}

/** The nodes whose numbers moved most with the last finding, and those that have findings. */
export function moved(session: Session): Set<number> {
  const { beliefs, before, findings } = session;
  const by = beliefs.map((belief, node): [number, number] => {
    const last = before?.[node];
    if (last === undefined) return [node, 0];
    if (Array.isArray(belief)) return [node, Math.max(...belief.map((_, state) => Math.abs(session.moved(node, state))))];
    const { mean, sd } = last as { mean: number; sd: number };
    return [node, Math.abs(belief.mean - mean) / (sd || 1)];
  });
  const most = by.filter(([, size]) => size >= 0.0005).sort((a, b) => b[1] - a[1]).slice(0, MOST_MOVED);
  return new Set([...findings.keys(), ...most.map(([node]) => node)]);
}

/** A word of a shell, in quotes where it needs them. */
const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that says the same as the page; null where a finding cannot be said there. */
export function command({ command, nodes }: Network, session: Session, target: number): string | null {
  if (!command) return null;
  const given = (node: number, finding: Finding): string | null => {
    const { name, states } = nodes[node];
    if (finding.kind === "state") return `--given ${quoted(`${name}=${states![finding.state]}`)}`;
    return finding.kind === "value" ? `--given ${quoted(`${name}=${finding.value}`)}` : null;
  };
  const parts = [...session.findings].map(([node, finding]) => given(node, finding));
  if (parts.includes(null)) return null;
  return ["bayeskit network query", quoted(command), quoted(nodes[target].name), ...parts].join(" ");
}

export class View {
  private focus: Focus = "all";

  constructor(private desk: Desk, private gestures: ViewGestures) {}

  panel(): Node[] {
    const { desk, gestures } = this;
    const { network, session } = desk;
    const ways: [Direction, string][] = [
      ["auto", desk.say("way_auto")], ["down", desk.say("way_down")], ["right", desk.say("way_right")],
    ];
    if (network.nodes.length > MOST_TURNED) ways.length = 1;
    const focuses: [Focus, string][] = [
      ["all", desk.say("focus_all")], ["blanket", desk.say("focus_blanket")], ["moved", desk.say("focus_moved")],
    ];
    const layout: HTMLElement[] = [
      made("h3", desk.say("layout")),
      made("p", desk.say("layout_hint"), "quiet"),
      chooser("direction", desk.say("direction"), ways, gestures.direction(), (way) =>
        void gestures.lay(way as Direction),
      ),
      made("div", "", "buttons", button(desk.say("reset_layout"), () => void gestures.lay(gestures.direction()))),
    ];
    const { keep } = gestures;
    if (keep) {
      const told = made("p", "", "quiet");
      told.setAttribute("role", "status");
      const save = button(desk.say("keep_layout"), () => void keep().then(() => (told.textContent = desk.say("layout_kept"))));
      layout[3].append(save);
      layout.push(told);
    }
    const focus = [
      made("h3", desk.say("focus")),
      desk.targetChooser(true),
      chooser("focus", desk.say("show"), focuses, this.focus, (kind) => {
        this.focus = kind as Focus;
        this.follow();
      }),
    ];
    const leave: HTMLElement[] = [
      made("h3", desk.say("take_away")),
      made("div", "", "buttons", button(desk.say("save"), () => gestures.svg()), button(desk.say("save_png"), () => void gestures.png())),
    ];
    const line = command(network, session, desk.target);
    if (line) {
      const field = made("textarea");
      field.id = "command";
      field.readOnly = true;
      field.rows = 3;
      field.value = line;
      field.addEventListener("focus", () => field.select());
      leave.push(made("label", "", "tall", made("span", desk.say("command")), field));
    } else if (network.command) leave.push(made("p", desk.say("no_command"), "quiet"));
    return [...layout, ...focus, ...leave];
  }

  /** The findings or the node have changed: the focus follows them. */
  follow(): void {
    const { network, session, target } = this.desk;
    if (this.focus === "all") this.gestures.single(null);
    else this.gestures.single(this.focus === "blanket" ? blanket(network, target) : moved(session));
  }

  /** The nodes are others. */
  renew(): void {
    this.focus = "all";
  }

  get isFocused(): boolean {
    return this.focus !== "all";
  }
}
