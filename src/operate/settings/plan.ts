import { isEngineError } from '../../core/errors.ts';
import { compareThings, type Entry, type ThingChange } from '../../core/settings/compare.ts';
import type { SettingsWord } from '../../core/settings/kinds.ts';
import type { Caller } from '../operator.ts';
import { ALL_KINDS, kindOf } from './all-kinds.ts';
import type { Settings } from './settings-file.ts';
import type { Told } from './settings-kind.ts';

export type { FieldChange } from '../../core/settings/compare.ts';
export type { SettingsWord } from '../../core/settings/kinds.ts';

/** One change that a plan makes. */
export interface Step extends ThingChange {
  readonly kind: SettingsWord;
  /** As it is to be; of one that is removed as it was. */
  readonly wanted: Entry;
  readonly is: Entry | undefined;
}

export interface Plan {
  /** In the order in which they are made. */
  readonly steps: readonly Step[];
  /** How many things are as the files say already. */
  readonly same: number;
}

/** What it takes to make everything as the files say. Changes nothing. */
export async function planSettings(
  caller: Caller,
  settings: Settings,
  { prune }: { readonly prune: boolean },
): Promise<Plan> {
  const made: Step[] = [];
  const removed: Step[] = [];
  let same = 0;
  for (const kind of ALL_KINDS) {
    const named = settings.kinds.get(kind.word);
    if (named === undefined) continue;
    const is = await kind.list(caller, new Set(named.keys()));
    const wanted = new Map(
      [...named].map(([name, { entry, only }]) => [name, within(is.get(name), entry, only, kind.keeps)]),
    );
    const changes = compareThings(wanted, is, { prune });
    same += [...wanted.keys()].filter((name) => !changes.some((change) => change.name === name)).length;
    for (const change of changes) {
      const before = is.get(change.name);
      const step = { ...change, kind: kind.word, wanted: wanted.get(change.name) ?? before ?? {}, is: before };
      (change.does === 'remove' ? removed : made).push(step);
    }
  }
  // What names others goes before them.
  return { steps: [...made, ...removed.toReversed()], same };
}

export interface Outcome {
  readonly step: Step;
  readonly told?: Told | undefined;
  /** Why it was not made. */
  readonly error?: Error | undefined;
}

/** Makes the changes of a plan, one after the other. One that fails keeps none of the others from being made. */
export async function* carryOut(caller: Caller, { steps }: Plan, by: string): AsyncGenerator<Outcome> {
  for (const step of steps) {
    const { kind, name, wanted, is, does } = step;
    try {
      if (does === 'remove') await kindOf(kind).remove(caller, name, by);
      const told = does === 'remove' ? undefined : await kindOf(kind).put(caller, { name, wanted, is, by });
      yield { step, told };
    } catch (error) {
      if (!isEngineError(error) || error.code === 'UNAUTHENTICATED' || error.code === 'FORBIDDEN') throw error;
      yield { step, error };
    }
  }
}

/** All that is there, of these kinds: what a file would say of it. */
export async function settingsOfAll(
  caller: Caller,
  words: readonly SettingsWord[],
): Promise<ReadonlyMap<SettingsWord, ReadonlyMap<string, Entry>>> {
  const found = new Map<SettingsWord, ReadonlyMap<string, Entry>>();
  for (const { word, list } of ALL_KINDS) {
    if (words.length > 0 && !words.includes(word)) continue;
    const things = await list(caller, new Set());
    found.set(word, new Map([...things].toSorted(([a], [b]) => (a < b ? -1 : 1))));
  }
  return found;
}

/** What is wanted, with what is where the file does not say it. `only`: all that the file speaks of. */
function within(is: Entry = {}, entry: Entry, only?: readonly string[], keeps: readonly string[] = []): Entry {
  const stays = (field: string): boolean => (only === undefined ? keeps.includes(field) : !only.includes(field));
  return { ...Object.fromEntries(Object.entries(is).filter(([field]) => stays(field))), ...entry };
}
