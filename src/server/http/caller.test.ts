import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { isEngineError } from '../../core/errors.ts';
import { actorOf, bearerOf, checked } from './caller.ts';

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(isEngineError(error), String(error));
    return `${error.code} ${error.message}`;
  }
  return assert.fail('it was taken');
}

test('the token of an Authorization header is what follows Bearer, in any case of that word', () => {
  assert.equal(bearerOf('Bearer abc'), 'abc');
  assert.equal(bearerOf('bEARER a~!b'), 'a~!b');
  assert.equal(bearerOf(undefined), undefined);
});

test('a header that holds no token is not the same as none: it is refused', () => {
  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer  x',
    'Bearer a b',
    'Basic YTpi',
    'x',
    'Bearer é',
    `Bearer ${'x'.repeat(513)}`,
  ]) {
    assert.match(
      messageOf(() => bearerOf(header)),
      /^UNAUTHENTICATED/,
      header,
    );
  }
});

const Shape = z.strictObject({ name: z.string(), size: z.number().optional() });

test('what has the form of its shape comes through, and what has not is named by its place', () => {
  assert.deepEqual(checked('body', Shape, { name: 'a' }), { name: 'a' });
  assert.match(
    messageOf(() => checked('body', Shape, {})),
    /body\.name/,
  );
  assert.match(
    messageOf(() => checked('query', Shape, { name: 'a', size: 'b' })),
    /query\.size/,
  );
  assert.match(
    messageOf(() => checked('path', Shape, { name: 'a', colour: 1 })),
    /"colour"/,
  );
  for (const value of [null, 5, 'text', [], [{ name: 'a' }]]) {
    assert.match(
      messageOf(() => checked('body', Shape, value)),
      /INVALID_INPUT.*body/,
      JSON.stringify(value),
    );
  }
});

test('of several forms, what is wrong with the nearest is told', () => {
  const either = z.union([z.strictObject({ all: z.array(Shape).min(1) }), Shape]);
  assert.match(
    messageOf(() => checked('body', either, { all: [{ name: 'a' }, { name: 'a', size: 'b' }] })),
    /body\.all\.1\.size/,
  );
  assert.match(
    messageOf(() => checked('body', either, { name: 'a', size: 'b' })),
    /body\.size/,
  );
  assert.match(
    messageOf(() => checked('body', either, { all: [] })),
    /body\.all/,
  );
  assert.match(
    messageOf(() => checked('body', either, 5)),
    /body/,
  );
});

test('where nothing is asked for, nothing may be given', () => {
  assert.equal(checked('query', undefined, {}), undefined);
  assert.equal(checked('body', undefined, {}), undefined);
  assert.match(
    messageOf(() => checked('query', undefined, { x: '1' })),
    /query\.x/,
  );
  assert.match(
    messageOf(() => checked('body', undefined, { x: '1' })),
    /body\.x/,
  );
  for (const body of [[], [1], 'text', 5]) {
    assert.match(
      messageOf(() => checked('body', undefined, body)),
      /body/,
      JSON.stringify(body),
    );
  }
});

test('a name that is long or full of control characters is told in one bounded line', () => {
  const message = messageOf(() => checked('body', Shape, { name: 'a', [`\n${'x'.repeat(5000)}`]: 1 }));
  assert.ok(message.length < 600, String(message.length));
  assert.doesNotMatch(message, /\n/);
});

test('who acts is what the caller says under the token of the node, and goes with the name of any other token', () => {
  const node = { role: 'admin', name: 'admin', token: undefined } as const;
  const made = { role: 'operator', name: 'ci', token: 7 } as const;
  assert.equal(actorOf(node, undefined), 'admin');
  assert.equal(actorOf(node, 'J%C3%BCrgen%20B'), 'Jürgen B');
  assert.equal(actorOf(made, undefined), 'ci');
  assert.equal(actorOf(made, 'ada'), 'ada (ci)');
  assert.equal(actorOf(undefined, 'ada'), '', 'nobody was let in');
  assert.match(
    messageOf(() => actorOf(made, '%')),
    /^INVALID_INPUT .*percent-encoded/,
  );
  assert.match(
    messageOf(() => actorOf(made, '%00')),
    /^INVALID_INPUT/,
  );
  assert.match(
    messageOf(() => actorOf(made, 'x'.repeat(2000))),
    /^INVALID_INPUT/,
  );
});
