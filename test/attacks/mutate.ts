import type { Rng } from '../sim/rng.ts';
import { HOSTILE } from './strings.ts';

/** Nearly what it was: bytes are lost, doubled, turned around and put in, or a piece of something hostile is. */
export function mutate(rng: Rng, text: string): string {
  let units = text;
  for (let n = rng.int(1, 4); n > 0; n--) {
    const at = rng.int(0, units.length);
    const to = Math.min(units.length, at + rng.int(0, 6));
    const change = rng.int(0, 7);
    if (change === 0) units = units.slice(0, at) + units.slice(to);
    else if (change === 1) units = units.slice(0, to) + units.slice(at);
    else if (change === 2) units = units.slice(0, at) + String.fromCharCode(rng.int(0, 255)) + units.slice(at + 1);
    else if (change === 3) units = units.slice(0, at) + String.fromCharCode(rng.int(0, 0xffff)) + units.slice(at);
    else if (change === 4) units = units.slice(0, at) + rng.pick(HOSTILE).slice(0, 200) + units.slice(to);
    else if (change === 5) units = units.slice(0, at) + rng.pick(SPECIAL) + units.slice(to);
    else if (change === 6) units = units.slice(0, at);
    else units = units.slice(0, at) + units.slice(at, to).repeat(rng.int(2, 40)) + units.slice(to);
  }
  return units.slice(0, 20_000);
}

const SPECIAL = [
  '0',
  '-0',
  '1',
  '-1',
  '1e309',
  '9007199254740993',
  '2147483648',
  '4294967296',
  '0.1',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '{"__proto__":1}',
  '[[[[[[[[',
  ',',
  ':',
  '"',
  '\\',
  '\u0000',
  '\ud800',
  '\u202e',
  'é',
  '%',
  '%00',
  '.',
  '..',
  '/',
  ' ',
  '\r\n',
];

/** Any value, with names that mean something here and there. */
export function value(rng: Rng, names: readonly string[], depth = 4): unknown {
  switch (depth === 0 ? rng.int(0, 4) : rng.int(0, 6)) {
    case 0:
      return rng.pick([null, true, false, 0, -1, 1, 1.5, 2 ** 31, -(2 ** 31), 1e21, 5000]);
    case 1:
      return rng.pick(HOSTILE);
    case 2:
      return rng.pick(['q', 'echo', '5m', '1h', 'gpu', 'gpu=nvidia', 'box', 'approve', 'read', 'ready', '1', '']);
    case 3:
      return rng.int(-10, 100_000);
    case 4:
      return mutate(
        rng,
        rng.pick(['5m30s', 'memory_gb>=16', 'task_0198c2d4-7a10-7000-8000-000000000000', '>=1.4 <2', 'a/b:c']),
      );
    case 5:
      return Array.from({ length: rng.int(0, 4) }, () => value(rng, names, depth - 1));
    default:
      return object(rng, names, depth - 1);
  }
}

export function object(rng: Rng, names: readonly string[], depth = 3): Record<string, unknown> {
  const entries = Array.from({ length: rng.int(0, 6) }, () => {
    const name = rng.chance(0.9) ? rng.pick(names) : rng.pick(HOSTILE);
    return [name, value(rng, names, depth)] as const;
  });
  return Object.fromEntries(entries);
}
