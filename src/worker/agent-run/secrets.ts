import { Secrets } from '../../flow/agent/secrets.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import type { TurnEntry, TurnThen } from '../../protocol/link.ts';
import type { AttemptSession } from '../runner/runner.ts';
import { alteredTurns } from './altered-turns.ts';

/** The variables that adapters read without being told. */
const USUAL = /_API_KEY$|^UA_(INTERNAL_API|OPS)_TOKEN$/;

/** The values that a call may send: those of variables that settings name, and of the usual ones. */
export function secretsOf(
  settings: ValueMap,
  environment: Readonly<Record<string, string | undefined>>,
  sendable: ReadonlySet<string> | undefined,
): Secrets {
  const names = new Set([...(sendable ?? []), ...namedIn(settings)]);
  for (const name of Object.keys(environment)) if (USUAL.test(name)) names.add(name);
  return new Secrets([...names].map((name) => environment[name]?.trim()));
}

/** `token_env`, `api_key_env`, `pass_env`, also of servers of tools. */
function namedIn(settings: Value): readonly string[] {
  if (isList(settings)) return settings.flatMap(namedIn);
  if (!isMap(settings)) return [];
  return Object.entries(settings).flatMap(([name, value]) => {
    if (!name.endsWith('_env')) return namedIn(value);
    return [value].flat().filter((one) => typeof one === 'string');
  });
}

/** The same session, whose rows have none of these values. What belongs to the turn itself stays as it is. */
export function withoutSecrets(session: AttemptSession, secrets: Secrets): AttemptSession {
  const entry = (one: TurnEntry): TurnEntry => {
    if (one.kind === 'child' || one.kind === 'signal') return one;
    const { value, usage } = one;
    return { ...one, value: secrets.hideIn(value), ...(usage === undefined ? {} : { usage: secrets.hideIn(usage) }) };
  };
  const then = (one: TurnThen): TurnThen => {
    switch (one.go) {
      case 'on':
        return one;
      case 'park':
        return one.form === undefined ? one : { ...one, form: secrets.hideIn(one.form) };
      case 'complete':
        return { ...one, result: secrets.hideIn(one.result) };
      case 'fail':
        return { ...one, error: secrets.hideIn(one.error) };
    }
  };
  return alteredTurns(session, (turn) => ({ ...turn, entries: turn.entries.map(entry), then: then(turn.then) }));
}
