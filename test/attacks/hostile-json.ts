import { HOSTILE } from './strings.ts';

/** Texts that are nearly JSON, or JSON that nobody means well with. Each stands for another way to go wrong. */
export const HOSTILE_JSON: readonly string[] = [
  '',
  ' ',
  'null',
  'true',
  '7',
  '-0',
  '1e309',
  '"text"',
  '[]',
  '[[]]',
  '[null]',
  '[{}]',
  '{',
  '}',
  '[',
  '{"a"',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  "{'a':1}",
  '{"a":NaN}',
  '{"a":Infinity}',
  '{"a":undefined}',
  '{"a":01}',
  '{"a":9007199254740993}',
  '{"a":1e400}',
  '{"a":"\ud800"}',
  '{"a":"\\ud800"}',
  '{"a":"\\x41"}',
  '{"a":"\u0000"}',
  '\ufeff{}',
  '{}{}',
  '{} x',
  '// {}',
  '/* */{}',
  '{"__proto__":{"role":"admin"}}',
  '{"constructor":{"prototype":{"role":"admin"}}}',
  '{"a":1,"a":2}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3}',
  '['.repeat(3000),
  '{"a":'.repeat(800),
  `${'['.repeat(100)}${']'.repeat(100)}`,
  `{"${'k'.repeat(3000)}":1}`,
  `{"type":"${'t'.repeat(3000)}"}`,
  `{"a":"${'\\u0000'.repeat(500)}"}`,
  `[${'0,'.repeat(1500)}0]`,
  `{${Array.from({ length: 300 }, (_, i) => `"k${i}":${i}`).join()}}`,
];

/** One of so many strings that have broken something somewhere, spread over all of them. */
export function hostileTexts(count: number): readonly string[] {
  const step = HOSTILE.length / count;
  return Array.from({ length: count }, (_, i) => HOSTILE[Math.floor(i * step)] as string);
}
