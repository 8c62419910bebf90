import { type Case, endedIt, type Final } from './farm-evidence.ts';
import type { Upstream } from './farm-notes.ts';

/** Who waits for others starts after them, and only if all that it needs has completed. */
export function checkGraphs(it: Case): void {
  for (const note of it.evidence.notes) {
    if (note.note !== 'ask' || note.after === undefined) continue;
    for (const [i, ups] of note.after.entries()) {
      const final = finalOf(it, note.keys[i] as string);
      if (final !== undefined) dependent(it, final, ups);
    }
  }
  for (const { id, reason } of it.evidence.finals) {
    if (reason === 'dependency' && !waited(it).has(id)) it.wrong(`${id} ended for what it never waited for`);
  }
}

function dependent(it: Case, final: Final, ups: readonly Upstream[]): void {
  const { id, state, reason, result } = final;
  const starts = [...it.starts.values()].filter((start) => start.id === id);
  const befores = ups.map(({ key, optional }) => ({ up: finalOf(it, key), optional }));
  const lacking = befores.find(({ up, optional }) => !optional && up?.state !== 'completed');
  if (lacking === undefined) {
    if (reason === 'dependency') it.wrong(`${id} ended for want of what has completed`);
  } else {
    if (state !== 'cancelled') it.wrong(`${id} is ${state}, though it needed ${lacking.up?.id}`);
    if (starts.length > 0) it.wrong(`${id} was started without ${lacking.up?.id}`);
    if (reason === 'dependency') it.gates.doomed++;
  }
  for (const { up } of befores) {
    if (up === undefined || !endedIt(up)) continue;
    const end = it.ends.get(`${up.id}/${up.attempt}`);
    for (const { at, attempt } of starts) {
      if (end !== undefined && at < end.at) it.wrong(`${id}/${attempt} was started before ${up.id} had ended`);
    }
  }
  if (state !== 'completed') return;
  const told = new Set((JSON.parse(result ?? '{}') as { after?: readonly string[] }).after);
  for (const { up } of befores) {
    if (!told.delete(`${up?.id} ${up?.state}`)) it.wrong(`${id} did not hear how ${up?.id} ended`);
  }
  if (told.size > 0) it.wrong(`${id} heard of ${[...told]}, for which it had not waited`);
}

function finalOf({ finals, idOfKey }: Case, key: string): Final | undefined {
  return finals.get(idOfKey.get(key) ?? '');
}

/** The ids of all that wait for others. */
function waited({ evidence, idOfKey }: Case): ReadonlySet<string | undefined> {
  return new Set(
    evidence.notes.flatMap((note) =>
      note.note === 'ask' && note.after !== undefined
        ? note.keys.filter((_, i) => note.after?.[i]?.length !== 0).map((key) => idOfKey.get(key))
        : [],
    ),
  );
}
