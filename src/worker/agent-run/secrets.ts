import { isMap, type ValueMap } from '../../flow/expression/values.ts';
import type { AttemptSession } from '../runner/runner.ts';
import { alteredTurns } from './altered-turns.ts';

/** A shorter one would be found in words that are none. */
const SHORTEST = 8;
const HIDDEN = '[secret]';
/** The variables that adapters read without being told. */
const USUAL = /_API_KEY$|^UA_(INTERNAL_API|OPS)_TOKEN$/;

/** The values that a call may send: those of variables that settings name, and of the usual ones. */
export function secretsOf(
  settings: ValueMap,
  environment: Readonly<Record<string, string | undefined>>,
  sendable: ReadonlySet<string> | undefined,
): readonly string[] {
  const names = new Set([...(sendable ?? []), ...namedIn(settings)]);
  for (const name of Object.keys(environment)) if (USUAL.test(name)) names.add(name);
  const values = [...names].flatMap((name) => environment[name]?.trim() ?? []);
  return [...new Set(values)].filter((value) => value.length >= SHORTEST).sort((a, b) => b.length - a.length);
}

/** `token_env`, `api_key_env`, `pass_env`, also of servers of tools. */
function namedIn(settings: ValueMap): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (isMap(value)) return namedIn(value);
    if (!name.endsWith('_env')) return [];
    return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
  });
}

export function hiding(secrets: readonly string[]): (text: string) => string {
  return (text) => secrets.reduce((told, secret) => told.replaceAll(secret, HIDDEN), text);
}

/** The same session, whose rows have none of these values: tools and agents may say back what they were sent. */
export function withoutSecrets(session: AttemptSession, secrets: readonly string[]): AttemptSession {
  if (secrets.length === 0) return session;
  const hide = hiding(secrets.map((secret) => JSON.stringify(secret).slice(1, -1)));
  return alteredTurns(session, (turn) => JSON.parse(hide(JSON.stringify(turn))) as typeof turn);
}
