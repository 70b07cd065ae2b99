// Questions to the user, and pages of text.
import type { Finding, NodeInfo } from "./model";
import type { Speaker } from "./words";

const part = <T extends Element = HTMLElement>(id: string) => document.getElementById(id) as unknown as T;
const MOST = 100;

/** Ask with the fields of a form. Undefined: nothing changes; null: the finding is retracted. */
function asked(
  title: string,
  hint: string,
  fields: HTMLElement[],
  read: () => Finding | null | string,
): Promise<Finding | null | undefined> {
  const dialog = part<HTMLDialogElement>("ask");
  const form = dialog.querySelector("form")!;
  part("ask-title").textContent = title;
  part("ask-hint").textContent = hint;
  part("ask-problem").textContent = "";
  part("ask-fields").replaceChildren(...fields);
  return new Promise((resolve) => {
    let found: Finding | null | undefined;
    form.onsubmit = (event) => {
      const answer = read();
      if (typeof answer !== "string") {
        found = answer;
        return;
      }
      event.preventDefault();
      part("ask-problem").textContent = answer;
    };
    part("ask-cancel").onclick = () => dialog.close();
    dialog.onclose = () => resolve(found);
    dialog.showModal();
    dialog.querySelector("input")?.focus();
  });
}

export function askNumber(speaker: Speaker, node: NodeInfo, held: Finding | undefined): Promise<Finding | null | undefined> {
  const input = document.createElement("input");
  input.type = "text";
  input.inputMode = "decimal";
  input.value = held?.kind === "value" ? String(held.value) : "";
  const label = document.createElement("label");
  const name = document.createElement("span");
  name.textContent = speaker.say("number");
  label.append(name, input);
  return asked(speaker.say("observe_number", { node: node.name }), "", [label], () => {
    const text = input.value.trim();
    if (text === "") return null;
    const value = Number(text);
    return Number.isFinite(value) ? { kind: "value", value } : speaker.say("not_number");
  });
}

export function askLikelihoods(
  speaker: Speaker, node: NodeInfo, held: Finding | undefined,
): Promise<Finding | null | undefined> {
  const states = node.states!;
  const start = states.map((_, state) => {
    if (held === undefined) return MOST;
    if (held.kind === "state") return held.state === state ? MOST : 0;
    if (held.kind === "not") return held.states.includes(state) ? 0 : MOST;
    return held.kind === "likelihood" ? held.numbers[state] : MOST;
  });
  const most = Math.max(MOST, ...start);
  const inputs: HTMLInputElement[] = [];
  const labels = states.map((state, place) => {
    const label = document.createElement("label");
    const name = document.createElement("span");
    name.textContent = state;
    const [slider, exact] = ["range", "number"].map((type) => {
      const input = document.createElement("input");
      input.type = type;
      input.min = "0";
      if (type === "range") input.max = String(most);
      input.step = "any";
      input.value = String(start[place]);
      input.setAttribute("aria-label", `${node.name}, ${state}`);
      return input;
    });
    slider.addEventListener("input", () => (exact.value = String(Math.round(Number(slider.value)))));
    exact.addEventListener("input", () => (slider.value = exact.value));
    inputs.push(exact);
    label.append(name, slider, exact);
    return label;
  });
  return asked(speaker.say("weigh", { node: node.name }), speaker.say("weigh_hint"), labels, () => {
    const numbers = inputs.map((input) => (input.value.trim() === "" ? NaN : Number(input.value)));
    if (!numbers.every((number) => Number.isFinite(number) && number >= 0)) return speaker.say("not_number");
    if (!numbers.some((number) => number > 0)) return speaker.say("all_zero");
    return numbers.every((number) => number === numbers[0]) ? null : { kind: "likelihood", numbers };
  });
}

/** What leads on from a page. */
interface More {
  text: string;
  done: () => void;
}

function page(title: string, content: Node[], kind: string, more?: More): Promise<void> {
  const dialog = part<HTMLDialogElement>("page");
  part("page-title").textContent = title;
  part("page-text").replaceChildren(...content);
  part("page-text").className = kind;
  part("page-close").onclick = () => dialog.close();
  const onward = part("page-more");
  onward.hidden = more === undefined;
  onward.textContent = more?.text ?? "";
  let isMore = false;
  onward.onclick = () => {
    isMore = true;
    dialog.close();
  };
  return new Promise((resolve) => {
    dialog.onclose = () => {
      resolve();
      if (isMore) more!.done();
    };
    dialog.showModal();
  });
}

/** A page of arithmetic: its tables keep their columns, and the lines above the first of them may take two lines. */
export function showPage(title: string, text: string, more: More): Promise<void> {
  const gap = text.indexOf("\n\n") + 1;
  const top = document.createElement("div");
  top.className = "top";
  top.textContent = text.slice(0, gap);
  return page(title, [top, document.createTextNode(text.slice(gap))], "", more);
}

export const showLines = (title: string, lines: string[]) => page(title, [document.createTextNode(lines.join("\n"))], "lines");
