import type { Case, Final } from './farm-evidence.ts';

const LISTENERS = new Set(['listener', 'impatient']);

/** Every signal that was acknowledged is in one place: with the task that took it, or with nobody yet. */
export function checkSignals(it: Case): void {
  const channelOf = new Map<string, string>();
  const sent = new Set<string>();
  const asks = new Map<string, string>();
  for (const note of it.evidence.notes) {
    if (note.note === 'ask' && note.verb === 'signal') {
      channelOf.set(note.keys[0] as string, note.kind);
      asks.set(note.call, note.keys[0] as string);
    }
  }
  const wokenBy = new Map<string, string>();
  for (const note of it.evidence.notes) {
    if (note.note !== 'told' || note.woken === undefined) continue;
    const body = asks.get(note.call) as string;
    const woken = note.woken.join();
    if ((wokenBy.get(body) ?? woken) !== woken) it.wrong(`${body} woke ${wokenBy.get(body)}, and then ${woken}`);
    wokenBy.set(body, woken);
    sent.add(body);
    if (woken === '') it.gates.signalsKept++;
  }
  const places = new Map<string, number[]>();
  for (const { channel, body, task } of it.evidence.words) {
    const word = JSON.parse(body) as string;
    places.set(word, [...(places.get(word) ?? []), task]);
    if (channelOf.get(word) !== channel) it.wrong(`nobody sent ${word} on ${channel}`);
    const woken = wokenBy.get(word);
    if (woken && woken !== String(task)) it.wrong(`${word} woke ${woken}, and is with ${task}`);
  }
  for (const body of sent) if (!places.has(body)) it.wrong(`the signal ${body} is lost`);
  for (const [word, tasks] of places) {
    if (tasks.length > 1) it.wrong(`the signal ${word} is in ${tasks.length} places: ${tasks}`);
    if (!tasks.includes(0)) it.gates.signalsTaken++;
  }
  const taken = new Map(it.evidence.words.map(({ task, body }) => [task, JSON.parse(body) as string]));
  for (const final of it.evidence.finals) {
    if (LISTENERS.has(final.handler) && final.state === 'completed') heard(it, final, taken.get(final.task));
  }
}

function heard(it: Case, { id, handler, result }: Final, taken: string | undefined): void {
  const { word } = JSON.parse(result ?? '{}') as { word?: string | null };
  if (word === null && handler === 'impatient') {
    it.gates.waitsTimedOut++;
    if (taken !== undefined) it.wrong(`${id} heard nothing, and took ${taken}`);
  } else if (word !== taken) it.wrong(`${id} heard ${word}, and took ${taken}`);
}
