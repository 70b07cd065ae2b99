// Layers of cards, each below its parents, that hold only as many cards as suit the window: dagre's grow as wide as
// they like, and pigs, with 441 nodes, was 57,000 px wide. Long arcs pass behind the cards. Where even these cards are
// too small to be read, the whole is shown as pills, in the same layers. Many narrow layers, as those of a chain, stand
// in columns beside one another: a chain of 1,000 nodes would be a line as wide as a hair.
import { joined } from "./placing";

export interface Place {
  x: number;
  y: number;
}

export interface Arrangement {
  width: number;
  height: number;
  /** The upper left corner of each card. */
  places: Place[];
  /** The path of each arc. */
  lines: string[];
}

export interface Spacing {
  card: number;
  beside: number;
  between: number;
  margin: number;
}

export interface Layouts {
  near: Arrangement;
  /** Of pills; null where there are few cards, and the window shows all of them at a size that can be read. */
  far: Arrangement | null;
}

export type Arc = readonly [number, number];
export interface Size {
  width: number;
  height: number;
}

/** Which way the arcs go; "auto" is the way that shows the whole larger. */
export type Direction = "auto" | "down" | "right";

/** What is to be laid out, in which window. */
export interface Request {
  heights: number[];
  arcs: Arc[];
  window: Size;
  cards: Spacing;
  pills: Spacing & { height: number };
  direction: Direction;
}

// Where the window shows a drawing smaller than this, it cannot be read.
export const LEAST = 0.4;
// More cards than this become pills when one zooms out, and may stand in columns; with fewer, arcs lead one way only.
const MOST_CARDS = 60;
const MOST_COLUMNS = 12;
// Columns are used where they show all so much larger.
const MUCH = 1.5;
const SWEEPS = 24;

/** Layers below one another, in one column or in several. */
type Columns = number[][][];

export const shown = (size: Size, window: Size) => Math.min(1, window.width / size.width, window.height / size.height);

/** Lay cards out in layers of bounded width; and pills, where the cards would be too small. */
export function layers({ heights, arcs, window, cards, pills }: Request): Layouts {
  const graph = neighbours(heights.length, arcs);
  const wide = bounded(heights, graph, window, cards);
  const near = packed(heights, arcs, cards, graph, wide);
  const isRead = shown(near, window) >= LEAST;
  if (isRead && heights.length <= MOST_CARDS) return { near, far: null };
  const low = heights.map(() => pills.height);
  const columns = isRead ? wide : bounded(low, graph, window, pills);
  const far = packed(low, arcs, pills, graph, columns);
  return { near: isRead ? near : packed(heights, arcs, cards, graph, columns), far };
}

const width = (layers: number[][]) => Math.max(1, ...layers.map((layer) => layer.length));

const tall = (layer: number[], heights: number[]) => Math.max(...layer.map((node) => heights[node]));

/** From the left edge of a column to that of the next. */
const step = (most: number, { card, beside, between }: Spacing) => most * (card + beside) - beside + between;

function extent(columns: Columns, heights: number[], spacing: Spacing): Size {
  const { between, margin } = spacing;
  const long = columns.map((layers) => layers.reduce((sum, layer) => sum + tall(layer, heights) + between, -between));
  const most = width(columns.flat());
  return { width: columns.length * step(most, spacing) - between + 2 * margin, height: Math.max(...long) + 2 * margin };
}

/** Divide layers among columns of about the same height. */
function divided(layers: number[][], heights: number[], { between }: Spacing, n: number): Columns {
  const total = layers.reduce((sum, layer) => sum + tall(layer, heights) + between, 0);
  const columns: Columns = Array.from({ length: n }, () => []);
  let before = 0;
  for (const layer of layers) {
    const height = tall(layer, heights) + between;
    columns[Math.floor((n * (before + height / 2)) / total)].push(layer);
    before += height;
  }
  return columns.filter((column) => column.length);
}

/** Layers of bounded width: the bound that shows the whole largest; of several, the widest, where arcs have most room. */
function bounded(heights: number[], graph: Neighbours, window: Size, spacing: Spacing): Columns {
  const tried: { columns: Columns; zoom: number }[] = [];
  const parted: typeof tried = [];
  const seen = (columns: Columns) => {
    const size = extent(columns, heights, spacing);
    return { columns, zoom: Math.min(window.width / size.width, window.height / size.height) };
  };
  const largest = (each: typeof tried) => Math.max(0, ...each.map(({ zoom }) => zoom));
  for (let most = 1; most <= heights.length; most++) {
    const layers = layered(graph, most);
    tried.push(seen([layers]));
    const { height, width: wide } = extent([layers], heights, spacing);
    // Columns help where layers are many for their width.
    const wanted = Math.round(Math.sqrt((height * window.width) / (wide * window.height)));
    if (wanted > 1 && heights.length > MOST_CARDS) {
      parted.push(seen(divided(layers, heights, spacing, Math.min(wanted, MOST_COLUMNS, layers.length))));
    }
    if (width(layers) < most) break;
  }
  const best = largest(tried);
  const [from, zoom] = largest(parted) > MUCH * best ? [parted, largest(parted)] : [tried, best];
  return from.findLast((each) => each.zoom >= 0.97 * zoom)!.columns;
}

function packed(
  heights: number[], arcs: readonly Arc[], spacing: Spacing, graph: Neighbours, columns: Columns,
): Arrangement {
  const layers = columns.flat();
  const most = width(layers);
  const lefts = ordered(layers, graph, most, spacing.card + spacing.beside);
  const places: Place[] = [];
  const column: number[] = [];
  columns.forEach((stack, k) => {
    let y = spacing.margin;
    for (const layer of stack) {
      for (const node of layer) {
        places[node] = { x: spacing.margin + k * step(most, spacing) + lefts[node], y };
        column[node] = k;
      }
      y += tall(layer, heights) + spacing.between;
    }
  });
  const box = (node: number) => ({ ...places[node], width: spacing.card, height: heights[node] });
  const lines = arcs.map(([a, b]) => {
    if (column[a] !== column[b]) return joined(box(a), box(b), true);
    const [from, to] = places[a].y <= places[b].y ? [a, b] : [b, a];
    const start = { x: places[from].x + spacing.card / 2, y: places[from].y + heights[from] };
    const end = { x: places[to].x + spacing.card / 2, y: places[to].y };
    const pull = Math.max(spacing.between / 2, (end.y - start.y) * 0.4);
    const [first, last, by] = from === a ? [start, end, pull] : [end, start, -pull];
    return `M${first.x} ${first.y}C${first.x} ${first.y + by} ${last.x} ${last.y - by} ${last.x} ${last.y}`;
  });
  return { ...extent(columns, heights, spacing), places, lines };
}

interface Neighbours {
  parents: number[][];
  children: number[][];
  /** The longest way down from each node. */
  depth: number[];
}

function neighbours(n: number, arcs: readonly Arc[]): Neighbours {
  const parents: number[][] = Array.from({ length: n }, () => []);
  const children: number[][] = Array.from({ length: n }, () => []);
  for (const [from, to] of arcs) {
    children[from].push(to);
    parents[to].push(from);
  }
  const depth: number[] = new Array(n).fill(0);
  const waiting = children.map((list) => list.length);
  const ready = waiting.flatMap((count, node) => (count ? [] : [node]));
  while (ready.length) {
    const node = ready.pop()!;
    for (const parent of parents[node]) {
      depth[parent] = Math.max(depth[parent], depth[node] + 1);
      if (--waiting[parent] === 0) ready.push(parent);
    }
  }
  return { parents, children, depth };
}

/** Layers of at most so many nodes, the ones with the longest way down first (Coffman and Graham). */
function layered({ parents, children, depth }: Neighbours, most: number): number[][] {
  const layers: number[][] = [];
  const at: number[] = [];
  const waiting = parents.map((list) => list.length);
  let ready = waiting.flatMap((count, node) => (count ? [] : [node]));
  while (ready.length) {
    ready.sort((a, b) => depth[b] - depth[a] || parents[b].length - parents[a].length || a - b);
    const layer = ready.slice(0, most);
    ready = ready.slice(most);
    for (const node of layer) {
      at[node] = layers.length;
      for (const child of children[node]) if (--waiting[child] === 0) ready.push(child);
    }
    layers.push(layer);
  }
  // A node goes down to its children where there is room: arcs become shorter.
  for (let level = layers.length - 1; level >= 0; level--) {
    for (const node of [...layers[level]]) {
      if (children[node].length <= parents[node].length) continue;
      let lowest = Math.min(...children[node].map((child) => at[child])) - 1;
      while (lowest > level && layers[lowest].length >= most) lowest--;
      if (lowest <= level || layers[level].length === 1) continue;
      layers[level].splice(layers[level].indexOf(node), 1);
      layers[lowest].push(node);
      at[node] = lowest;
    }
  }
  return layers;
}

/** Order each layer, and move its cards to where their neighbours are; the left edge of each. */
function ordered(layers: number[][], { parents, children }: Neighbours, most: number, pitch: number): number[] {
  const x: number[] = [];
  const near = parents.map((list, node) => [...list, ...children[node]]);
  for (const layer of layers) layer.forEach((node, place) => (x[node] = (place + (most - layer.length) / 2) * pitch));
  const length = () => near.reduce((sum, list, node) => sum + list.reduce((part, other) => part + Math.abs(x[node] - x[other]), 0), 0);
  let best = { length: length(), x: [...x] };
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wanted = new Map(layer.map((node) => {
        const around = near[node];
        return [node, around.length ? around.reduce((sum, other) => sum + x[other], 0) / around.length : x[node]];
      }));
      layer.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
      apart(layer.map((node) => wanted.get(node)!), pitch, (most - 1) * pitch).forEach((at, place) => (x[layer[place]] = at));
    }
    const now = length();
    if (now < best.length) best = { length: now, x: [...x] };
  }
  return best.x;
}

/** The positions nearest to those wanted (least squares), a pitch apart: the pooling of adjacent violators. */
function apart(wanted: number[], pitch: number, last: number): number[] {
  const blocks: { sum: number; n: number }[] = [];
  wanted.forEach((at, place) => {
    blocks.push({ sum: at - place * pitch, n: 1 });
    while (blocks.length > 1) {
      const [above, below] = [blocks[blocks.length - 2], blocks[blocks.length - 1]];
      if (above.sum / above.n <= below.sum / below.n) break;
      above.sum += below.sum;
      above.n += below.n;
      blocks.pop();
    }
  });
  const room = last - (wanted.length - 1) * pitch;
  return blocks
    .flatMap(({ sum, n }) => new Array<number>(n).fill(Math.min(room, Math.max(0, sum / n))))
    .map((at, place) => at + place * pitch);
}
