/** Settings of a loop: as text with `KEY=VALUE` in each line, or as a map. */
import { suggest } from '../../core/suggest.ts';
import { isList, isMap, type Value, type ValueMap } from '../expression/values.ts';
import { CONFIG_KEYS, type LoopConfig, WITHOUT_EFFECT } from './config-keys.ts';
import { WORKTRUNK } from './git-keys.ts';
import { Wrong } from './setting.ts';

export interface ReadConfig {
  readonly config: LoopConfig;
  /** All that is wrong. A loop with one does not start. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const MOST_TEXT = 64 * 1024;
const KEYS = Object.keys(CONFIG_KEYS);

/** `before`: settings of the input itself, which go before those of the config. */
export function readConfig(given: Value, before: ValueMap = {}): ReadConfig {
  const problems: string[] = [];
  const warnings: string[] = [];
  const found: Record<string, unknown> = {};
  for (const [key, said] of [...entriesOf(given, problems), ...Object.entries(before)]) {
    if (WORKTRUNK.has(key)) problems.push(`${key}: worktrees are made by git here, and worktrunk is not used`);
    else if (WITHOUT_EFFECT.has(key)) warnings.push(`"${key}" has no effect here`);
    else if (!Object.hasOwn(CONFIG_KEYS, key)) warnings.push(unknown(key));
    else {
      const list = isList(said) ? said.map(String) : undefined;
      const value = CONFIG_KEYS[key as keyof LoopConfig].read(list === undefined ? textOf(said) : list.join(' '), list);
      if (value instanceof Wrong) problems.push(`${key}: ${value.problem}`);
      else found[key] = value;
    }
  }
  const fallbacks = Object.fromEntries(
    Object.entries(CONFIG_KEYS).flatMap(([key, { fallback }]) => (fallback === undefined ? [] : [[key, fallback]])),
  );
  return { config: { ...fallbacks, ...found } as unknown as LoopConfig, problems, warnings };
}

function unknown(key: string): string {
  const near = suggest(key, KEYS);
  return `there is no setting ${JSON.stringify(key.slice(0, 60))}${near === undefined ? '' : `; did you mean "${near}"?`}`;
}

function entriesOf(given: Value, problems: string[]): readonly (readonly [string, Value])[] {
  if (given === undefined || given === null) return [];
  if (typeof given === 'string') return linesOf(given, problems);
  if (isMap(given)) return Object.entries(given);
  problems.push('config: a text with KEY=VALUE in each line is expected, or a map');
  return [];
}

const textOf = (value: Value): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function linesOf(text: string, problems: string[]): readonly (readonly [string, string])[] {
  if (text.length > MOST_TEXT) {
    problems.push(`config: it has more than ${MOST_TEXT} characters`);
    return [];
  }
  return text.split(/\r?\n/).flatMap((line, i) => {
    const bare = line.trim();
    if (bare === '' || bare.startsWith('#')) return [];
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(bare) ?? [];
    if (key.trim() !== '') return [[key.trim(), unquoted(value.trim())] as const];
    problems.push(`config, line ${i + 1}: KEY=VALUE is expected`);
    return [];
  });
}

function unquoted(text: string): string {
  const quote = text[0];
  const isQuoted = text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1) : text;
}
