// A network that is being edited, as plain values, and the edits: each returns another document and leaves the old one
// as it was, so that undo is a step back. What an edit must invent (the numbers for a new parent) changes as little as
// it can: a new parent has no influence at first, a new state has probability 0.

export interface NodeDocument {
  name: string;
  states: string[];
  parents: number[];
  /** The rows of the table, one for each configuration of the parents, the last parent fastest. */
  table: number[][];
}

export interface NetworkDocument {
  name: string;
  nodes: NodeDocument[];
}

export const rows = ({ nodes }: NetworkDocument, parents: number[]) =>
  parents.reduce((product, parent) => product * nodes[parent].states.length, 1);

/** The numbers of a table that has these parents. */
export const cells = (document: NetworkDocument, node: number, parents = document.nodes[node].parents) =>
  rows(document, parents) * document.nodes[node].states.length;

/** The states of the parents in a row of a table. */
export function configuration({ nodes }: NetworkDocument, parents: number[], row: number): number[] {
  const found: number[] = [];
  for (const parent of [...parents].reverse()) {
    const size = nodes[parent].states.length;
    found.unshift(row % size);
    row = Math.floor(row / size);
  }
  return found;
}

/** Whether arcs lead from one node to another. */
export function leads({ nodes }: NetworkDocument, from: number, to: number): boolean {
  const seen = new Set([to]);
  for (const node of seen) for (const parent of nodes[node].parents) seen.add(parent);
  return seen.has(from);
}

function changed(document: NetworkDocument, node: number, how: Partial<NodeDocument>): NetworkDocument {
  return { ...document, nodes: document.nodes.map((each, k) => (k === node ? { ...each, ...how } : each)) };
}

/** A name that is not taken. */
export function free(taken: string[], stem: string): string {
  for (let k = taken.length + 1; ; k++) if (!taken.includes(`${stem} ${k}`)) return `${stem} ${k}`;
}

export function addNode(document: NetworkDocument, name: string, states: string[]): NetworkDocument {
  const node = { name, states, parents: [], table: [states.map(() => 1 / states.length)] };
  return { ...document, nodes: [...document.nodes, node] };
}

export function removeNode(document: NetworkDocument, gone: number): NetworkDocument {
  let left = document;
  document.nodes.forEach((node, child) => {
    if (node.parents.includes(gone)) left = removeArc(left, gone, child);
  });
  const nodes = left.nodes.filter((_, node) => node !== gone);
  return { ...left, nodes: nodes.map((node) => ({ ...node, parents: node.parents.map((parent) => parent - Number(parent > gone)) })) };
}

export const rename = (document: NetworkDocument, node: number, name: string) => changed(document, node, { name });
export const setTable = (document: NetworkDocument, node: number, table: number[][]) => changed(document, node, { table });

/**
 * Set one row: the one with these states of the parents. Edits may overtake each other, so the row is named by the states
 * and not by its place: if the node has got another parent since, the numbers hold for each of its states; if it has lost
 * one or has other states, there is no such row, and nothing changes.
 */
export function setRow(document: NetworkDocument, node: number, given: Map<number, number>, numbers: number[]): NetworkDocument {
  const { states, parents, table } = document.nodes[node] ?? { states: [], parents: [], table: [] };
  if (states.length !== numbers.length || [...given.keys()].some((parent) => !parents.includes(parent))) return document;
  const meant = (row: number) => configuration(document, parents, row).every((state, k) => (given.get(parents[k]) ?? state) === state);
  return changed(document, node, { table: table.map((old, row) => (meant(row) ? numbers : old)) });
}

export function renameState(document: NetworkDocument, node: number, state: number, name: string): NetworkDocument {
  return changed(document, node, { states: document.nodes[node].states.map((each, k) => (k === state ? name : each)) });
}

/** A new parent comes last; every row is repeated for its states. */
export function addArc(document: NetworkDocument, from: number, to: number): NetworkDocument {
  const { parents, table } = document.nodes[to];
  const size = document.nodes[from].states.length;
  return changed(document, to, { parents: [...parents, from], table: table.flatMap((row) => Array.from({ length: size }, () => [...row])) });
}

/** Without a parent a row is the mean of the rows of its states. */
export function removeArc(document: NetworkDocument, from: number, to: number): NetworkDocument {
  const { parents, table } = document.nodes[to];
  const left = parents.filter((parent) => parent !== from);
  const place = parents.indexOf(from);
  const groups = new Map<string, number[][]>();
  table.forEach((row, at) => {
    const key = configuration(document, parents, at).filter((_, k) => k !== place).join();
    groups.set(key, [...(groups.get(key) ?? []), row]);
  });
  const means = [...groups.values()].map((group) => group[0].map((_, k) => group.reduce((sum, row) => sum + row[k], 0) / group.length));
  return changed(document, to, { parents: left, table: means });
}

/** A new state has probability 0; where the node is a parent, it acts as its last state does. */
export function addState(document: NetworkDocument, node: number, name: string): NetworkDocument {
  const { states, table } = document.nodes[node];
  const nodes = document.nodes.map((each, k) => {
    if (k === node) return { ...each, states: [...states, name], table: table.map((row) => [...row, 0]) };
    if (!each.parents.includes(node)) return each;
    return { ...each, table: grown(document, each, node, states.length, (state) => Math.min(state, states.length - 1), states.length + 1) };
  });
  return { ...document, nodes };
}

/** Without a state the others keep their proportions. */
export function removeState(document: NetworkDocument, node: number, gone: number): NetworkDocument {
  const { states, table } = document.nodes[node];
  const nodes = document.nodes.map((each, k) => {
    if (k === node) {
      const left = table.map((row) => row.filter((_, state) => state !== gone)).map((row) => {
        const sum = row.reduce((a, b) => a + b, 0);
        return row.map((p) => (sum > 0 ? p / sum : 1 / row.length));
      });
      return { ...each, states: states.filter((_, state) => state !== gone), table: left };
    }
    if (!each.parents.includes(node)) return each;
    return { ...each, table: grown(document, each, node, states.length, (state) => state + Number(state >= gone), states.length - 1) };
  });
  return { ...document, nodes };
}

/** The table of a child whose parent gets another number of states; `old` says which of the old ones a new one acts as. */
function grown(
  document: NetworkDocument, child: NodeDocument, parent: number, before: number, old: (state: number) => number, now: number,
): number[][] {
  const place = child.parents.indexOf(parent);
  const after = child.parents.slice(place + 1).reduce((product, each) => product * document.nodes[each].states.length, 1);
  const first = child.table.length / (before * after);
  const found: number[][] = [];
  for (let a = 0; a < first; a++)
    for (let state = 0; state < now; state++)
      for (let b = 0; b < after; b++) found.push([...child.table[(a * before + old(state)) * after + b]]);
  return found;
}

/** The table of a noisy-OR: each cause that is present fails to produce the effect with probability 1 − p. */
export function noisyOr(document: NetworkDocument, node: number, present: number, causes: { state: number; p: number }[], leak: number): number[][] {
  const { parents, table } = document.nodes[node];
  return table.map((_, row) => {
    const states = configuration(document, parents, row);
    const absent = states.reduce((product, state, k) => product * (state === causes[k].state ? 1 - causes[k].p : 1), 1 - leak);
    return [0, 1].map((state) => (state === present ? 1 - absent : absent));
  });
}

/** A number as people write it: decimals, or a fraction such as 1/3. */
export function typed(text: string): number {
  const parts = text.trim().split("/");
  if (parts.length > 2 || parts.some((part) => !/^\d*\.?\d+(e-?\d+)?$|^\d+\.$/i.test(part.trim()))) return NaN;
  const [top, bottom = 1] = parts.map(Number);
  return top / bottom;
}
