import { fault, isEngineError } from '../../core/errors.ts';
import type { Entry } from '../../core/settings/compare.ts';
import { SETTINGS_KINDS, type SettingsWord } from '../../core/settings/kinds.ts';
import { suggest } from '../../core/suggest.ts';
import { readRegistry } from '../triggers/registry.ts';
import { kindOf } from './all-kinds.ts';

/** What files ask for: of each kind that they name, the things by name. */
export interface Settings {
  readonly kinds: ReadonlyMap<SettingsWord, ReadonlyMap<string, Wanted>>;
}

export interface Wanted {
  readonly entry: Entry;
  /** Only these fields are said; the others stay as they are. */
  readonly only?: readonly string[] | undefined;
  /** Where it stands. */
  readonly file: string;
}

const MOST_PROBLEMS = 50;
const MOST_THINGS = 10_000;
/** The word of another program for a kind. */
const ALIASES: Readonly<Record<string, SettingsWord>> = { concurrency_groups: 'limits', concurrencyGroups: 'limits' };

/** Reads files of settings together. */
export class SettingsReader {
  readonly #kinds = new Map<SettingsWord, Map<string, Wanted>>();
  readonly #problems: string[] = [];
  #things = 0;

  /** A file in our own words. */
  add(file: string, value: unknown): void {
    if (!isMap(value)) return this.#note(file, 'it is a map of kinds: tags, limits, workers and others');
    for (const [key, things] of Object.entries(value)) {
      const word = Object.hasOwn(ALIASES, key) ? ALIASES[key] : SETTINGS_KINDS.find((one) => one === key);
      if (word === undefined) this.#unknown(file, key);
      else this.addKind(file, word, things);
    }
  }

  /** All of one kind in a file: a map by name, or a list of names, or of things with a name. */
  addKind(file: string, word: SettingsWord, things: unknown, only?: readonly string[]): void {
    this.#kind(word);
    if (word === 'triggers' && Array.isArray(things)) return this.#addRegistry(file, things);
    if (things === null || things === undefined) return;
    const named = Array.isArray(things) ? this.#listed(file, word, things) : things;
    if (!isMap(named)) return this.#note(file, `${word}: it is a map by name`);
    for (const [name, value] of Object.entries(named)) this.addThing(file, word, name, value, only);
  }

  addThing(file: string, word: SettingsWord, name: string, value: unknown, only?: readonly string[]): void {
    this.#things += 1;
    if (this.#things > MOST_THINGS) throw fault('TOO_LARGE', { field: file, maxBytes: MOST_THINGS });
    const known = this.#kind(word);
    const before = known.get(name);
    if (before !== undefined) return this.#note(file, `${word}.${name}: ${before.file} has it as well`);
    try {
      known.set(name, { entry: kindOf(word).read(name, value), only, file });
    } catch (error) {
      if (!isEngineError(error)) throw error;
      const { field, problem } = error.details ?? {};
      const place = `${word}.${name}`;
      const own = typeof field === 'string' ? field : place;
      const at = own.startsWith(place) ? own : `${place}: ${own}`;
      this.#note(file, `${at}: ${typeof problem === 'string' ? problem : error.message}`);
    }
  }

  /** Throws `INVALID_INPUT` that says all that is wrong, one a line. */
  read(): Settings {
    const said = this.#problems;
    if (said.length === 0) return { kinds: this.#kinds };
    const problem = said.length === 1 ? (said[0] as string) : `there are ${said.length} problems`;
    throw fault('INVALID_INPUT', { field: 'settings', problem }, said.length === 1 ? {} : { hint: said.join('\n') });
  }

  /** A registry of FlatMachines: what goes by a clock is a schedule. */
  #addRegistry(file: string, things: readonly unknown[]): void {
    const { triggers, schedules, problems } = readRegistry({ triggers: things });
    for (const { place, problem } of problems) this.#note(file, `${place}: ${problem}`);
    for (const { name, ...trigger } of triggers) this.addThing(file, 'triggers', name, trigger);
    for (const { name, ...schedule } of schedules) this.addThing(file, 'schedules', name, schedule);
  }

  #listed(file: string, word: SettingsWord, things: readonly unknown[]): Readonly<Record<string, unknown>> {
    const named: [string, unknown][] = [];
    for (const one of things) {
      const { name, ...rest } = isMap(one) ? one : { name: one };
      if (typeof name !== 'string') this.#note(file, `${word}: each of its list has a name`);
      else if (named.some(([other]) => other === name)) this.#note(file, `${word}.${name}: it comes twice`);
      else named.push([name, rest]);
    }
    return Object.fromEntries(named);
  }

  #kind(word: SettingsWord): Map<string, Wanted> {
    const known = this.#kinds.get(word) ?? new Map<string, Wanted>();
    this.#kinds.set(word, known);
    return known;
  }

  #unknown(file: string, key: string): void {
    const meant = suggest(key, SETTINGS_KINDS);
    const hint = meant === undefined ? `they are ${SETTINGS_KINDS.join(', ')}` : `did you mean ${meant}?`;
    this.#note(file, `there is no kind ${JSON.stringify(key.slice(0, 80))}; ${hint}`);
  }

  #note(file: string, problem: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push(`${file}: ${problem}`);
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
