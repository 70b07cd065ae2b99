// Asks the worker where the cards lie. Where a page may not have a worker, this thread makes the layers itself.
import { layers, type Layouts, type Request } from "./layers";

declare const LAYOUT_CODE: string;

/** Lay a network out beside this thread. The worker is a file of the server, or comes with the page. */
export function arranged(request: Request, file: string | null): Promise<Layouts> {
  performance.mark("layout-begins");
  return new Promise<Layouts>((resolve) => {
    let worker: Worker;
    try {
      worker = new Worker(file ?? URL.createObjectURL(new Blob([LAYOUT_CODE], { type: "text/javascript" })));
    } catch {
      resolve(layers(request));
      return;
    }
    const done = (found: Layouts) => {
      worker.terminate();
      resolve(found);
    };
    worker.addEventListener("message", ({ data }: MessageEvent<Layouts>) => done(data));
    worker.addEventListener("error", () => done(layers(request)));
    worker.postMessage(request);
  }).finally(() => performance.measure("layout", "layout-begins"));
}
