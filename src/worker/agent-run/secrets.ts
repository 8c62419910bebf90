import { Secrets } from '../../flow/agent/secrets.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';
import { hiddenTurn } from '../redaction/hidden-turn.ts';
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
  return alteredTurns(session, (turn) => hiddenTurn(turn, (value) => secrets.hideIn(value as Value)));
}
