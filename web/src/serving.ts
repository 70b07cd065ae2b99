// The numbers come from Python: from the server of `bayeskit explore`, or from the kernel of a notebook.
import { Refusal, Silence, type Finding, type Findings, type Source } from "./model";

/** Sends a request, and returns what came back; an answer that is an error is not ok. */
export type Transport = (path: string, lang: string, body: Record<string, unknown>) => Promise<{ ok: boolean; content: any }>;

/** A finding as requests have it. */
export interface SentFinding {
  node: number;
  state?: number;
  not?: number[];
  likelihood?: number[];
  value?: number;
}

export function listed(findings: Findings): SentFinding[] {
  return [...findings].map(([node, finding]) => {
    if (finding.kind === "state") return { node, state: finding.state };
    if (finding.kind === "not") return { node, not: finding.states };
    if (finding.kind === "likelihood") return { node, likelihood: finding.numbers };
    return { node, value: finding.value };
  });
}

export function findingsOf(sent: SentFinding[]): Findings {
  return new Map(sent.map(({ node, state, not, likelihood, value }): [number, Finding] => {
    if (state !== undefined) return [node, { kind: "state", state }];
    if (not !== undefined) return [node, { kind: "not", states: not }];
    if (likelihood !== undefined) return [node, { kind: "likelihood", numbers: likelihood }];
    return [node, { kind: "value", value: value! }];
  }));
}

/** A source of numbers behind a transport. */
export function serving(send: Transport, more: {
  worker: string | null;
  publish: ((version: string | null, findings: Findings) => Promise<string>) | null;
  keeps: boolean;
  edits: boolean;
}): Source {
  let version: string | null = null;

  async function sent(path: string, lang: string, body: Record<string, unknown>, findings: Findings = new Map()): Promise<any> {
    let answer: { ok: boolean; content: any };
    try {
      answer = await send(path, lang, body);
    } catch {
      throw new Silence();
    }
    if (!answer.ok) throw new Refusal(answer.content.message, answer.content.conflict ?? null, findings);
    return answer.content;
  }

  const ofVersion = (path: string) => (version === null ? path : `${path}?version=${version}`);

  function asked(path: string, lang: string, findings: Findings, body: object = {}): Promise<any> {
    return sent(ofVersion(path), lang, { ...body, findings: listed(findings) }, findings);
  }

  return {
    worker: more.worker,
    publish: more.publish && ((findings) => more.publish!(version, findings)),
    keepLayout: more.keeps ? async (layout, lang) => void (await sent(ofVersion("layout"), lang, { ...layout })) : null,
    editing: more.edits
      ? {
          use: (id) => (version = id),
          document: (lang) => sent("document", lang, {}),
          build: async (document, lang) => ({ ...(await sent("build", lang, { document })), document }),
          write: (document, format, lang) => sent("write", lang, { document, format }),
          columns: async (text, lang) => (await sent("columns", lang, { text })).names,
          learn: (text, required, forbidden, lang) => sent("learn", lang, { text, required, forbidden }),
        }
      : null,
    posteriors: (findings, lang) => asked("posteriors", lang, findings),
    next: (target, costs, findings, lang) => asked("next", lang, findings, { target, costs }),
    explanation: (findings, lang) => asked("explanation", lang, findings),
    decide: (node, loss, reject, findings, lang) => asked("decide", lang, findings, { node, loss, reject }),
    sensitivity: async (node, state, factor, findings, lang) =>
      (await asked("sensitivity", lang, findings, { node, state, factor })).rows,
    contributions: async (state, findings, lang) => {
      const found = await asked("contributions", lang, findings, { state });
      // JSON has no infinity; it comes as text.
      const number = (value: number | string | null) =>
        value === null ? NaN : value === "inf" ? Infinity : value === "-inf" ? -Infinity : value;
      const rows = found.rows.map((row: any) => ({ ...row, value: number(row.value) }));
      return { ...found, rows, log_odds: number(found.log_odds) };
    },
    counts: (node, findings, lang) => asked("counts", lang, findings, { node }),
    nomogram: (state, findings, lang) => asked("nomogram", lang, findings, { state }),
    why: async (node, findings, lang) => (await asked("why", lang, findings, { node })).text,
  };
}
