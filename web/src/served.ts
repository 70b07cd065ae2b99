// The page of `bayeskit explore`; or the same page in the frame of a notebook, whose widget stands for the server.
import { Address, written } from "./address";
import { begin, fail } from "./main";
import { Refusal, Silence, type Findings, type Network } from "./model";
import { findingsOf, listed, serving, type SentFinding, type Transport } from "./serving";

/** What the widget of a notebook gives to the page in its frame. */
export interface Host {
  network: Network;
  /** The script of the worker that lays out. */
  layout: string;
  send: Transport;
  changed(findings: SentFinding[]): void;
  ready(restore: (findings: SentFinding[]) => void): void;
}

const fetched: Transport = async (path, lang, body) => {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Accept-Language": lang },
    body: JSON.stringify(body),
  });
  return { ok: answer.ok, content: await answer.json() };
};

async function published(version: string | null, findings: Findings): Promise<string> {
  const query = new URLSearchParams({ version: version ?? "", findings: written(findings) });
  let answer: Response;
  try {
    answer = await fetch(`published?${query}`);
  } catch {
    throw new Silence();
  }
  if (!answer.ok) throw new Refusal((await answer.json()).message, null, new Map());
  return answer.text();
}

async function served(): Promise<void> {
  history.replaceState(null, "", location.pathname + location.hash); // the token is not to be copied with the address
  const answer = await fetch("network");
  const network = await answer.json();
  if (!answer.ok) throw new Error(network.message);
  const address = new Address(network);
  const sent = address.findings; // before the page writes its own
  const source = serving(fetched, { worker: "layout.js", publish: published, keeps: network.keeps_layout, edits: network.edits });
  const page = await begin(network, source, address.keep);
  if (sent.size) void page.restore(sent);
  address.follow((findings) => void page.restore(findings));
}

async function framed({ network, layout, send, changed, ready }: Host): Promise<void> {
  const worker = URL.createObjectURL(new Blob([layout], { type: "text/javascript" }));
  const source = serving(send, { worker, publish: null, keeps: false, edits: false });
  const page = await begin(network, source, (findings) => changed(listed(findings)));
  ready((findings) => void page.restore(findingsOf(findings)));
}

const host = (window.frameElement as (Element & { bayeskit?: Host }) | null)?.bayeskit;
(host ? framed(host) : served()).catch(fail);
