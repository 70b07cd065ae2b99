// What the user does, and what the page does then.
import { arranged } from "./arrange";
import { Canvas } from "./canvas";
import type { NetworkDocument } from "./document";
import { askLikelihoods, askNumber, showLines, showPage } from "./dialogs";
import { Refusal, Session, Silence, type Finding, type Findings, type Network, type Source } from "./model";
import type { Direction } from "./layers";
import { Panels } from "./panels";
import type { KeptLayout } from "./placing";
import { Story } from "./story";
import { Speaker } from "./words";

const part = <T extends Element = HTMLElement>(id: string) => document.getElementById(id) as unknown as T;
const button = (id: string) => part<HTMLButtonElement>(id);

// Estimates that are worth fewer samples than this are called rough.
const ROUGH = 100;

/** What the browser keeps of the user's choices, where it keeps anything. */
const kept = {
  get(name: string): string | null {
    try {
      return localStorage.getItem(`bayeskit-${name}`);
    } catch {
      return null;
    }
  },
  set(name: string, value: string): void {
    try {
      localStorage.setItem(`bayeskit-${name}`, value);
    } catch {
      // Private windows may refuse; the choice then lasts as long as the page.
    }
  },
};

/** Show a network whose numbers come from a source; the findings are told whenever they change, and whether they are of the network as it was opened. */
export async function begin(
  network: Network, source: Source, changed: (findings: Findings, isOpened: boolean) => void = () => undefined,
): Promise<{ restore(findings: Findings): Promise<void> }> {
  const theme = kept.get("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  const chosen = kept.get("lang");
  if (chosen && network.words[chosen]) network.lang = chosen;
  const session = new Session(network, source);
  const speaker = new Speaker(network);
  const canvas = new Canvas(part<SVGSVGElement>("canvas"), network, speaker, {
    observe, exclude, weigh, pull, why: source.why && why,
    link: network.edits && source.editing ? (from, to) => void panels.editor.link(from, to) : null,
    chosen: (node) => {
      if (!panels.isEditing) return;
      panels.editor.choose(node);
      void panels.show();
    },
  });
  /** Lay the cards out in the worker, except for those that were moved. */
  async function lay(kept: KeptLayout, view: "begin" | "stay" = "begin"): Promise<void> {
    canvas.lay(await arranged(canvas.request(kept.direction), source.worker), kept, view);
  }

  const panels = new Panels(network, session, speaker, {
    goTo: (node) => canvas.open(node),
    restore,
    set,
    told: refused,
    resized: () => canvas.resized(),
    trail: (nodes) => canvas.trail(nodes),
    view: {
      direction: () => canvas.kept().direction,
      lay: async (direction: Direction) => {
        await lay({ direction, cards: [], pills: [] });
        show();
      },
      keep: network.keeps_layout && source.keepLayout ? keepLayout : null,
      single: (nodes) => canvas.single(nodes),
      svg: () => download(canvas.picture(), "image/svg+xml", "svg"),
      png,
    },
    editor: {
      document: () => documentNow(),
      edit: (how, findings) =>
        doing(
          session.edit(async () => ({
            version: await source.editing!.build(how(await documentNow()), session.lang),
            findings: findings(session.findings),
          })),
        ),
      write: async (format) => {
        try {
          const { id } = session.version;
          const { name, text } = await source.editing!.write(await documentNow(), format, session.lang);
          download(text, "application/octet-stream", name.split(".").slice(1).join("."));
          written = id;
        } catch (error) {
          refused(error);
        }
      },
      told: (text) => tell(text),
    },
  });

  /** The version that was saved last. The browser asks before it leaves another one that was edited. */
  let written: string | null = null;
  addEventListener("beforeunload", (event) => {
    const { id } = session.version;
    if (id !== null && id !== written && network.nodes.length) event.preventDefault();
  });

  /** The network of now as a document; it is fetched once for each version. */
  async function documentNow(): Promise<NetworkDocument> {
    const { version } = session;
    version.document ??= await source.editing!.document(session.lang);
    return version.document;
  }

  /** Show the version of now, if it is another one: cards that were moved stay where they are, by their names. */
  let shown = session.version;
  const opened = { story: network.story, classifier: network.classifier, command: network.command };
  async function adopt(): Promise<void> {
    const { version } = session;
    if (version === shown) return;
    const { direction, cards, pills } = canvas.kept();
    const old = shown.nodes.map(({ name }) => version.nodes.findIndex((node) => node.name === name));
    const still = (places: KeptLayout["cards"]) =>
      places.flatMap(([node, x, y]): KeptLayout["cards"] => (old[node] < 0 ? [] : [[old[node], x, y]]));
    const view = version.nodes.length === shown.nodes.length ? "stay" : "begin";
    shown = version;
    const { name, nodes, arcs, beliefs, estimate } = version;
    Object.assign(network, { name, nodes, arcs, beliefs, estimate });
    // What was told of the network as it was opened is not true of another.
    Object.assign(network, version.id === null ? opened : { story: undefined, classifier: undefined, command: "" });
    story.offer();
    await lay({ direction, cards: still(cards), pills: still(pills) }, view);
    panels.renew();
    part("name").textContent = network.name || speaker.say("network");
  }

  const story = new Story(network, session, speaker, {
    restore,
    point: (node, state) => canvas.point(node, state),
    resized: () => canvas.resized(),
  });

  let hovered = 0;
  function show(): void {
    hovered += 1;
    canvas.show(session);
    void panels.show();
    story.show();
    changed(session.findings, session.version.id === null);
    button("undo").disabled = !session.canUndo;
    button("redo").disabled = !session.canRedo;
    const { findings, estimate } = session;
    part("estimated").hidden = estimate === null;
    if (estimate) {
      const { samples: n, worth } = estimate;
      part("estimated").textContent = speaker.say(worth < ROUGH ? "rough" : "estimated", { n, worth });
    }
    part("start").hidden = findings.size > 0;
    part("start").textContent = speaker.say(network.nodes.length ? "start" : "start_empty");
    button("clear").hidden = findings.size === 0;
    part("chips").replaceChildren(
      ...[...findings].map(([node, finding]) => {
        const told = speaker.told(node, finding);
        const chip = document.createElement("button");
        chip.type = "button";
        chip.textContent = `${told} ×`;
        chip.title = told;
        chip.setAttribute("aria-label", speaker.say("remove", { finding: told }));
        chip.addEventListener("click", () => set(node, null));
        for (const [kind, is] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]] as const) {
          chip.addEventListener(kind, () => void without(is ? node : null));
        }
        const item = document.createElement("li");
        item.append(chip);
        return item;
      }),
    );
  }

  function speak(): void {
    session.lang = network.lang;
    speaker.speak(network.lang);
    const name = network.name || speaker.say("network");
    part("name").textContent = name;
    document.title = `${name} · bayeskit`;
    show();
  }

  function tell(text: string): void {
    part("alert-text").textContent = text;
    part("alert").hidden = text === "";
  }

  /** Do something that changes the findings; what is refused is said, and nothing changes. */
  async function doing(done: Promise<void>): Promise<void> {
    tell("");
    const slow = window.setTimeout(() => canvas.stale(true), 150);
    try {
      await done;
      await adopt();
      story.follow();
      show();
      announce();
    } catch (error) {
      show();
      refused(error);
    } finally {
      clearTimeout(slow);
      canvas.stale(false);
    }
  }

  /** Show what would move without a finding; null ends it. */
  async function without(node: number | null): Promise<void> {
    const turn = ++hovered;
    if (node === null) {
      canvas.preview(null);
      return;
    }
    const others = new Map(session.findings);
    others.delete(node);
    try {
      const { beliefs } = others.size ? await source.posteriors(others, session.lang) : session.prior;
      if (turn === hovered && session.findings.has(node)) canvas.preview(beliefs);
    } catch {
      // It is only a hint: the click itself says what is wrong.
    }
  }

  /** Say to a screen reader what moved most. */
  function announce(): void {
    const moved: [number, number, number][] = [];
    session.beliefs.forEach((belief, node) => {
      if (!Array.isArray(belief) || session.findings.has(node)) return;
      const by = belief.map((_, state) => session.moved(node, state));
      const state = by.indexOf(Math.max(...by));
      if (by[state] > 0) moved.push([by[state], node, state]);
    });
    const rows = moved.sort((a, b) => b[0] - a[0]).slice(0, 3).map(([, node, state]) => canvas.label(node, state));
    const told = [...session.findings].map(([node, finding]) => speaker.told(node, finding));
    part("told").textContent = speaker.listed([speaker.listed(told, "listed") || speaker.say("no_findings"), ...rows], "sentences");
  }

  function refused(error: unknown): void {
    if (error instanceof Silence) tell(speaker.say("silent"));
    else if (!(error instanceof Refusal)) tell((error as Error).message);
    else if (error.conflict === null) tell(error.message);
    else {
      const told = error.conflict.map((node) => speaker.told(node, error.findings.get(node)!));
      tell(speaker.say("impossible", { findings: speaker.listed(told, "listed") }));
      canvas.clash(error.conflict);
    }
  }

  function restore(findings: Findings): Promise<void> {
    return doing(
      session.change((held) => {
        held.clear();
        for (const [node, finding] of findings) held.set(node, finding);
      }),
    );
  }

  function set(node: number, finding: Finding | null): Promise<void> {
    return doing(
      session.change((findings) => {
        if (finding === null) findings.delete(node);
        else findings.set(node, finding);
      }),
    );
  }

  async function observe(node: number, state: number): Promise<void> {
    await doing(
      session.change((findings) => {
        const held = findings.get(node);
        if (held?.kind === "state" && held.state === state) findings.delete(node);
        else findings.set(node, { kind: "state", state });
      }),
    );
  }

  async function exclude(node: number, state: number): Promise<void> {
    await doing(
      session.change((findings) => {
        const held = findings.get(node);
        const out = new Set(held?.kind === "not" ? held.states : []);
        if (!out.delete(state)) out.add(state);
        if (out.size === 0) findings.delete(node);
        else findings.set(node, { kind: "not", states: [...out].sort((a, b) => a - b) });
      }),
    );
  }

  async function weigh(node: number): Promise<void> {
    const held = session.findings.get(node);
    const { states } = network.nodes[node];
    const finding = states ? await askLikelihoods(speaker, network.nodes[node], held) : await askNumber(speaker, network.nodes[node], held);
    if (finding !== undefined) await set(node, finding);
    canvas.focus(node, 0);
  }

  /** Weigh the states so that one becomes so probable: its odds are multiplied, the others keep their proportions. */
  async function pull(node: number, state: number, probability: number): Promise<void> {
    const held = session.findings.get(node);
    const { name, states } = network.nodes[node];
    let belief = session.beliefs[node] as number[];
    let numbers = states!.map(() => 1);
    try {
      if (held?.kind === "likelihood") numbers = [...held.numbers];
      else if (held !== undefined) {
        const others = new Map(session.findings);
        others.delete(node);
        const { beliefs } = others.size ? await session.source.posteriors(others, session.lang) : session.prior;
        belief = beliefs[node] as number[];
      }
    } catch (error) {
      show();
      refused(error);
      return;
    }
    const now = belief[state];
    if (now === 0 || belief.every((p, other) => other === state || p === 0)) {
      show();
      tell(speaker.say("settled", { node: name }));
      return;
    }
    numbers[state] *= probability / (1 - probability) / (now / (1 - now));
    const most = Math.max(...numbers);
    numbers = numbers.map((number) => Number(((100 * number) / most).toPrecision(4)));
    await set(node, { kind: "likelihood", numbers });
  }

  async function why(node: number): Promise<void> {
    const title = speaker.say("why_of", { node: network.nodes[node].name });
    try {
      const text = await source.why!(node, session.findings, session.lang);
      await showPage(title, text, { text: speaker.say("paths_of", { node: network.nodes[node].name }), done: () => panels.showPaths(node) });
    } catch (error) {
      refused(error);
    }
  }

  function help(): Promise<void> {
    const keys = ["observe", "not", "weigh", "why", "retract", "move", "carry", "hover", "undo", "zoom", "find"];
    const used = keys.filter((key) => key !== "why" || source.why);
    return showLines(speaker.say("help"), [...used.map((key) => speaker.say(`key_${key}`)), speaker.say("legend")]);
  }

  let matches: number[] = [];
  let at = -1;
  const field = part<HTMLInputElement>("find");
  function find(): void {
    const text = field.value.trim().toLowerCase();
    matches = text ? network.nodes.flatMap(({ name }, node) => (name.toLowerCase().includes(text) ? [node] : [])) : [];
    at = -1;
    canvas.marked(new Set(matches));
    part("found").textContent = !text
      ? ""
      : matches.length
        ? speaker.say("n_found", { n: matches.length })
        : speaker.say("none_found", { text: field.value });
  }
  field.addEventListener("input", find);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.length) {
      at = (at + 1) % matches.length;
      canvas.approach(matches[at]);
    } else if (event.key === "ArrowDown" && matches.length) {
      event.preventDefault();
      canvas.focus(matches[Math.max(at, 0)], 0);
    } else if (event.key === "Escape") {
      field.value = "";
      find();
      field.blur();
    }
  });

  const undo = () => doing(session.step(-1));
  const redo = () => doing(session.step(1));
  button("undo").addEventListener("click", undo);
  button("redo").addEventListener("click", redo);
  button("clear").addEventListener("click", () => doing(session.change((findings) => findings.clear())));
  button("zoom-in").addEventListener("click", () => canvas.zoom(1.25));
  button("zoom-out").addEventListener("click", () => canvas.zoom(0.8));
  button("fit").addEventListener("click", () => canvas.fit());
  button("help").addEventListener("click", help);
  button("alert-close").addEventListener("click", () => {
    tell("");
    show();
  });
  button("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    const next = dark ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    kept.set("theme", next);
  });
  button("language").addEventListener("click", () => {
    network.lang = network.lang === "zh" ? "en" : "zh";
    kept.set("lang", network.lang);
    tell("");
    speak();
    find();
  });
  function download(text: string | Blob, kind: string, suffix: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = `${(network.name || "network").replace(/[^\p{L}\p{N}_-]+/gu, "_")}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
  button("save").addEventListener("click", () => download(canvas.picture(), "image/svg+xml", "svg"));

  /** What is on the screen as a picture of pixels, two for each of the page. */
  async function png(): Promise<void> {
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(canvas.picture())}`;
    await picture.decode();
    const drawn = document.createElement("canvas");
    [drawn.width, drawn.height] = [2 * picture.width, 2 * picture.height];
    drawn.getContext("2d")!.drawImage(picture, 0, 0, drawn.width, drawn.height);
    drawn.toBlob((blob) => blob && download(blob, "image/png", "png"), "image/png");
  }

  async function keepLayout(): Promise<void> {
    try {
      await source.keepLayout!(canvas.kept(), session.lang);
    } catch (error) {
      refused(error);
      throw error;
    }
  }

  button("publish").hidden = source.publish === null;
  button("publish").addEventListener("click", async () => {
    try {
      download(await source.publish!(session.findings), "text/html", "html");
    } catch (error) {
      refused(error);
    }
  });

  document.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (event.key === "Escape" && target.closest("#panel")) panels.close();
    if (event.key === "Escape" && target.closest("#story")) story.close();
    if (target.closest("input, select, dialog, #panel")) return;
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (control && key === "z") void (event.shiftKey ? redo() : undo());
    else if (control && key === "y") void redo();
    else if (control || (event.altKey && !event.key.startsWith("Arrow"))) return;
    else if (event.key === "/") field.focus();
    else if (event.key === "+" || event.key === "=") canvas.zoom(1.25);
    else if (event.key === "-") canvas.zoom(0.8);
    else if (event.key === "0") canvas.fit();
    else if (event.key === "?") void help();
    else if (!onRow(target, event)) return;
    event.preventDefault();
  });

  /** Keys on a row; whether this was one. */
  function onRow(target: Element, event: KeyboardEvent): boolean {
    const row = target.closest<SVGGElement>(".row");
    if (row === null) return onPill(target, event.key);
    const [node, state] = [Number(row.dataset.node), Number(row.dataset.state)];
    const last = canvas.cards[node].rows.length - 1;
    const key = event.key;
    if (key === "Enter" || key === " ") canvas.pressed(node, state, event.shiftKey);
    else if (key === "Delete" || key === "Backspace") {
      if (session.findings.has(node)) void set(node, null);
    } else if (key.toLowerCase() === "l") void weigh(node);
    else if (key.toLowerCase() === "w") void (source.why && network.nodes[node].states && why(node));
    else if (event.altKey && key.startsWith("Arrow")) canvas.carry(node, key);
    else if (key === "ArrowDown" && state < last) canvas.focus(node, state + 1);
    else if (key === "ArrowUp" && state > 0) canvas.focus(node, state - 1);
    else if (key.startsWith("Arrow")) {
      const next = canvas.beside(node, key);
      if (next !== null) canvas.focus(next, key === "ArrowUp" ? Infinity : key === "ArrowDown" ? 0 : state);
    } else return false;
    return true;
  }

  /** Keys on a pill. */
  function onPill(target: Element, key: string): boolean {
    const pill = target.closest<SVGGElement>(".pill");
    if (pill === null) return false;
    const node = Number(pill.dataset.node);
    if (key === "Enter" || key === " ") canvas.open(node);
    else if (key === "Delete" || key === "Backspace") {
      if (session.findings.has(node)) void set(node, null);
    } else if (key.startsWith("Arrow")) {
      const next = canvas.beside(node, key);
      if (next !== null) canvas.focus(next, 0);
    } else return false;
    return true;
  }

  // Words come first: the room for the canvas depends on them.
  speaker.speak(network.lang);
  await lay(network.layout ?? { direction: "auto", cards: [], pills: [] });
  speak();
  if (network.nodes.length === 0 && network.edits) panels.toggle("edit");
  return { restore };
}

/** Say why there is nothing to see. */
export function fail(error: Error): void {
  part("alert-text").textContent = error.message;
  part("alert").hidden = false;
}
