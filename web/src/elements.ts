// Parts of the page, made in a line.

export const part = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;

export function made<K extends keyof HTMLElementTagNameMap>(
  kind: K, text = "", className = "", ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(kind);
  if (text) element.textContent = text;
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

export function button(text: string, done: () => void, className = ""): HTMLButtonElement {
  const found = made("button", text, className);
  found.type = "button";
  found.addEventListener("click", done);
  return found;
}

/** A field to choose from, with its name before it. */
export function chooser(
  id: string, name: string, options: [value: string, text: string][], chosen: string, done: (value: string) => void,
): HTMLLabelElement {
  const field = made("select");
  field.id = id;
  for (const [value, text] of options) {
    const option = made("option", text);
    option.value = value;
    option.selected = value === chosen;
    field.append(option);
  }
  field.addEventListener("change", () => done(field.value));
  return made("label", "", "choose", made("span", name), field);
}

/** A table with a row of heads; the first column is of words, all others of numbers, unless `words` says how many. */
export function table(heads: string[], rows: HTMLTableRowElement[], words = 1): HTMLTableElement {
  const cells = heads.map((head, place) => made("th", head, place < words ? "" : "number"));
  for (const cell of cells) cell.scope = "col";
  return made("table", "", "figures", made("thead", "", "", made("tr", "", "", ...cells)), made("tbody", "", "", ...rows));
}

const NS = "http://www.w3.org/2000/svg";

/** A drawing in a panel; what it shows is said beside it in words. */
export function drawn(width: number, height: number, className = ""): SVGSVGElement {
  const svg = document.createElementNS(NS, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-hidden", "true");
  if (className) svg.setAttribute("class", className);
  return svg;
}

export function shape<K extends keyof SVGElementTagNameMap>(
  parent: Element, kind: K, attributes: Record<string, string | number>, text = "",
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(NS, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text) element.textContent = text;
  parent.append(element);
  return element;
}

/** A number with its percent sign, where it is a number. */
export const signed = (shown: string) => (/^[\d.]+$/.test(shown) ? `${shown}%` : shown);
