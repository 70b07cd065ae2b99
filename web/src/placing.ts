// Cards that were put somewhere by hand, and the arcs between them.
import type { Direction, Place, Size } from "./layers";

/** What is kept of a layout in the file beside the network: the cards and pills that were moved. */
export interface KeptLayout {
  direction: Direction;
  cards: [node: number, x: number, y: number][];
  pills: [node: number, x: number, y: number][];
}

export type Box = Place & Size;

/** A curve from the edge of one card to the edge of another, whichever way it lies; `aside` where it lies beside it. */
export function joined(from: Box, to: Box, aside = false): string {
  const below = to.y - (from.y + from.height);
  const above = from.y - (to.y + to.height);
  const right = to.x - (from.x + from.width);
  const left = from.x - (to.x + to.width);
  if (!aside && Math.max(below, above) >= Math.max(right, left)) {
    const down = below >= above;
    const start = { x: from.x + from.width / 2, y: down ? from.y + from.height : from.y };
    const end = { x: to.x + to.width / 2, y: down ? to.y : to.y + to.height };
    const middle = (start.y + end.y) / 2;
    return `M${start.x} ${start.y}C${start.x} ${middle} ${end.x} ${middle} ${end.x} ${end.y}`;
  }
  const onward = right >= left;
  const start = { x: onward ? from.x + from.width : from.x, y: from.y + from.height / 2 };
  const end = { x: onward ? to.x : to.x + to.width, y: to.y + to.height / 2 };
  const middle = (start.x + end.x) / 2;
  return `M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`;
}

/** What holds all of these; nothing at all is a small square. */
export function around(boxes: Box[], margin: number): Box {
  if (boxes.length === 0) return { x: 0, y: 0, width: 200, height: 200 };
  const left = Math.min(...boxes.map((box) => box.x)) - margin;
  const top = Math.min(...boxes.map((box) => box.y)) - margin;
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + margin;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + margin;
  return { x: left, y: top, width: right - left, height: bottom - top };
}
