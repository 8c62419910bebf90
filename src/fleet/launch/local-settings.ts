import { fault } from '../../core/errors.ts';
import { suggest } from '../../core/suggest.ts';

/** Refuses settings of a launcher that its kind does not know. */
export function onlySettings(
  kind: string,
  settings: Readonly<Record<string, unknown>>,
  known: readonly string[],
): void {
  const odd = Object.keys(settings).find((name) => !known.includes(name));
  if (odd === undefined) return;
  const near = suggest(odd, known);
  const list = known.length === 0 ? 'It has none.' : `Its settings are ${known.join(', ')}.`;
  const hint = near === undefined ? list : `Did you mean ${near}?`;
  throw fault(
    'INVALID_INPUT',
    { field: `launcher.${odd}`, problem: `the launcher ${kind} has no such setting` },
    { hint },
  );
}

/** A list of texts, such as paths or further arguments. */
export function textsOf(field: string, value: unknown, most = 100): readonly string[] {
  if (value === undefined) return [];
  const fits =
    Array.isArray(value) &&
    value.length <= most &&
    value.every((one) => typeof one === 'string' && one !== '' && one.length <= 4096 && !one.includes('\u0000'));
  if (fits) return value as readonly string[];
  throw fault('INVALID_INPUT', { field: `launcher.${field}`, problem: `it is a list of up to ${most} texts` });
}
