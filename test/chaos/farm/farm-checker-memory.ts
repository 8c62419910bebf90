import type { Case } from './farm-evidence.ts';
import type { Kept, Stepped } from './farm-notes.ts';

const placeOf = ({ id, place }: Kept | Stepped): string => `${id} ${place}`;

/**
 * What was once remembered is what every later attempt is given, and its code does not run again. (An attempt that has lost
 * its lease may still run code, but it can remember nothing.)
 */
export function checkMemory(it: Case): void {
  const notes = it.evidence.notes;
  const ran = Map.groupBy(
    notes.filter((note) => note.note === 'step'),
    placeOf,
  );
  const kept = Map.groupBy(
    notes.filter((note) => note.note === 'kept'),
    placeOf,
  );
  for (const [place, times] of kept) {
    const first = times.reduce((a, b) => (b.attempt < a.attempt ? b : a));
    for (const { attempt, value } of times) {
      if (JSON.stringify(value) !== JSON.stringify(first.value)) {
        it.wrong(`${place} was ${JSON.stringify(first.value)}, and ${JSON.stringify(value)} in attempt ${attempt}`);
      }
      if (attempt !== first.attempt) it.gates.stepsRecalled++;
    }
    for (const { attempt } of ran.get(place) ?? []) {
      if (attempt > first.attempt) it.wrong(`${place} was remembered, and ran again in attempt ${attempt}`);
    }
  }
  for (const [place, times] of ran) {
    if (new Set(times.map(({ attempt }) => attempt)).size < times.length) it.wrong(`${place} ran twice in one attempt`);
    if (times.length === 1) continue;
    it.gates.stepsRepeated++;
    if (times[0]?.policy === 'exact') it.wrong(`${place} ran ${times.length} times, and may run once`);
  }
  families(it);
  for (const { id, attempts } of it.evidence.finals) {
    const parked = attempts.findIndex(({ outcome }) => outcome === 'parked');
    const reaped = attempts.findLastIndex(({ outcome }) => outcome === 'expired');
    if (parked >= 0 && reaped > parked) it.gates.wokenReaped++;
    if (parked >= 0 && !notes.some((note) => note.note === 'waits' && note.id === id)) {
      it.wrong(`${id} was parked, and had not asked to wait`);
    }
  }
}

/** Children come home once each, and are waited for. */
function families(it: Case): void {
  for (const note of it.evidence.notes) {
    if (note.note === 'kept' && note.place === 'home') home(it, note);
    if (note.note !== 'spawns') continue;
    const final = it.finals.get(note.id);
    if (final?.state !== 'completed') continue;
    const result = JSON.parse(final.result ?? '{}') as { home?: readonly string[] };
    const due = note.keys.map((key) => `completed ${key}`);
    if (result.home?.join() !== due.join()) it.wrong(`${note.id} waited for ${due}, and came home with ${result.home}`);
  }
}

function home(it: Case, { id, attempt, value, at }: Kept): void {
  for (const child of value as readonly string[]) {
    const final = it.finals.get(it.idOfKey.get(child.split(' ')[1] as string) ?? '');
    const end = it.ends.get(`${final?.id}/${final?.attempt}`);
    if (final?.state !== 'completed') it.wrong(`${id}/${attempt} was told ${child}, which is ${final?.state}`);
    if (end === undefined || end.at > at) it.wrong(`${id}/${attempt} did not wait for ${child}`);
  }
}
