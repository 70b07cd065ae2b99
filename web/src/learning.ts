// Learn a network from a table: choose a file, say which arcs must or must not be there, and learn.
import type { NetworkDocument } from "./document";
import { button, chooser, made } from "./elements";
import type { Desk } from "./panels";

const LONGEST = 15_000_000;

export class Learning {
  private text = "";
  private file = "";
  private columns: string[] = [];
  private arcs: { kind: "required" | "forbidden"; from: number; to: number }[] = [];
  private drafted: { kind: "required" | "forbidden"; from: number; to: number } = { kind: "required", from: 0, to: 1 };

  constructor(private desk: Desk, private taken: (document: NetworkDocument) => Promise<void>) {}

  panel(): Node[] {
    const { desk } = this;
    const input = made("input");
    input.id = "learn-file";
    input.type = "file";
    input.accept = ".csv,text/csv";
    input.addEventListener("change", () => void this.open(input.files?.[0]));
    const parts: Node[] = [
      made("h3", desk.say("learn_title")), made("p", desk.say("learn_hint"), "quiet"),
      made("label", "", "choose", made("span", desk.say("table_file")), input),
    ];
    if (this.columns.length === 0) return parts;
    parts.push(made("p", desk.say("columns_found", { file: this.file, n: this.columns.length })));
    const names = this.columns.map((name, k): [string, string] => [String(k), name]);
    const { drafted } = this;
    parts.push(
      ...this.arcs.map(({ kind, from, to }, k) => {
        const values = { from: this.columns[from], to: this.columns[to] };
        const text = kind === "required" ? desk.say("required_arc", values) : desk.say("forbidden_arc", values);
        const gone = button("×", () => {
          this.arcs.splice(k, 1);
          desk.again();
        });
        gone.setAttribute("aria-label", desk.say("remove", { finding: text }));
        return made("div", "", "line", made("span", text), gone);
      }),
      chooser("arc-kind", desk.say("arc"), [["required", desk.say("required")], ["forbidden", desk.say("forbidden")]], drafted.kind, (value) => (drafted.kind = value as "required")),
      chooser("arc-from", desk.say("arc_from"), names, String(drafted.from), (value) => (drafted.from = Number(value))),
      chooser("arc-to", desk.say("arc_to"), names, String(drafted.to), (value) => (drafted.to = Number(value))),
    );
    const add = button(desk.say("add_arc"), () => {
      if (drafted.from !== drafted.to) this.arcs.push({ ...drafted });
      desk.again();
    });
    add.id = "add-arc";
    const learn = button(desk.say("learn"), () => void this.learn(learn));
    learn.id = "learn";
    parts.push(made("div", "", "buttons", add, learn));
    return parts;
  }

  private async open(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    const { desk } = this;
    this.columns = [];
    this.arcs = [];
    if (file.size > LONGEST) {
      desk.told(new Error(desk.say("file_long", { most: LONGEST.toLocaleString("en") })));
      return;
    }
    try {
      this.text = await file.text();
      this.columns = await desk.session.source.editing!.columns(this.text, desk.session.lang);
      this.file = file.name;
      this.drafted = { kind: "required", from: 0, to: Math.min(1, this.columns.length - 1) };
    } catch (error) {
      desk.told(error);
    }
    desk.again();
  }

  private async learn(pressed: HTMLButtonElement): Promise<void> {
    const { desk } = this;
    pressed.disabled = true;
    const pairs = (kind: string) => this.arcs.flatMap((arc): [number, number][] => (arc.kind === kind ? [[arc.from, arc.to]] : []));
    try {
      await this.taken(await desk.session.source.editing!.learn(this.text, pairs("required"), pairs("forbidden"), desk.session.lang));
    } catch (error) {
      desk.told(error);
    } finally {
      pressed.disabled = false;
    }
  }
}
