// Where the cards lie. This runs in a worker, so that the page can be used meanwhile. Small networks are laid out by
// dagre, which leads long arcs around the cards; all others in layers of bounded width.
import { graphlib, layout } from "@dagrejs/dagre";
import { layers, LEAST, shown, type Arc, type Arrangement, type Layouts, type Place, type Request, type Size, type Spacing } from "./layers";

// Above this, dagre takes a second and more.
const MOST_ROUTED = 60;
// Smaller than this, what dagre laid out is compared with layers of bounded width.
const SMALL = 0.5;

/** Lay cards of given heights out, each below its parents or to the right of them. */
function arranged(request: Request): Layouts {
  if (request.heights.length === 0) return { near: { width: 200, height: 200, places: [], lines: [] }, far: null };
  const { heights, arcs, window, cards, direction } = request;
  if (heights.length <= MOST_ROUTED) {
    const ways = direction === "auto" ? ["TB", "LR"] : [direction === "down" ? "TB" : "LR"];
    const candidates = ways.map((way) => routed(heights, arcs, way, cards));
    const [first, second] = candidates.map((each) => shown(each, window));
    const [near, zoom] = second > first * 1.2 ? [candidates[1], second] : [candidates[0], first];
    if (zoom >= SMALL || direction !== "auto") return { near, far: null };
    const found = layers(request);
    return zoom >= LEAST && shown(found.near, window) < zoom * 1.1 ? { near, far: null } : found;
  }
  return layers(request);
}

function routed(heights: number[], arcs: readonly Arc[], rankdir: string, spacing: Spacing): Arrangement {
  const graph = new graphlib.Graph();
  const { margin } = spacing;
  graph.setGraph({ rankdir, nodesep: spacing.beside, ranksep: spacing.between, marginx: margin, marginy: margin });
  graph.setDefaultEdgeLabel(() => ({}));
  heights.forEach((height, node) => graph.setNode(String(node), { width: spacing.card, height }));
  for (const [from, to] of arcs) graph.setEdge(String(from), String(to));
  layout(graph);
  const { width, height } = graph.graph() as Size;
  const places = heights.map((tall, node) => {
    const { x, y } = graph.node(String(node)) as Place;
    return { x: x - spacing.card / 2, y: y - tall / 2 };
  });
  const lines = arcs.map(([from, to]) => curve((graph.edge(String(from), String(to)) as { points: Place[] }).points));
  return { width, height, places, lines };
}

/** A smooth line through the points of dagre. */
function curve(points: Place[]): string {
  const [first, ...rest] = points;
  const last = rest[rest.length - 1];
  let d = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const end = i === rest.length - 2 ? last : { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    d += `Q${rest[i].x} ${rest[i].y} ${end.x} ${end.y}`;
  }
  return rest.length === 1 ? `${d}L${last.x} ${last.y}` : d;
}

addEventListener("message", ({ data }: MessageEvent<Request>) => postMessage(arranged(data)));
