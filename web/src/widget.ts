// The widget of notebooks: the page of the explorer in a frame, so that neither its names nor its style meet those of
// the notebook. Requests go to the kernel as messages, and the findings are a trait that both sides may set.
import type { Host } from "./served";
import type { SentFinding } from "./serving";

interface Model {
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, done: (content: any) => void): void;
  off(event: string, done: (content: any) => void): void;
}

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const waiting = new Map<number, (answer: { ok: boolean; content: any }) => void>();
    let asked = 0;
    let shown = JSON.stringify([]);
    let restore: ((findings: SentFinding[]) => void) | null = null;

    const answered = (message: { id: number; ok: boolean; content: any }) => {
      waiting.get(message.id)?.(message);
      waiting.delete(message.id);
    };
    const set = () => {
      const wanted = model.get("_findings") as SentFinding[];
      if (restore === null || JSON.stringify(wanted) === shown) return;
      shown = JSON.stringify(wanted);
      restore(wanted);
    };
    model.on("msg:custom", answered);
    model.on("change:_findings", set);

    const host: Host = {
      network: model.get("_network"),
      layout: model.get("_layout"),
      send: (path, lang, body) =>
        new Promise((resolve) => {
          waiting.set(++asked, resolve);
          model.send({ id: asked, path, lang, body });
        }),
      changed: (findings) => {
        const now = JSON.stringify(findings);
        if (restore === null || now === shown) return;
        shown = now;
        model.set("_findings", findings);
        model.save_changes();
      },
      ready: (done) => {
        restore = done;
        set();
      },
    };
    const frame = document.createElement("iframe");
    frame.title = "bayeskit";
    frame.style.cssText = `width: 100%; height: ${Number(model.get("height"))}px; border: 1px solid #8888; border-radius: 6px;`;
    Object.assign(frame, { bayeskit: host });
    frame.srcdoc = model.get("_page");
    el.append(frame);
    return () => {
      model.off("msg:custom", answered);
      model.off("change:_findings", set);
    };
  },
};
