/** The reference page says what there is, and what it shows is so. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { rpcScene } from '../../../test/support/rpc-scene.ts';
import { MAX_BATCH, RPC_ERRORS } from '../../protocol/rpc/envelope.ts';
import { METHODS } from '../../protocol/rpc/methods.ts';
import { DEFAULT_ALLOWANCE } from './budget.ts';
import { MAX_ANSWER } from './view.ts';

const PAGE = readFileSync(new URL('../../../docs/reference/json-rpc.md', import.meta.url), 'utf8');

test('the reference page says what a caller may ask for', () => {
  const { burst, perSecond } = DEFAULT_ALLOWANCE;
  assert.ok(PAGE.includes(`${perSecond} calls and tasks a second, ${burst} at once`));
  assert.ok(
    PAGE.includes(`arrays of up to ${MAX_BATCH} calls`) && PAGE.includes(`at most ${MAX_ANSWER / 2 ** 20} MiB`),
  );
});

test('the reference page lists exactly the methods and the errors that there are', () => {
  const methods = [...PAGE.matchAll(/^\| `([\w.]+)` \| (\w+) \| (.+) \|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    methods,
    Object.entries(METHODS).map(([name, { access, does }]) => [name, access, does]),
  );
  const errors = [...PAGE.matchAll(/^\| (-\d+) \| ([^|]+) \| .+ \|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    errors,
    Object.values(RPC_ERRORS).map(({ code, message }) => [String(code), message]),
  );
});

interface Example {
  readonly method: string;
  readonly params: string;
  readonly result?: string;
  readonly code?: number;
}

function examples(): readonly Example[] {
  const blocks = [...PAGE.matchAll(/^```\n(→[^]*?)\n```$/gm)].map(([, text = '']) => text);
  return blocks.flatMap((block) =>
    block.split(/^(?=→)/m).map((text) => {
      const [, method = '', params = '', kind, rest = ''] = /^→ (\S+) ([^]*?)\n([←✗]) ([^]*)$/.exec(text) ?? [];
      return kind === '✗' ? { method, params, code: Number(rest) } : { method, params, result: rest };
    }),
  );
}

/** All that is expected is there; lists have the same length. */
function has(seen: unknown, expected: unknown, place: string): void {
  if (typeof expected !== 'object' || expected === null) return assert.deepEqual(seen, expected, place);
  if (Array.isArray(expected)) assert.equal((seen as readonly unknown[] | undefined)?.length, expected.length, place);
  for (const [key, value] of Object.entries(expected)) {
    has((seen as Readonly<Record<string, unknown>> | undefined)?.[key], value, `${place}.${key}`);
  }
}

test('every method has an example, and each of them comes out as the page says', async (t) => {
  const it = await rpcScene(t);
  const seen = new Set<string>();
  const words = new Map<string, string>();
  const told = (text: string): unknown =>
    JSON.parse(text.replace(/"(LEASE|KEY)"/g, (_, word: string) => JSON.stringify(words.get(word))));
  for (const { method, params, result, code } of examples()) {
    seen.add(method);
    const answer = await it.ask(method, told(params));
    if (code !== undefined) assert.equal(answer.error?.code, code, `${method} ${params}`);
    else {
      assert.equal(answer.error, undefined, `${method}: ${JSON.stringify(answer.error)}`);
      if (answer.result.lease_token !== undefined) words.set('LEASE', answer.result.lease_token);
      if (answer.result.idempotency_key !== undefined) words.set('KEY', answer.result.idempotency_key);
      has(answer.result, told(result ?? ''), method);
    }
  }
  assert.deepEqual(
    Object.keys(METHODS).filter((name) => !seen.has(name)),
    [],
  );
});
